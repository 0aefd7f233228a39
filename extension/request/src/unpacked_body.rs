//! Bodies that are packed: unpacked for a route that takes such, once the guards of its path have let the request pass.

use std::cell::OnceCell;

use message::Request;
use packing::Unread;
use pg::out_of_memory::may_fail;
use problem::{CODINGS, Problem};
use shared::settings;

/// Where a request is put once its body is unpacked.
#[derive(Default)]
pub(crate) struct UnpackedRequest {
    message: OnceCell<Vec<u8>>,
}

impl UnpackedRequest {
    /// The request, if it is here.
    pub(crate) fn get(&self) -> Option<Request<'_>> {
        // SAFETY: `RequestBuilder` has written it, of parts of a request that was read.
        self.message.get().map(|message| unsafe { Request::parse_again(message) })
    }

    /// Puts a request here with its body unpacked, unless it is here.
    pub(crate) fn unpack(&self, request: &Request<'_>) -> Result<(), Problem> {
        if self.message.get().is_none() {
            let bound = settings::MAX_INFLATED_BODY.get() as usize;
            if let Some(message) = packing::unpacked(request, bound, reserve).map_err(problem)? {
                self.message.get_or_init(|| message);
            }
        }
        Ok(())
    }
}

fn reserve(bytes: &mut Vec<u8>, more: usize) -> bool {
    may_fail(|| bytes.try_reserve(more)).is_ok()
}

fn problem(unread: Unread) -> Problem {
    match unread {
        Unread::Unknown(names) => Problem {
            unpacks: true,
            ..Problem::new(
                415,
                format!("the body's Content-Encoding {names} is not known: send it by one of {CODINGS}"),
            )
        },
        Unread::Invalid(coding, why) => {
            Problem::new(400, format!("the body is no valid {}: {why}", coding.name()))
        }
        Unread::NoMemory => Problem::new(503, "there is no memory for the body, which is compressed"),
        Unread::TooLong(bound) => Problem::new(
            413,
            format!("the body has more than {bound} bytes once it is unpacked (howdah.max_inflated_body)"),
        ),
    }
}
