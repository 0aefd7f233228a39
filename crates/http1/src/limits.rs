//! How large the parts of a request may be.

/// Limits of one request. What exceeds them is refused before memory is taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, its last empty line included, and of the trailers of a chunked body. Beyond: 431.
    pub max_head: usize,
    /// Bytes of the request target. Beyond: 414.
    pub max_uri: usize,
    /// Number of headers. Beyond: 431.
    pub max_headers: usize,
    /// Bytes of a body, without its transfer coding. Beyond: 413.
    pub max_body: usize,
}

impl Default for Limits {
    /// 16 KiB of head, 8 KiB of target, 100 headers, 8 MiB of body.
    fn default() -> Self {
        Self { max_head: 16 << 10, max_uri: 8 << 10, max_headers: 100, max_body: 8 << 20 }
    }
}
