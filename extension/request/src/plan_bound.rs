//! Which plans go when they are too many: beyond `howdah.max_plans` those that were used least lately. They are made again when somebody asks. So
//! whoever has thousands of routes has no process that keeps the plans of all.

use pgrx::pg_sys;
use shared::settings;

use super::endpoint::{Endpoint, Plans};
use super::function::Function;
use super::plan_memory::{take_new, total};

impl Endpoint {
    /// Notes that its plans were used, and what memory they take if some were made.
    ///
    /// # Safety
    /// On the main thread.
    pub(crate) unsafe fn note_use(&self) {
        self.memory.touch();
        if take_new() {
            // SAFETY: by contract.
            self.memory.measure(unsafe { bytes_of(&self.plans) });
        }
    }
}

/// Has plans go that were used least lately, where there are too many.
///
/// # Safety
/// On the main thread, while none of them is open.
pub(crate) unsafe fn bound(endpoints: &mut [Endpoint]) {
    let most = settings::MAX_PLANS.get() as usize;
    if total() <= most {
        return;
    }
    let used = |(place, endpoint): (usize, &Endpoint)| Some((endpoint.memory.last_use()?, place));
    let mut places: Vec<_> = endpoints.iter().enumerate().filter_map(used).collect();
    places.sort_unstable();
    // The one that was used last is what somebody works with.
    places.pop();
    for (_, place) in places {
        // Room for some more, so that not each new plan looks through all.
        if total() <= most - most / 8 {
            break;
        }
        endpoints[place].forget_plans();
    }
}

unsafe fn bytes_of(plans: &Plans) -> usize {
    let Plans::Made { function, plans, .. } = plans else { return 0 };
    let contexts = plans.iter().flat_map(|plan| {
        // SAFETY: saved plans; the generic one is there once it has been made.
        unsafe {
            let generic = (*plan.source).gplan;
            let generic = (!generic.is_null()).then(|| (*generic).context);
            [Some((*plan.source).context), generic]
        }
    });
    let contexts = contexts.flatten().chain(function.as_ref().map(Function::memory));
    // SAFETY: contexts that live.
    contexts.map(|context| unsafe { pg_sys::MemoryContextMemAllocated(context, true) }).sum()
}
