//! The id of a job: its position in its queue, and the queue's number.

/// Bits of a queue's number. Of the others a queue that takes 100,000 jobs each second has enough for eleven years.
const QUEUE: u32 = 18;

/// Queues whose jobs can have ids.
pub(crate) const QUEUES: u32 = 1 << QUEUE;

/// The id of the job at a position of a queue.
pub(crate) fn of(queue: u32, position: u64) -> i64 {
    ((position << QUEUE) | u64::from(queue)) as i64
}

/// The number of the queue, and the position in it.
pub(crate) fn parts(id: i64) -> (u32, u64) {
    let id = id as u64;
    ((id & u64::from(QUEUES - 1)) as u32, id >> QUEUE)
}
