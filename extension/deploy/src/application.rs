//! An application, and the deployment that the transaction is.

use std::cell::RefCell;

use pg::guard::{PgError, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use session::authority::{current_user, may_become, name_of, rows_as_owner, value_as_owner};

/// An application.
#[derive(Clone)]
pub(crate) struct Application {
    /// Its name.
    pub name: String,
    /// Its number, for its lock.
    id: i32,
    /// The schema of its objects.
    pub schema: String,
    /// As whom its files run.
    pub owner: Oid,
}

impl Application {
    /// The application of this name.
    pub(crate) fn find(name: &str) -> Option<Application> {
        let found = rows_as_owner(
            "select a.id, a.schema_name, a.owner::oid from deploy.application a where a.name = $1",
            &[name.into()],
            |row| {
                let (id, schema, owner) = (row.get(1).ok()??, row.get(2).ok()??, row.get(3).ok()??);
                Some(Application { name: name.to_owned(), id, schema, owner })
            },
        );
        found.into_iter().next()
    }

    /// The application; an error if there is none, or the current user may not become its owner.
    pub(crate) fn required(name: &str) -> Application {
        let Some(application) = Self::find(name) else {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                &format!("there is no application {name}"),
                &format!("A superuser makes it: select deploy.create_application('{name}')"),
            );
        };
        application.check();
        application
    }

    /// An error unless the current user may become the owner.
    fn check(&self) {
        if !may_become(current_user(), self.owner) {
            let owner = name_of(self.owner);
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                &format!("must be able to become {owner}, who owns the application {}", self.name),
                &format!("grant {owner} to {}", name_of(current_user())),
            );
        }
    }

    /// Takes the application's lock until the transaction ends. An error at once, naming who has it, if somebody has.
    pub(crate) fn lock(&self) {
        let tag = self.tag();
        let mode = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
        // SAFETY: inside a transaction. The tag is of an object of this database.
        let taken = unsafe { pg_sys::LockAcquire(&raw const tag, mode, false, true) };
        if taken == pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL {
            let holder =
                value_as_owner::<String>(HOLDER, &[tag.locktag_field2.cast_signed().into(), self.id.into()]);
            unwind(PgError {
                sqlstate: *b"55P03",
                message: format!(
                    "{} is being deployed by {}",
                    self.name,
                    holder.as_deref().unwrap_or("somebody else")
                ),
                hint: Some("Try again when that has ended.".into()),
                ..PgError::default()
            });
        }
    }

    /// Takes the lock until the session ends, or gives it back: for a deployment of several transactions. An error at once if somebody else
    /// has it.
    pub(crate) fn hold(&self) {
        // In a transaction first, whose error says who has it.
        self.lock();
        let tag = self.tag();
        // SAFETY: inside a transaction, which has it already.
        unsafe { pg_sys::LockAcquire(&raw const tag, pg_sys::ExclusiveLock as pg_sys::LOCKMODE, true, true) };
    }

    /// Gives back what [`hold`](Self::hold) has taken. Whether there was something.
    pub(crate) fn release(&self) -> bool {
        let tag = self.tag();
        // SAFETY: inside a transaction.
        unsafe { pg_sys::LockRelease(&raw const tag, pg_sys::ExclusiveLock as pg_sys::LOCKMODE, true) }
    }

    /// The lock on the application's row as an object, which no function of SQL's takes; of the method whose locks of a session are given
    /// back when that ends.
    fn tag(&self) -> pg_sys::LOCKTAG {
        // SAFETY: look-ups inside a transaction; the schema and the table are the extension's.
        unsafe {
            let schema = pg_sys::get_namespace_oid(c"deploy".as_ptr(), false);
            let table = pg_sys::get_relname_relid(c"application".as_ptr(), schema);
            pg_sys::LOCKTAG {
                locktag_field1: pg_sys::MyDatabaseId.to_u32(),
                locktag_field2: table.to_u32(),
                locktag_field3: self.id.cast_unsigned(),
                locktag_field4: 0,
                locktag_type: pg_sys::LockTagType::LOCKTAG_OBJECT as u8,
                locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
            }
        }
    }
}

/// Who has the lock.
const HOLDER: &str = "select format('%s (process %s, since %s)', a.usename, a.pid, date_trunc('second', coalesce(a.xact_start, a.state_change)))
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'object' and l.granted and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = $1::bigint::oid and l.objid = $2::bigint::oid and l.mode = 'ExclusiveLock' limit 1";

/// The deployment of a transaction.
#[derive(Clone)]
pub(crate) struct Deployment {
    /// What is deployed.
    pub application: Application,
    /// Its number.
    pub number: i32,
    transaction: pg_sys::TransactionId,
}

thread_local! {
    /// That of the last transaction that was one.
    static CURRENT: RefCell<Option<Deployment>> = const { RefCell::new(None) };
}

impl Deployment {
    /// The transaction is this deployment from now on.
    pub(crate) fn begin(application: Application, number: i32) {
        // SAFETY: inside a transaction.
        let transaction = unsafe { pg_sys::GetTopTransactionId() };
        CURRENT.set(Some(Deployment { application, number, transaction }));
    }

    /// Whether the transaction is a deployment of an application.
    pub(crate) fn is_of(application: &str) -> bool {
        // SAFETY: reads a variable of this process.
        let transaction = unsafe { pg_sys::GetTopTransactionIdIfAny() };
        let current = CURRENT.with_borrow(|current| current.clone());
        current.is_some_and(|current| {
            current.transaction == transaction
                && current.application.name == application
                && current.is_begun()
        })
    }

    /// Whether no savepoint has taken it back, with its lock.
    fn is_begun(&self) -> bool {
        let is_begun = value_as_owner::<bool>(
            "select true from deploy.deployment d where d.application = $1 and d.number = $2",
            &[self.application.name.as_str().into(), self.number.into()],
        );
        is_begun.is_some()
    }

    /// The deployment that the transaction is; an error if it is none, or the current user may not become the owner.
    pub(crate) fn current() -> Deployment {
        // SAFETY: reads a variable of this process.
        let transaction = unsafe { pg_sys::GetTopTransactionIdIfAny() };
        let current = CURRENT.with_borrow(|current| current.clone());
        let Some(deployment) = current.filter(|current| current.transaction == transaction) else {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "this transaction is no deployment: call deploy.start() before",
            );
        };
        if !deployment.is_begun() {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the deployment was rolled back: call deploy.start() again",
            );
        }
        deployment.application.check();
        deployment
    }
}
