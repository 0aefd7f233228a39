//! The files of an application that clients get as they are. Their bytes are sent before a deployment, by their digests, and harm nobody; the deployment
//! says which name has which.

use std::collections::HashSet;

use codings::{Coding, Unpacked, unpack};
use files::{Index, LONGEST, MOST};
use folder::statics::INDEX;
use pages::PageFile;
use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;
use serde_json::{Value, json};
use session::authority::{name_of, rows_as_owner, run_as_owner, value_as_owner};
use session::deployments;

use super::application::{Application, Deployment};
use super::file::{digest_of, is_announced, keep_text, refuse_here};
use super::pages::library;
use super::trial;

sql_function!(
    /// `deploy.missing_files(application, digests, packed)`
    deploy_missing_files_wrapper,
    |call| {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let (digests, packed): (Vec<String>, bool) = (call.need(1, "digests"), call.need(2, "packed"));
        if digests.len() > MOST {
            refuse(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, &format!("{MOST} files are the most"));
        }
        let missing = rows_as_owner(
            "select l.digest from deploy.lacking_files($1, $2, $3) l (digest)",
            &[application.name.as_str().into(), digests.into(), packed.into()],
            |row| row.get::<String>(1).ok().flatten(),
        );
        call.give(missing)
    }
);

sql_function!(
    /// `deploy.send_file(application, digest, bytes, packed, brotli, zstd, gzip)`
    deploy_send_file_wrapper,
    |call| {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let (digest, bytes): (&str, &[u8]) = (call.need_text(1, "digest"), call.need(2, "bytes"));
        if bytes.len() as u64 > LONGEST {
            refuse(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                &format!("a file has {LONGEST} bytes at most"),
            );
        }
        if digest_of(bytes) != digest {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "the digest is not the SHA-256 of the bytes, in hexadecimal digits",
            );
        }
        let packed: [Option<&[u8]>; Coding::ALL.len()] =
            std::array::from_fn(|place| call.get(4 + place));
        for (coding, packed) in Coding::ALL.into_iter().zip(packed) {
            if let Some(packed) = packed {
                refuse_other(coding, packed, bytes);
            }
        }
        let is_packed: bool = call.need(3, "packed");
        let [brotli, zstd, gzip] = packed;
        run_as_owner(
            "select deploy.keep_bytes($1, $2, $3, $4, $5, $6, $7)",
            &[
                application.name.as_str().into(),
                digest.into(),
                bytes.into(),
                is_packed.into(),
                brotli.into(),
                zstd.into(),
                gzip.into(),
            ],
        );
        call.null()
    }
);

/// An error if packed bytes are not those of the file: they would be kept by clients for a year.
fn refuse_other(coding: Coding, packed: &[u8], bytes: &[u8]) {
    let is_same = matches!(unpack(coding, packed, bytes.len()), Ok(Unpacked::Whole(back)) if back == bytes);
    if !is_same || packed.len() >= bytes.len() {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("what is said to be the bytes by {} is not, or is no shorter", coding.name()),
        );
    }
}

sql_function!(
    /// `deploy.set_files(content)`
    deploy_set_files_wrapper,
    |call| {
        refuse_here();
        let deployment = Deployment::current();
        deployments::announce();
        let text = call.text(0).unwrap_or_default();
        let index = index_of(call, &deployment, text);
        let application = &deployment.application;
        let counts = IndexColumns::of(index).put(application);
        if call.argument(0).is_some() {
            keep_text(application, &digest_of(text), text);
        }
        // Pages name files before routes say where these answer.
        place(application);
        call.give(counts.to_string())
    }
);

/// The columns of an index.
struct IndexColumns {
    names: Vec<String>,
    digests: Vec<String>,
    sizes: Vec<i64>,
    fixed: Vec<bool>,
}

impl IndexColumns {
    fn of(index: Index) -> IndexColumns {
        let (mut names, mut digests, mut sizes, mut fixed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (name, entry) in index.entries {
            names.push(name);
            digests.push(entry.digest);
            sizes.push(entry.size.cast_signed());
            fixed.push(entry.is_fixed);
        }
        IndexColumns { names, digests, sizes, fixed }
    }

    /// Gives an application these files. How many names are new, have other bytes, and are gone.
    fn put(self, application: &Application) -> Value {
        let IndexColumns { names, digests, sizes, fixed } = self;
        let name = application.name.as_str();
        let changed = value_as_owner::<String>(
            "select deploy.changed_fixed_file($1, $2, $3, $4)",
            &[name.into(), names.clone().into(), digests.clone().into(), fixed.clone().into()],
        );
        if let Some(changed) = changed {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                &format!("static/{changed} has other bytes than before, and clients keep those for ever"),
                "howdah.toml says immutable of its folder: let what builds it put a hash of the bytes into each name, or take the folder out.",
            );
        }
        // Nothing is sent for a deployment that is only tried.
        if !trial::is_tried()
            && let Some(missing) = value_as_owner::<String>(
                "select deploy.unsent_file($1, $2, $3, $4)",
                &[name.into(), names.clone().into(), digests.clone().into(), sizes.clone().into()],
            )
        {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                &format!("the bytes of static/{missing} are not there"),
                "howdah deploy sends them. Of a deployment that was replaced they are kept for 30 days: deploy its folder.",
            );
        }
        let counts = rows_as_owner(
            "select p.added, p.changed, p.gone from deploy.put_files($1, $2, $3, $4, $5) p",
            &[name.into(), names.into(), digests.into(), sizes.into(), fixed.into()],
            |row| {
                let count = |place| row.get::<i64>(place).ok().flatten();
                Some(json!({ "added": count(1)?, "changed": count(2)?, "gone": count(3)? }))
            },
        );
        counts.into_iter().next().unwrap_or_default()
    }
}

/// The files that a text says; an error if it is not the deployment's.
fn index_of(call: Call, deployment: &Deployment, text: &str) -> Index {
    if call.argument(0).is_none() == is_announced(deployment, INDEX, &digest_of(text)) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "these are not the files of the deployment",
            "deploy.start() is told the SHA-256 of the text that says them, as that of the file static/.",
        );
    }
    Index::parse(text)
        .unwrap_or_else(|error| refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &error.to_string()))
}

/// Lets the files of an application answer where it says of none where they do. Paths that are another's are given, with whose.
pub(crate) fn place(application: &Application) -> Vec<(String, String)> {
    rows_as_owner(
        "select d.prefix, d.other from deploy.default_files($1, $2) d",
        &[application.name.as_str().into(), name_of(application.owner).into()],
        two_texts,
    )
}

fn two_texts(row: SpiHeapTupleData) -> Option<(String, String)> {
    Some((row.get::<String>(1).ok()??, row.get::<String>(2).ok()??))
}

/// The faults of where the files of a deployment answer, and of names that its pages give.
pub(crate) fn faults(deployment: &Deployment) -> Vec<Value> {
    let application = &deployment.application;
    let of_others = place(application).into_iter().map(|(prefix, other)| {
        json!({ "path": INDEX, "message": format!("files at {prefix} are those of {other}, who owns another application"),
            "hint": "Say where these answer, in routes.sql: select http.files('/path')." })
    });
    let missing = rows_as_owner(
        "select m.prefix, m.name from deploy.misplaced_files($1, $2) m",
        &[application.name.as_str().into(), name_of(application.owner).into()],
        two_texts,
    );
    let not_there = missing.into_iter().map(|(prefix, file)| {
        json!({ "path": "routes.sql", "message": format!("http.files('{prefix}', …): there is no file static/{file}") })
    });
    of_others.chain(not_there).chain(unknown_assets(deployment)).collect()
}

/// Files that pages name and that are not there.
fn unknown_assets(deployment: &Deployment) -> Vec<Value> {
    let named = library::with(deployment, |library| {
        let in_page = |page: &PageFile| {
            let named = assets(page.text()).into_iter();
            named.map(|(line, name)| (page.path().to_owned(), line, name)).collect::<Vec<_>>()
        };
        library.pages().flat_map(in_page).collect::<Vec<_>>()
    });
    if named.is_empty() {
        return Vec::new();
    }
    let known: HashSet<String> = rows_as_owner(
        "select f.name from deploy.file_names($1) f (name)",
        &[deployment.application.name.as_str().into()],
        |row| row.get::<String>(1).ok().flatten(),
    )
    .into_iter()
    .collect();
    let unknown = named.into_iter().filter(|(.., name)| !known.contains(name));
    let problem = |(path, line, name)| json!({ "path": path, "line": line, "message": format!("http.asset('{name}'): there is no file static/{name}") });
    unknown.map(problem).collect()
}

/// The names that a text gives `http.asset()` as they are, each with its line.
fn assets(text: &str) -> Vec<(usize, String)> {
    const CALL: &str = "http.asset(";
    let calls = text.match_indices(CALL).filter_map(|(place, _)| {
        let behind = text[place + CALL.len()..].trim_start().strip_prefix('\'')?;
        let name = &behind[..behind.find('\'')?];
        let is_whole = behind[name.len() + 1..].trim_start().starts_with(')');
        is_whole.then(|| (text[..place].matches('\n').count() + 1, name.to_owned()))
    });
    calls.collect()
}
