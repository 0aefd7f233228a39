//! Has the linker send every copy of an error through `pg/entry/copied_error.rs`, those of pgrx too.

fn main() {
    for function in ["CopyErrorData", "FreeErrorData"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--wrap={function}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
