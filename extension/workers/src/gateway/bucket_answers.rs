//! What is answered about buckets that nothing has written.

use wire::{Answer, Failure};

/// The answer about a bucket whose executor has ended.
pub(super) fn died() -> Vec<u8> {
    let error = "the process that wrote the bucket has ended";
    let failure = Failure { code: "57P01".into(), error: error.into(), is_final: false, is_harm: true };
    Answer::Failed(failure).write()
}

/// The answer about a bucket that is too large for the exchange: without some of its lines it may not be.
pub(super) fn too_large() -> Vec<u8> {
    let error = "the bucket is larger than howdah.request_memory";
    let failure = Failure { code: "54000".into(), error: error.into(), is_final: true, is_harm: true };
    Answer::Failed(failure).write()
}
