//! Steps: migrations that are no part of a deployment's transaction. A file of one statement is one if that cannot run in a transaction
//! (`create index concurrently`), if what it makes cannot be used in the same (an enum's value), or if it says that it runs in batches.
//!
//! In an application's first deployment, in tests and in plans all tables are new or nobody's yet: there a step runs inside, as if it did
//! not say CONCURRENTLY.

use std::ffi::{CStr, CString};

use batches::Batches;
use folder::places_in_text::begin_of;
use pg::list::{list_length, nth};
use pg::refuse::{refuse, refuse_with_hint};
use pg::text::string;
use pgrx::pg_sys::{self, List, Node, NodeTag, RangeVar, RawStmt};
use pgrx::prelude::*;
use session::deployer::in_same_words;

/// A step, of nodes in the current memory context.
pub(crate) enum Step {
    /// `create index concurrently`
    CreateIndex {
        /// The table.
        table: *mut RangeVar,
        /// The index.
        name: String,
    },
    /// `drop index concurrently`
    DropIndex(*mut RangeVar),
    /// `reindex (concurrently)` of an index.
    ReindexIndex(*mut RangeVar),
    /// `reindex (concurrently)` of a table.
    ReindexTable(*mut RangeVar),
    /// `reindex (concurrently)` of the schema.
    ReindexSchema,
    /// `alter table … detach partition … concurrently`
    Detach {
        /// The partitioned table.
        parent: *mut RangeVar,
        /// Its partition.
        child: *mut RangeVar,
    },
    /// `alter table … detach partition … finalize`
    Finalize {
        /// The partitioned table.
        parent: *mut RangeVar,
        /// Its partition.
        child: *mut RangeVar,
    },
    /// `vacuum`
    Vacuum,
    /// `alter type … add value`
    AddValue {
        /// The type's name.
        name: *mut List,
        /// The value.
        value: String,
    },
    /// A statement that runs in batches.
    Batches(Batches),
}

impl Step {
    /// What it is called.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::CreateIndex { .. } => "create index concurrently",
            Self::DropIndex(_) => "drop index concurrently",
            Self::ReindexIndex(_) | Self::ReindexTable(_) | Self::ReindexSchema => "reindex concurrently",
            Self::Detach { .. } => "detach partition concurrently",
            Self::Finalize { .. } => "detach partition finalize",
            Self::Vacuum => "vacuum",
            Self::AddValue { .. } => "add value",
            Self::Batches(_) => "batches",
        }
    }

    /// Whether it may run in a transaction, too.
    fn may_run_inside(&self) -> bool {
        matches!(self, Self::AddValue { .. } | Self::Batches(_))
    }
}

/// A step that was found in a text.
pub(crate) struct Found {
    /// The step.
    pub step: Step,
    /// Where its statement begins, in bytes.
    pub begin: usize,
    /// The statement.
    pub statement: String,
}

impl Found {
    /// Whether it adds a value to an enum.
    pub(crate) fn adds_a_value(&self) -> bool {
        matches!(self.step, Step::AddValue { .. })
    }
}

/// The statements of a text, read as files are, whatever the session's settings.
///
/// # Safety
/// Inside a transaction. The parser's nodes live in the current memory context.
pub(crate) unsafe fn parse(text: &CStr) -> *mut List {
    // SAFETY: by contract; pgrx guards the call.
    in_same_words(|| unsafe { pg_sys::pg_parse_query(text.as_ptr()) })
}

/// The step that a text is; none if it is none. An error if it has a step among other statements.
pub(crate) fn of(text: &str) -> Option<Found> {
    let batches =
        Batches::parse(text).unwrap_or_else(|wrong| refuse(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, &wrong));
    let Ok(text) = CString::new(text) else { return None };
    // SAFETY: inside a transaction; pgrx guards each call. The parser's nodes live in the current memory context.
    unsafe {
        let statements = parse(&text);
        let count = list_length(statements);
        if batches.is_some() && count != 1 {
            refuse(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "what runs in batches is one statement");
        }
        for place in 0..count {
            let statement = nth(statements, place).cast::<RawStmt>();
            let step = match &batches {
                Some(batches) => Some(of_batches((*statement).stmt, batches)),
                None => of_statement((*statement).stmt),
            };
            let Some(step) = step else { continue };
            if count == 1 {
                let begin = begin_of(text.to_bytes(), (*statement).stmt_location);
                let statement = text.to_string_lossy()[begin..].trim_end().trim_end_matches(';').to_owned();
                return Some(Found { step, begin, statement });
            }
            if !step.may_run_inside() {
                refuse_with_hint(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    &format!("{} stands with other statements in a file", step.kind()),
                    "It cannot run in the transaction of the deployment. Give it a migration of its own.",
                );
            }
        }
        None
    }
}

/// What runs in batches is a statement that changes rows.
unsafe fn of_batches(statement: *mut Node, batches: &Batches) -> Step {
    // SAFETY: a statement of the parser.
    let tag = unsafe { (*statement).type_ };
    let changes_rows = matches!(
        tag,
        NodeTag::T_UpdateStmt | NodeTag::T_InsertStmt | NodeTag::T_DeleteStmt | NodeTag::T_MergeStmt
    );
    if !changes_rows {
        refuse(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            "what runs in batches is an UPDATE, INSERT, DELETE or MERGE, of the keys between $1 and $2",
        );
    }
    Step::Batches(batches.clone())
}

unsafe fn of_statement(statement: *mut Node) -> Option<Step> {
    // SAFETY: a statement of the parser; the tag tells the type.
    unsafe {
        match (*statement).type_ {
            NodeTag::T_IndexStmt => {
                let index = &*statement.cast::<pg_sys::IndexStmt>();
                if index.concurrent && index.idxname.is_null() {
                    refuse(
                        PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
                        "an index that is made concurrently needs a name: by that it is told whether it is done",
                    );
                }
                index
                    .concurrent
                    .then(|| Step::CreateIndex { table: index.relation, name: string(index.idxname) })
            }
            NodeTag::T_DropStmt => {
                let drop = &*statement.cast::<pg_sys::DropStmt>();
                (drop.concurrent && list_length(drop.objects) == 1)
                    .then(|| Step::DropIndex(pg_sys::makeRangeVarFromNameList(nth(drop.objects, 0).cast())))
            }
            NodeTag::T_ReindexStmt => of_reindex(&*statement.cast::<pg_sys::ReindexStmt>()),
            NodeTag::T_AlterTableStmt => of_detach(&*statement.cast::<pg_sys::AlterTableStmt>()),
            NodeTag::T_VacuumStmt => of_vacuum(&*statement.cast::<pg_sys::VacuumStmt>()),
            NodeTag::T_AlterEnumStmt => {
                let alter = &*statement.cast::<pg_sys::AlterEnumStmt>();
                alter
                    .oldVal
                    .is_null()
                    .then(|| Step::AddValue { name: alter.typeName, value: string(alter.newVal) })
            }
            _ => None,
        }
    }
}

unsafe fn of_reindex(reindex: &pg_sys::ReindexStmt) -> Option<Step> {
    // SAFETY: a statement of the parser.
    unsafe {
        if !has_option(reindex.params, c"concurrently") {
            return None;
        }
        match reindex.kind {
            pg_sys::ReindexObjectType::REINDEX_OBJECT_INDEX => Some(Step::ReindexIndex(reindex.relation)),
            pg_sys::ReindexObjectType::REINDEX_OBJECT_TABLE => Some(Step::ReindexTable(reindex.relation)),
            pg_sys::ReindexObjectType::REINDEX_OBJECT_SCHEMA => Some(Step::ReindexSchema),
            _ => refuse(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "a migration reindexes an index, a table or the schema of its application",
            ),
        }
    }
}

unsafe fn of_detach(alter: &pg_sys::AlterTableStmt) -> Option<Step> {
    // SAFETY: a statement of the parser, whose commands are AlterTableCmds.
    unsafe {
        if list_length(alter.cmds) != 1 {
            return None;
        }
        let command = &*nth(alter.cmds, 0).cast::<pg_sys::AlterTableCmd>();
        let part = command.def.cast::<pg_sys::PartitionCmd>();
        match command.subtype {
            pg_sys::AlterTableType::AT_DetachPartition if (*part).concurrent => {
                Some(Step::Detach { parent: alter.relation, child: (*part).name })
            }
            pg_sys::AlterTableType::AT_DetachPartitionFinalize => {
                Some(Step::Finalize { parent: alter.relation, child: (*part).name })
            }
            _ => None,
        }
    }
}

unsafe fn of_vacuum(vacuum: &pg_sys::VacuumStmt) -> Option<Step> {
    if !vacuum.is_vacuumcmd {
        return None;
    }
    // SAFETY: a statement of the parser.
    unsafe {
        if has_option(vacuum.options, c"full") {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "a migration does not VACUUM FULL: nobody reads the table as long as that takes",
                "VACUUM gives the space to later rows. Have the table's owner run VACUUM FULL by hand.",
            );
        }
        if list_length(vacuum.rels) == 0 {
            refuse(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "a migration names the tables that it vacuums",
            );
        }
    }
    Some(Step::Vacuum)
}

/// Whether options have this one, and do not say that it is off.
unsafe fn has_option(options: *mut List, name: &CStr) -> bool {
    // SAFETY: options of the parser are DefElems.
    unsafe {
        (0..list_length(options)).any(|place| {
            let option = nth(options, place).cast::<pg_sys::DefElem>();
            CStr::from_ptr((*option).defname) == name && pg_sys::defGetBoolean(option)
        })
    }
}

/// Has the one statement of a step run inside a transaction. Whether there is anything to run.
///
/// # Safety
/// A statement of the parser, which may change.
pub(crate) unsafe fn let_run_inside(statement: *mut Node) -> bool {
    // SAFETY: by contract; the tag tells the type.
    unsafe {
        match (*statement).type_ {
            NodeTag::T_IndexStmt => (*statement.cast::<pg_sys::IndexStmt>()).concurrent = false,
            NodeTag::T_DropStmt => (*statement.cast::<pg_sys::DropStmt>()).concurrent = false,
            // Nobody has seen what it would give a better shape to.
            NodeTag::T_ReindexStmt => return of_reindex(&*statement.cast::<pg_sys::ReindexStmt>()).is_none(),
            NodeTag::T_VacuumStmt => return of_vacuum(&*statement.cast::<pg_sys::VacuumStmt>()).is_none(),
            NodeTag::T_AlterTableStmt => {
                let alter = &*statement.cast::<pg_sys::AlterTableStmt>();
                if let Some(Step::Detach { .. }) = of_detach(alter) {
                    let command = &*nth(alter.cmds, 0).cast::<pg_sys::AlterTableCmd>();
                    (*command.def.cast::<pg_sys::PartitionCmd>()).concurrent = false;
                }
            }
            _ => {}
        }
        true
    }
}
