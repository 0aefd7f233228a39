//! Answers with static files: the first bytes at once, the rest as clients take them.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use ::gateway::{Rest, Ticket};
use bytes::Bytes;
use files::answer::FileAnswer;
use message::{Request, ResponseBuilder};
use problem::Problem;
use request::static_files::{head, unmet};

use super::Gateway;
use super::budget::NO_ROOM;
use super::dispatching::log_unrun;
use super::refusals::Refused;
use super::static_files::contents::Content;
use super::static_files::{PartSource, Serving};

/// Parts that are read from the database in one turn, first ones and later ones: others' requests wait for no more.
const READS: usize = 4;

impl Gateway<'_> {
    /// Answers with a file, if there is one where a request goes that no route answers. False if there is none.
    pub(super) fn answer_by_file(&mut self, request: &Request<'_>, refused: Refused<'_>) -> bool {
        let place = self.runner.table().and_then(|table| table.routes.files.place(request.raw_path()));
        let Some(serving) = place.and_then(|place| self.static_files.serve(request, &place)) else {
            return false;
        };
        let answered = match serving {
            Serving::Ready(answered) => answered.map(|(status, response)| {
                self.server.reply(refused.ticket, response);
                status
            }),
            Serving::Part(answer, content, part) => {
                self.send_file(refused.ticket, request.method() == "HEAD", &answer, content, part)
            }
        };
        match answered {
            Ok(status) => log_unrun(request, status),
            Err(problem) => {
                log_unrun(request, problem.status);
                self.flights.refusals.answer(&mut self.server, refused, &problem);
            }
        }
        true
    }

    /// Sends the first bytes of a file, or of a part of it; the rest follows as the client takes them. The status.
    fn send_file(
        &mut self,
        ticket: Ticket,
        is_head: bool,
        answer: &FileAnswer,
        content: Content,
        part: Range<u64>,
    ) -> Result<u16, Problem> {
        if answer.status == 412 {
            return Err(unmet());
        }
        // A client of HEAD gets the length alone.
        let first = if is_head { Bytes::new() } else { self.first_bytes(&content, &part)? };
        let head = head(answer).map(ResponseBuilder::finish_head).unwrap_or_default();
        if !is_head && self.server.needs_to_share(head.len(), &first) > self.flights.room(&self.server) {
            return Err(Problem::new(503, NO_ROOM));
        }
        let length = part.end - part.start;
        if first.len() as u64 == length {
            self.server.reply_sharing(ticket, head, first, is_head);
        } else {
            let (from, start) = (first.len() as u64, part.start);
            let rest = Rest { source: Rc::new(PartSource { content, start }), from, end: length };
            self.server.reply_in_parts(ticket, head, first, rest, is_head);
        }
        Ok(answer.status)
    }

    /// The same of the first part, none if others have been read in this turn: then they follow as the rest does.
    fn first_bytes(&mut self, content: &Content, part: &Range<u64>) -> Result<Bytes, Problem> {
        if let Some(kept) = self.static_files.contents.kept(content, part) {
            return Ok(kept);
        }
        if self.static_files.first_reads == READS {
            return Ok(Bytes::new());
        }
        self.static_files.first_reads += 1;
        self.bytes(content, part)
    }

    /// The bytes from the beginning of a part on, as many as are kept together.
    fn bytes(&mut self, content: &Content, part: &Range<u64>) -> Result<Bytes, Problem> {
        if let Some(kept) = self.static_files.contents.kept(content, part) {
            return Ok(kept);
        }
        self.inline.end(&mut self.runner);
        self.static_files.contents.read(content, part)
    }

    /// Gives clients the next parts of what they get, as far as there is room and time.
    pub(super) fn send_parts(&mut self) {
        self.static_files.wanted.extend(self.server.wanted_parts());
        // First parts that were read since the last turn count among those of this one.
        let (mut reads, mut left) = (std::mem::take(&mut self.static_files.first_reads), VecDeque::new());
        while let Some(wanted) = self.static_files.wanted.pop_front() {
            if !self.server.waits(wanted.ticket) {
                continue;
            }
            let Some(source) = wanted.rest.source.downcast_ref::<PartSource>() else { continue };
            let part = source.start + wanted.rest.from..source.start + wanted.rest.end;
            let kept = self.static_files.contents.kept(&source.content, &part);
            let bytes = match kept {
                Some(kept) => Ok(kept),
                None if reads == READS => {
                    left.push_back(wanted);
                    continue;
                }
                None => {
                    reads += 1;
                    self.bytes(&source.content, &part)
                }
            };
            match bytes {
                Ok(bytes) if self.server.needs_to_share(0, &bytes) > self.flights.room(&self.server) => {
                    left.push_back(wanted);
                }
                // An empty part ends the connection.
                bytes => drop(self.server.reply_part(wanted.ticket, bytes.unwrap_or_default())),
            }
        }
        self.static_files.wanted = left;
        self.static_files.is_due = reads == READS;
    }
}
