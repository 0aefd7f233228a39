//! Hand-off of requests between processes through fixed shared memory.
