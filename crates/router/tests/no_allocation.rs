//! Lookups of plain paths take no memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use router::{Match, Router};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn eight_parameters_need_no_allocation() {
    let mut router = Router::new();
    router.insert("GET", "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}", 1).unwrap();
    router.insert("GET", "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{*h}", 2).unwrap();
    let before = ALLOCATIONS.with(Cell::get);
    let found = router.lookup("GET", "/1/2/3/4/5/6/7/8");
    let bytes = match &found {
        Ok(Match::Found(found)) => found.params.iter().map(|(_, value)| value.len()).sum(),
        _ => 0,
    };
    let after = ALLOCATIONS.with(Cell::get);
    assert_eq!(bytes, 8);
    assert_eq!(after - before, 0);
}
