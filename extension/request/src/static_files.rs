//! Static files of applications, as rows: where they answer, which there are, their bytes. Gateways have their names in memory, and read bytes once; an
//! executor, which answers where a guard has to be asked first, reads the rows of one request.

use std::ops::Range;

use codings::Coding;
use files::answer::{Asked, FileAnswer, FileBytes, answer};
use files::served::{ALLOW, Served, is_navigation, served};
use files::{FilePlace, Mount, Mounts, StaticFile, Tree, Version};
use message::{Request, ResponseBuilder};
use pgrx::datum::DatumWithOid;
use pgrx::spi::{self, Spi, SpiClient, SpiHeapTupleData};
use problem::Problem;
use session::authority::as_owner;
use session::own_transaction;

use super::routes::Routes;
use super::run::Job;

/// Reads where files answer.
pub(crate) fn mounts(client: &SpiClient<'_>) -> Result<Mounts, spi::Error> {
    let rows = client.select(
        "select p.prefix, a.name, p.folder, p.fallback from http.file_prefix p
         join deploy.application a on pg_catalog.pg_get_userbyid(a.owner::oid) = p.owner",
        None,
        &[],
    )?;
    let mount = |row: SpiHeapTupleData| {
        let text = |place| Ok::<_, spi::Error>(row.get::<String>(place)?.unwrap_or_default());
        Ok(Mount { prefix: text(1)?, application: text(2)?, folder: text(3)?, fallback: row.get(4)? })
    };
    Ok(Mounts::of(rows.map(mount).collect::<Result<_, spi::Error>>()?))
}

/// How often the files of each application have become others.
///
/// # Errors
/// PostgreSQL's.
pub fn versions(client: &SpiClient<'_>) -> Result<Vec<(String, i64)>, spi::Error> {
    let rows = client.select("select application, version from http.static_tree", None, &[])?;
    rows.map(|row| Ok((row.get(1)?.unwrap_or_default(), row.get(2)?.unwrap_or_default()))).collect()
}

const FILES: &str = "select f.name, f.digest, f.size, extract(epoch from f.since)::bigint, f.until is null,
      octet_length(c.brotli)::bigint, octet_length(c.zstd)::bigint, octet_length(c.gzip)::bigint, f.is_fixed
    from http.static_file f join http.static_content c on c.application = f.application and c.digest = f.digest
    where f.application = $1";

/// Reads all files of an application. Its caller has put a safe search_path in force.
///
/// # Errors
/// PostgreSQL's.
pub fn tree(client: &SpiClient<'_>, application: &str) -> Result<Tree, spi::Error> {
    collect(client.select(FILES, None, &[application.into()])?)
}

fn collect<'r>(rows: impl Iterator<Item = SpiHeapTupleData<'r>>) -> Result<Tree, spi::Error> {
    let mut tree = Tree::default();
    for row in rows {
        let number = |place| Ok::<_, spi::Error>(row.get::<i64>(place)?.map(|number| number.max(0) as u64));
        let version = Version {
            digest: row.get(2)?.unwrap_or_default(),
            size: number(3)?.unwrap_or_default(),
            since: number(4)?.unwrap_or_default(),
            is_current: row.get(5)?.unwrap_or_default(),
            is_fixed: row.get(9)?.unwrap_or_default(),
            packed: [number(6)?, number(7)?, number(8)?],
        };
        tree.add(row.get(1)?.unwrap_or_default(), version);
    }
    Ok(tree)
}

/// The files that a place may mean.
fn part_of_tree(place: &FilePlace<'_>) -> Tree {
    let query = format!("{FILES} and f.name = any ($2)");
    let read = || {
        Spi::connect(|client| {
            let names = Tree::names_for(place);
            collect(client.select(&query, None, &[place.mount.application.as_str().into(), names.into()])?)
        })
    };
    as_owner(read).unwrap_or_else(|error| pgrx::error!("the files cannot be read: {error}"))
}

/// A part of a file's bytes, plain or by a coding, as the owner; none if they are not there any more. No other part is read for it.
pub fn bytes(application: &str, digest: &str, coding: Option<Coding>, part: Range<u64>) -> Option<Vec<u8>> {
    let column = match coding {
        None => "bytes",
        Some(Coding::Brotli) => "brotli",
        Some(Coding::Zstd) => "zstd",
        Some(Coding::Gzip) => "gzip",
    };
    let query = format!(
        "select substr(c.{column}, $3, $4) from http.static_content c where c.application = $1 and c.digest = $2"
    );
    // Positions count from 1; a file has no more bytes than these numbers.
    let (from, count) = (part.start as i32 + 1, part.end.saturating_sub(part.start) as i32);
    let read = value(&query, &[application.into(), digest.into(), from.into(), count.into()])?;
    (read.len() as u64 == part.end.saturating_sub(part.start)).then_some(read)
}

/// The value of the only row that a query returns, as the owner: a query that reads, as a standby runs no other.
fn value(query: &str, arguments: &[DatumWithOid<'_>]) -> Option<Vec<u8>> {
    let read = || {
        Spi::connect(|client| {
            let mut rows = client.select(query, Some(1), arguments)?;
            rows.next().map_or(Ok(None), |row| row.get::<Vec<u8>>(1))
        })
    };
    as_owner(read).unwrap_or_else(|error| pgrx::error!("the file cannot be read: {error}"))
}

/// The outcome of a request at a place; none if there is no file for it.
pub fn served_at<'t>(request: &Request<'_>, place: &FilePlace<'_>, tree: &'t Tree) -> Option<Served<'t>> {
    let accept = request.headers().filter(|(name, _)| *name == "accept").map(|(_, value)| value);
    served(request.method(), place, tree, || is_navigation(request.header("sec-fetch-mode"), accept))
}

/// The answer to a request for a file.
pub fn answer_of(request: &Request<'_>, file: &StaticFile<'_>) -> FileAnswer {
    answer(file, &Asked::of(request.headers()))
}

/// The head of a response with an answer's status and headers.
pub fn head(answer: &FileAnswer) -> Option<ResponseBuilder> {
    let mut builder = ResponseBuilder::new(answer.status).ok()?;
    for (name, value) in &answer.headers {
        // Digits, dates and words of ours.
        let _ = builder.header(name, value);
    }
    Some(builder)
}

/// The response to a request that gets no file's bytes: a redirect, a list of methods.
///
/// # Errors
/// The problem to answer with.
pub fn without_bytes(request: &Request<'_>, served: &Served<'_>) -> Result<(u16, Vec<u8>), Problem> {
    let (status, header) = match served {
        Served::Redirect => {
            let query = match request.query_string() {
                "" => String::new(),
                query => format!("?{query}"),
            };
            (308, ("location", format!("{}/{query}", request.raw_path())))
        }
        Served::Options => (204, ("allow", ALLOW.to_owned())),
        Served::NotAllowed => {
            let detail = format!("{} is not allowed here, only {ALLOW}", request.method());
            return Err(Problem { allow: Some(ALLOW.into()), ..Problem::new(405, detail) });
        }
        Served::NoSuchBytes | Served::File(_) => {
            return Err(Problem::new(404, format!("there is no file {} any more", request.path())));
        }
    };
    let Ok(mut builder) = ResponseBuilder::new(status) else { return Ok((status, Vec::new())) };
    // A path that came in a request can stand in a header.
    let _ = builder.header(header.0, header.1);
    Ok((status, builder.finish(&[])))
}

/// A file whose conditions are not met.
pub fn unmet() -> Problem {
    Problem::new(412, "the file is not what the request has seen")
}

impl Job<'_, '_> {
    /// Answers with a file, if there is one where the request goes and its guards let it pass.
    ///
    /// # Safety
    /// As for [`Job::run`], outside of the request's transaction.
    pub(crate) unsafe fn answer_by_file(&mut self, routes: &Routes) -> Result<Option<u16>, Problem> {
        let request = self.request;
        let Some(place) = routes.files.place(request.raw_path()) else { return Ok(None) };
        let tree = self.reading(|| part_of_tree(&place))?;
        let Some(served) = served_at(request, &place, &tree) else { return Ok(None) };
        // SAFETY: by contract.
        if let Some(answer) = unsafe { self.pass_guards_of_nothing()? } {
            return self.finish(answer, false).map(Some);
        }
        let Served::File(file) = &served else {
            let (status, response) = without_bytes(request, &served)?;
            self.receiver.buffer = response;
            return Ok(Some(status));
        };
        let answer = answer_of(request, file);
        if answer.status == 412 {
            return Err(unmet());
        }
        let version = file.version;
        let (coding, part) = match &answer.body {
            FileBytes::None => (None, 0..0),
            FileBytes::Plain(part) => (None, part.clone()),
            FileBytes::Packed(coding) => {
                (Some(*coding), 0..version.packed[*coding as usize].unwrap_or_default())
            }
        };
        let read = self.reading(|| bytes(&place.mount.application, &version.digest, coding, part))?;
        let (Some(body), Some(head)) = (read, head(&answer)) else {
            return Err(Problem::new(404, format!("there is no file {} any more", request.path())));
        };
        self.receiver.buffer = head.finish(&body);
        Ok(Some(answer.status))
    }

    /// Reads rows: in a transaction of its own, where the request has none around it.
    fn reading<T>(&self, work: impl FnOnce() -> T) -> Result<T, Problem> {
        if self.called {
            return Ok(work());
        }
        own_transaction::transaction(pg::guard::Report::Log, work)
            .map_err(|_| Problem::new(503, "the files cannot be read; the server's log says why"))
    }
}
