//! The time after which a job asks to be run again, as the detail of the error by which it does.

/// The detail of an error that asks for another attempt in so many microseconds.
pub fn retry_detail(microseconds: i64) -> String {
    format!("{microseconds} microseconds from now")
}

/// The microseconds of such a detail; none of any other.
pub fn retry_after(detail: &str) -> Option<i64> {
    detail.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for microseconds in [0, 1, 90_000_000, i64::MAX, -1] {
            assert_eq!(retry_after(&retry_detail(microseconds)), Some(microseconds));
        }
        // A function may raise the error by itself.
        for other in ["", " ", "soon", "1.5 microseconds", "99999999999999999999 microseconds"] {
            assert_eq!(retry_after(other), None, "{other}");
        }
    }
}
