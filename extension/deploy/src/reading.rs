//! The functions of schema `deploy` that read what is deployed.

use pg::entry::{Call, Returned, columns, sql_function};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;
use session::authority::{current_user, name_of, rows_as_owner};
use session::deployer::in_same_words;

use super::application::Application;
use super::drift::{self, APPLICATIONS};
use super::outside::STEPS;

sql_function!(
    /// `deploy.drift(application)`
    deploy_drift_wrapper,
    |call| {
        let application = Application::required(call.need_text(0, "application"));
        let returned = Returned::declared(call);
        for change in drift::of(&application) {
            let mut values = change.map(pgrx::IntoDatum::into_datum);
            // SAFETY: the declaration has these columns.
            unsafe { returned.add_values(&mut values) };
        }
        returned.done()
    }
);

/// Returns the rows of a query of ours.
fn give_rows<const COLUMNS: usize>(
    call: Call,
    query: &str,
    arguments: &[DatumWithOid<'_>],
    columns: impl Fn(&SpiHeapTupleData) -> spi::Result<[Option<Datum>; COLUMNS]>,
) -> Datum {
    let returned = Returned::declared(call);
    rows_as_owner(query, arguments, |row| {
        let mut values = columns(&row).unwrap_or_else(|error| error!("a row cannot be read: {error}"));
        // Here: they are in memory that is gone when the query has ended.
        // SAFETY: the declaration has these columns.
        unsafe { returned.add_values(&mut values) };
        None::<()>
    });
    returned.done()
}

fn three_texts(row: &SpiHeapTupleData) -> spi::Result<[Option<Datum>; 3]> {
    Ok(columns![row.get::<String>(1)?, row.get::<String>(2)?, row.get::<String>(3)?])
}

sql_function!(
    /// `deploy.read_steps()`
    deploy_read_steps_wrapper,
    |call| {
        give_rows(call, STEPS, &[current_user().into()], |row| {
            Ok(columns![
                row.get::<String>(1)?,
                row.get::<String>(2)?,
                row.get::<TimestampWithTimeZone>(3)?,
                row.get::<String>(4)?,
                row.get::<i64>(5)?,
            ])
        })
    }
);

sql_function!(
    /// `deploy.history(application)`
    deploy_history_wrapper,
    |call| {
        let application = Application::required(call.need_text(0, "application"));
        give_rows(
            call,
            "select d.number, d.kind, d.deployed_at, d.deployed_by, d.source, d.note,
               (select count(*) from deploy.file f where f.application = d.application and f.number = d.number), d.fingerprint, d.key
             from deploy.deployment d where d.application = $1 order by d.number desc",
            &[application.name.as_str().into()],
            |row| {
                Ok(columns![
                    row.get::<i32>(1)?,
                    row.get::<String>(2)?,
                    row.get::<TimestampWithTimeZone>(3)?,
                    row.get::<String>(4)?,
                    row.get::<String>(5)?,
                    row.get::<String>(6)?,
                    row.get::<i64>(7)?,
                    row.get::<String>(8)?,
                    row.get::<String>(9)?,
                ])
            },
        )
    }
);

sql_function!(
    /// `deploy.counts(application)`
    deploy_counts_wrapper,
    |call| {
        let application = Application::required(call.need_text(0, "application"));
        give_rows(
            call,
            "select case when s.type = 'route' then '' else s.type || ' ' end || array_to_string(s.names, ' '), s.requests, s.server_errors
             from deploy.requested s join deploy.object o on o.type = s.type and o.names = s.names
             join deploy.registered r on r.type = s.type and r.names = s.names and r.owner = $2
             where o.application = $1",
            &[application.name.as_str().into(), name_of(application.owner).into()],
            |row| Ok(columns![row.get::<String>(1)?, row.get::<i64>(2)?, row.get::<i64>(3)?]),
        )
    }
);

sql_function!(
    /// `deploy.read_applications()`
    deploy_read_applications_wrapper,
    |call| {
        let columns = |row: &SpiHeapTupleData| {
            Ok(columns![
                row.get::<String>(1)?,
                row.get::<String>(2)?,
                row.get::<String>(3)?,
                row.get::<i32>(4)?,
                row.get::<String>(5)?,
                row.get::<TimestampWithTimeZone>(6)?,
                row.get::<String>(7)?,
                row.get::<String>(8)?,
                row.get::<String>(9)?,
                row.get::<i64>(10)?,
                row.get::<i64>(11)?,
            ])
        };
        in_same_words(|| give_rows(call, APPLICATIONS, &[current_user().into()], columns))
    }
);

sql_function!(
    /// `deploy.files(application, number)`
    deploy_files_wrapper,
    |call| {
        let application = Application::required(call.need_text(0, "application"));
        give_rows(
            call,
            "select f.path, f.digest, c.content
             from deploy.file f left join deploy.content c on c.application = f.application and c.digest = f.digest
             where f.application = $1 and f.number = $2 order by f.path",
            &[application.name.as_str().into(), call.need::<i32>(1, "number").into()],
            three_texts,
        )
    }
);
