//! The libraries that PostgreSQL has loaded into this process.

use pgrx::pg_sys;

/// The files, each ended by a NUL.
pub(crate) fn files() -> Vec<u8> {
    // SAFETY: as many bytes as PostgreSQL says that it needs.
    unsafe {
        let mut bytes = vec![0; size()];
        pg_sys::SerializeLibraryState(bytes.len(), bytes.as_mut_ptr().cast());
        bytes
    }
}

/// Bytes of [`files`].
pub(crate) fn size() -> usize {
    // SAFETY: adds up the lengths of names, in a list of this process's own.
    unsafe { pg_sys::EstimateLibraryStateSpace() }
}

/// The names of [`files`].
pub(crate) fn names(files: &[u8]) -> impl Iterator<Item = &[u8]> {
    files.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

/// Whether a file is this library of PostgreSQL's.
pub(crate) fn is(file: &[u8], name: &[u8]) -> bool {
    base(file) == name
}

/// Whether all are ours or what PostgreSQL brings, in C: these raise an error where there is no memory, or end the process in order.
/// One in C++ or Rust may end it by SIGABRT. Safe inside a signal: a library is put into the list when it is whole.
pub(crate) fn are_all_postgres() -> bool {
    const MOST: usize = 16 << 10;
    let mut bytes = [0u8; MOST];
    let size = size();
    if size > MOST {
        return false;
    }
    // SAFETY: there is room for so many bytes.
    unsafe { pg_sys::SerializeLibraryState(size, bytes.as_mut_ptr().cast()) };
    names(&bytes[..size]).all(|file| {
        let name = base(file);
        OF_POSTGRES.contains(&name) || name.windows(5).any(|part| part == b"_and_")
    })
}

/// The name of a file without its folder and its ending.
fn base(file: &[u8]) -> &[u8] {
    let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or(file);
    name.strip_suffix(b".so").unwrap_or(name)
}

/// What PostgreSQL brings, up to version 18, besides conversions of encodings (`utf8_and_big5`) and other languages than its own.
const OF_POSTGRES: &[&[u8]] = &[
    b"_int",
    b"amcheck",
    b"auto_explain",
    b"autoinc",
    b"bloom",
    b"btree_gin",
    b"btree_gist",
    b"citext",
    b"cube",
    b"dblink",
    b"dict_int",
    b"dict_snowball",
    b"dict_xsyn",
    b"earthdistance",
    b"file_fdw",
    b"fuzzystrmatch",
    b"howdah",
    b"hstore",
    b"insert_username",
    b"isn",
    b"llvmjit",
    b"lo",
    b"ltree",
    b"moddatetime",
    b"pageinspect",
    b"passwordcheck",
    b"pg_buffercache",
    b"pg_freespacemap",
    b"pg_overexplain",
    b"pg_prewarm",
    b"pg_stat_statements",
    b"pg_trgm",
    b"pg_visibility",
    b"pg_walinspect",
    b"pgcrypto",
    b"pgrowlocks",
    b"pgstattuple",
    b"pgxml",
    b"plpgsql",
    b"postgres_fdw",
    b"refint",
    b"seg",
    b"sslinfo",
    b"tablefunc",
    b"tcn",
    b"tsm_system_rows",
    b"tsm_system_time",
    b"unaccent",
    b"uuid-ossp",
];
