//! How a platform listens that stands behind something else.

/// How a platform listens that something stands in front of, which has the port for HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    /// Its port, on 127.0.0.1 alone.
    pub(crate) port: u16,
    /// Where SQL may listen. The platform starts with nowhere: what an earlier start has listened on may be what is in front now.
    pub(crate) addresses: String,
}
