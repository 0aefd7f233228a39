//! Tables in shared memory.

mod places;
mod ports;
