//! An answer that is kept as a whole: who gets it shares its body, which nobody copies. Beside the plain one there are those by a coding, as clients ask for
//! them.

use std::cell::Cell;
use std::time::Instant;

use ::gateway::{SMALL_REPLY, Server, Ticket};
use bytes::Bytes;
use codings::Coding;
use message::{Request, Response};
use request::reads::Plain;

use super::age::Age;

/// An answer that is kept.
pub(super) struct Whole {
    /// Another is kept by another number.
    number: u64,
    plain: KeptForm,
    /// By the place of the coding in [`Coding::ALL`].
    packed: [PackedForm; Coding::ALL.len()],
    /// Whether it is to be packed at all.
    gains: bool,
}

/// An answer as it is sent.
#[derive(Clone)]
pub(super) struct KeptForm {
    /// A [`message::Response`] without its body.
    head: Vec<u8>,
    body: Bytes,
}

/// An answer by a coding.
#[derive(Default)]
struct PackedForm {
    form: Option<KeptForm>,
    /// Whether somebody packs it, or has found that it becomes no shorter.
    is_asked: Cell<bool>,
}

/// An answer that is kept, and by which coding it is to be packed.
pub(super) struct ToPack {
    /// Of the answer.
    pub number: u64,
    pub coding: Coding,
    pub plain: KeptForm,
}

/// What a client gets without a run.
pub(crate) struct Given {
    /// A [`message::Response`], without its body if that is shared.
    head: Vec<u8>,
    body: Option<Bytes>,
    /// Its status.
    pub status: u16,
}

/// An answer as it was before it was packed, and as it was packed, if it was. Where it is not kept as a whole its tag is enough.
pub(super) fn forms<'a>(
    given: &'a [u8],
    plain: Plain<'a>,
    is_kept: bool,
) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    match plain {
        Plain::Same => Some((given, None)),
        Plain::Bytes(plain) => Some((plain, Some(given))),
        Plain::Unknown => (!is_kept).then_some((given, None)),
    }
}

impl KeptForm {
    /// That of a response; none if it cannot be read.
    pub(super) fn of(response: &[u8]) -> Option<KeptForm> {
        let start = Response::parse(response).ok()?.body_start();
        let (head, body) = response.split_at(start);
        Some(KeptForm { head: head.to_vec(), body: Bytes::copy_from_slice(body) })
    }

    /// The response.
    pub(super) fn response(&self) -> Vec<u8> {
        [&self.head, &self.body[..]].concat()
    }

    /// Bytes that it takes.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

impl PackedForm {
    /// A packed response.
    fn read(response: &[u8]) -> Option<(Coding, KeptForm)> {
        let is_coding = |(name, _): &(&[u8], &[u8])| *name == b"content-encoding";
        let (_, coding) = Response::parse(response).ok()?.headers().find(is_coding)?;
        Some((Coding::of(coding)?, KeptForm::of(response)?))
    }
}

impl Whole {
    /// That of a response, which is there as it was packed as well, if it was, and may be if `packs`; none if it cannot be read.
    pub(super) fn of(response: &[u8], packed: Option<&[u8]>, packs: bool, number: u64) -> Option<Whole> {
        let gains = packs && packing::gains(&Response::parse(response).ok()?);
        let mut plain = KeptForm::of(response)?;
        if gains {
            message::vary_by(&mut plain.head, "accept-encoding");
        }
        let mut whole = Whole { number, plain, packed: Default::default(), gains };
        if let Some((coding, form)) = packed.and_then(PackedForm::read) {
            whole.keep(number, coding, form);
        }
        Some(whole)
    }

    /// Keeps the answer by a coding as well, if it is that of this number. How many bytes more it takes.
    pub(super) fn keep(&mut self, number: u64, coding: Coding, form: KeptForm) -> usize {
        let packed = &mut self.packed[coding as usize];
        if self.number != number || packed.form.is_some() {
            return 0;
        }
        packed.is_asked.set(true);
        packed.form.insert(form).len()
    }

    /// Whether clients get it packed that take it so.
    pub(super) fn gains(&self) -> bool {
        self.gains
    }

    /// Bytes that it takes.
    pub(super) fn len(&self) -> usize {
        self.plain.len()
            + self.packed.iter().flat_map(|packed| &packed.form).map(KeptForm::len).sum::<usize>()
    }

    /// The form that a client gets who asks so, which says how old it is if that counts. One that is to be packed for the next client is put into `to_pack`.
    pub(super) fn given(
        &self,
        request: &Request<'_>,
        age: Option<Age>,
        now: Instant,
        to_pack: &mut Option<ToPack>,
    ) -> Given {
        let form = self.form(request, to_pack);
        Given { head: with_age(form.head.clone(), age, now), body: Some(form.body.clone()), status: 200 }
    }

    fn form(&self, request: &Request<'_>, to_pack: &mut Option<ToPack>) -> &KeptForm {
        if !self.gains {
            return &self.plain;
        }
        let Some(wanted) = packing::accepted_coding(request, |_| true) else { return &self.plain };
        let packed = &self.packed[wanted as usize];
        if let Some(form) = &packed.form {
            return form;
        }
        if !packed.is_asked.replace(true) {
            *to_pack = Some(ToPack { number: self.number, coding: wanted, plain: self.plain.clone() });
        }
        let is_there = |coding: Coding| self.packed[coding as usize].form.is_some();
        let other = packing::accepted_coding(request, is_there);
        other.and_then(|coding| self.packed[coding as usize].form.as_ref()).unwrap_or(&self.plain)
    }

    /// Notes that nobody packs it by this coding after all.
    pub(super) fn is_not_packed(&self, coding: Coding) {
        self.packed[coding as usize].is_asked.set(false);
    }
}

impl Given {
    /// That of a response that says that the client has it already.
    pub(super) fn unmodified(response: Vec<u8>, age: Option<Age>, now: Instant) -> Given {
        Given { head: with_age(response, age, now), body: None, status: 304 }
    }

    /// For how many bytes there has to be room: a client of HEAD gets no body.
    pub(crate) fn needs(&self, is_head: bool, server: &Server) -> usize {
        let body = self.body.as_ref().filter(|body| !is_head && body.len() > SMALL_REPLY);
        body.map_or(0, |body| server.needs_to_share(self.head.len(), body))
    }

    /// Hands it to its client.
    pub(crate) fn send(self, server: &mut Server, ticket: Ticket, is_head: bool) {
        match self.body {
            Some(body) => server.reply_sharing(ticket, self.head, body, is_head),
            None => server.reply(ticket, self.head),
        };
    }
}

/// A response without a body that says how old it is, if that counts.
fn with_age(response: Vec<u8>, age: Option<Age>, now: Instant) -> Vec<u8> {
    let Some(age) = age else { return response };
    let seconds = now.saturating_duration_since(age.begun).as_secs();
    message::with_header(&response, "age", seconds.to_string())
}
