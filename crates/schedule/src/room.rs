//! How many jobs of a kind may run at the same time, so that other kinds find an executor.

/// How many of a kind may run that says `at_once`, or else has a share, in percent, of the executors that `others` leave of so many.
///
/// Whatever it says, it leaves one of several executors to kinds of which none runs.
pub fn allowed(at_once: Option<u32>, share: u32, others: u32, executors: u32) -> u32 {
    let wanted = at_once.unwrap_or_else(|| (executors.saturating_sub(others) * share).div_ceil(100));
    wanted.min(executors.saturating_sub(1).saturating_sub(others)).max(1)
}

/// Whether one of several executors is kept from a kind for other owners: it is the last, its own owner has a job that runs, and others have kinds.
pub fn is_kept_for_others(running: u32, executors: u32, of_owner: u32, others_have_kinds: bool) -> bool {
    others_have_kinds && of_owner > 0 && executors > 1 && running + 1 >= executors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What runs once kinds have begun as many as they may, in turns, with so many executors; and whether one more kind finds an executor.
    fn runs(kinds: &[Option<u32>], executors: u32) -> (Vec<u32>, bool) {
        let mut running = vec![0; kinds.len()];
        loop {
            let before = running.clone();
            for (place, at_once) in kinds.iter().enumerate() {
                let total: u32 = running.iter().sum();
                let others = total - running[place];
                if total < executors && running[place] < allowed(*at_once, 50, others, executors) {
                    running[place] += 1;
                }
            }
            if running == before {
                let total: u32 = running.iter().sum();
                return (running, total < executors);
            }
        }
    }

    #[test]
    fn a_kind_that_says_how_many_has_as_many_but_the_last_executor() {
        assert_eq!(runs(&[Some(2)], 8), (vec![2], true));
        assert_eq!(runs(&[Some(7)], 8), (vec![7], true));
        assert_eq!(runs(&[Some(8)], 8), (vec![7], true));
        assert_eq!(runs(&[Some(100)], 8), (vec![7], true));
        assert_eq!(runs(&[Some(5)], 1), (vec![1], false));
    }

    #[test]
    fn several_that_want_all_leave_one_to_another() {
        let (running, is_left) = runs(&[Some(8), Some(8)], 8);
        assert_eq!((running.iter().sum::<u32>(), is_left), (7, true));
        let (_, is_left) = runs(&[Some(8), None, None], 8);
        assert!(is_left);
    }

    #[test]
    fn the_last_is_kept_for_owners_of_whom_none_runs() {
        assert!(is_kept_for_others(7, 8, 7, true));
        assert!(is_kept_for_others(7, 8, 1, true));
        assert!(!is_kept_for_others(7, 8, 0, true));
        assert!(!is_kept_for_others(6, 8, 6, true));
        assert!(!is_kept_for_others(7, 8, 7, false));
        assert!(!is_kept_for_others(0, 1, 0, true));
        assert!(!is_kept_for_others(1, 1, 1, true));
    }

    #[test]
    fn one_without_a_limit_has_its_share() {
        assert_eq!(runs(&[None], 8), (vec![4], true));
        assert_eq!(allowed(None, 50, 4, 8), 2);
        assert_eq!(allowed(None, 50, 7, 8), 1);
        assert_eq!(allowed(None, 100, 0, 8), 7);
    }
}
