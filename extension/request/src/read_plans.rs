//! What a plan reads, and what in it changes without a commit.
//!
//! A plan is looked through as a whole, whatever of it runs. A kind of node that is not named here is an obstacle: what a later
//! version has of new ones cannot be known.

use std::ffi::c_void;

use pg::catalog::is_users;
use pg::entry::callback;
use pg::list::{list_length, nth};
use pg::version::{expression_tree_walker, is_json_expression};
use pgrx::pg_sys::{self, List, Node, Oid, Plan};

use super::effects::is_ours;
use super::fixed_functions::{obstacle_of, set_parallel};
use super::read_types::{look_at_arguments, look_at_equality, look_at_order};
use super::recording::{Obstacle, blame, note};

/// The methods by which tables and their indexes are stored whose rows PostgreSQL counts.
const HEAP: u32 = 2;

/// Looks through a plan, and notes what it reads and the first obstacle.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind, and nothing is owned meanwhile.
pub(super) unsafe fn look(statement: *const pg_sys::PlannedStmt) {
    // SAFETY: by contract; lists of PostgreSQL's.
    unsafe {
        let is_select = (*statement).commandType == pg_sys::CmdType::CMD_SELECT;
        if !is_select || (*statement).hasModifyingCTE || !(*statement).rowMarks.is_null() {
            return blame(Obstacle::Writes);
        }
        set_parallel((*statement).parallelModeNeeded);
        for place in 0..list_length((*statement).rtable) {
            look_at_entry(nth((*statement).rtable, place).cast());
        }
        look_at_plan((*statement).planTree);
        for place in 0..list_length((*statement).subplans) {
            look_at_plan(nth((*statement).subplans, place).cast());
        }
    }
}

unsafe fn look_at_entry(entry: *const pg_sys::RangeTblEntry) {
    // SAFETY: the caller's contract.
    unsafe {
        match (*entry).rtekind {
            pg_sys::RTEKind::RTE_RELATION => look_at_relation((*entry).relid, (*entry).relkind as u8),
            pg_sys::RTEKind::RTE_NAMEDTUPLESTORE => blame(Obstacle::Node),
            _ => {}
        }
    }
}

unsafe fn look_at_relation(relation: Oid, kind: u8) {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        match kind {
            // A view stands there for its rights alone; what it reads stands beside it.
            b'v' => return,
            b'r' | b'm' | b'p' | b't' => {}
            _ => return blame(Obstacle::Relation(relation)),
        }
        if relation.to_u32() < pg_sys::FirstNormalObjectId {
            return blame(Obstacle::Catalog(relation));
        }
        let is_temporary = pg_sys::get_rel_persistence(relation) as u8 == b't';
        if is_temporary || kind != b'p' && method_of(relation) != HEAP {
            return blame(Obstacle::Relation(relation));
        }
        note(relation);
    }
}

/// The access method of a table.
unsafe fn method_of(relation: Oid) -> u32 {
    const RELATIONS: i32 = pg_sys::SysCacheIdentifier::RELOID as i32;
    // SAFETY: a look-up inside a transaction.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(RELATIONS, relation.into());
        if tuple.is_null() {
            return 0;
        }
        let method = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_class>()).relam;
        pg_sys::ReleaseSysCache(tuple);
        method.to_u32()
    }
}

/// Looks through a node of a plan and those below it. Null is none.
unsafe fn look_at_plan(plan: *const Plan) {
    use pg_sys::NodeTag::*;
    // SAFETY: a node of a plan; the tag tells the type.
    unsafe {
        if plan.is_null() {
            return;
        }
        look_at((*plan).targetlist.cast());
        look_at((*plan).qual.cast());
        look_at_scan(plan);
        let below = |list: *const List| {
            (0..list_length(list)).for_each(|place| look_at_plan(nth(list, place).cast()));
        };
        match (*plan).type_ {
            T_SubqueryScan => look_at_plan((*plan.cast::<pg_sys::SubqueryScan>()).subplan),
            T_Append => below((*plan.cast::<pg_sys::Append>()).appendplans),
            T_MergeAppend => below((*plan.cast::<pg_sys::MergeAppend>()).mergeplans),
            T_BitmapAnd => below((*plan.cast::<pg_sys::BitmapAnd>()).bitmapplans),
            T_BitmapOr => below((*plan.cast::<pg_sys::BitmapOr>()).bitmapplans),
            _ => {}
        }
        look_at_plan((*plan).lefttree);
        look_at_plan((*plan).righttree);
    }
}

/// Looks through the expressions that a node of a scan has beside those of each node; and says which nodes are known.
unsafe fn look_at_scan(plan: *const Plan) {
    use pg_sys::NodeTag::*;
    // SAFETY: a node of a plan; the tag tells the type.
    unsafe {
        macro_rules! of {
            ($node:ident: $($list:ident),+) => {{
                let node = plan.cast::<pg_sys::$node>();
                $(look_at((*node).$list.cast());)+
            }};
        }
        macro_rules! sorts {
            ($node:ident) => {{
                let node = &*plan.cast::<pg_sys::$node>();
                for place in 0..node.numCols as usize {
                    look_at_order(*node.sortOperators.add(place));
                }
            }};
        }
        macro_rules! groups {
            ($node:ident: $operators:ident) => {{
                let node = &*plan.cast::<pg_sys::$node>();
                for place in 0..node.numCols as usize {
                    look_at_equality(*node.$operators.add(place));
                }
            }};
        }
        match (*plan).type_ {
            T_Result => of!(Result: resconstantqual),
            T_IndexScan => of!(IndexScan: indexqualorig, indexorderbyorig),
            T_IndexOnlyScan => of!(IndexOnlyScan: indexqual, recheckqual, indexorderby),
            T_BitmapIndexScan => of!(BitmapIndexScan: indexqualorig),
            T_BitmapHeapScan => of!(BitmapHeapScan: bitmapqualorig),
            T_FunctionScan => of!(FunctionScan: functions),
            T_ValuesScan => of!(ValuesScan: values_lists),
            T_Memoize => of!(Memoize: param_exprs),
            T_Limit => of!(Limit: limitOffset, limitCount),
            T_Sort | T_IncrementalSort => sorts!(Sort),
            T_MergeAppend => sorts!(MergeAppend),
            T_Agg => groups!(Agg: grpOperators),
            T_Group => groups!(Group: grpOperators),
            T_Unique => groups!(Unique: uniqOperators),
            T_GatherMerge => sorts!(GatherMerge),
            T_WindowAgg => of!(WindowAgg: startOffset, endOffset, runCondition),
            T_NestLoop | T_MergeJoin | T_HashJoin => look_at_join(plan.cast()),
            T_ProjectSet | T_SeqScan | T_SubqueryScan | T_CteScan | T_WorkTableScan | T_Append
            | T_BitmapAnd | T_BitmapOr | T_RecursiveUnion | T_Material | T_SetOp | T_Hash | T_Gather => {}
            T_SampleScan => blame(Obstacle::Sample),
            T_LockRows | T_ModifyTable => blame(Obstacle::Writes),
            // By where a row lies.
            T_TidScan | T_TidRangeScan => blame(Obstacle::SystemColumn),
            // Of other servers, of an extension, of a later version; XMLTABLE and its like, which read texts as any type.
            _ => blame(Obstacle::Node),
        }
    }
}

unsafe fn look_at_join(join: *const pg_sys::Join) {
    use pg_sys::NodeTag::*;
    // SAFETY: a join of a plan; the tag tells the type.
    unsafe {
        look_at((*join).joinqual.cast());
        match (*join).plan.type_ {
            T_MergeJoin => look_at((*join.cast::<pg_sys::MergeJoin>()).mergeclauses.cast()),
            T_HashJoin => look_at((*join.cast::<pg_sys::HashJoin>()).hashclauses.cast()),
            _ => {
                let parameters = (*join.cast::<pg_sys::NestLoop>()).nestParams;
                for place in 0..list_length(parameters) {
                    look_at((*nth(parameters, place).cast::<pg_sys::NestLoopParam>()).paramval.cast());
                }
            }
        }
    }
}

/// Looks through an expression that this process computes without a plan's start.
///
/// # Safety
/// As for [`look`].
pub(super) unsafe fn look_at_expression(expression: *mut Node) {
    set_parallel(false);
    // SAFETY: by contract.
    unsafe { look_at(expression) };
}

/// Looks through an expression, or a list of them. Null is none.
unsafe fn look_at(expression: *mut Node) {
    // SAFETY: an expression of a plan.
    unsafe { look_below(expression, std::ptr::null_mut()) };
}

callback! {
    /// A walker of PostgreSQL's.
    unsafe fn look_below(node: *mut Node, context: *mut c_void) -> bool {
        use pg_sys::NodeTag::*;
        // SAFETY: null, or an expression of a plan; the tag tells the type.
        unsafe {
            if node.is_null() {
                return false;
            }
            look_at_arguments(node);
            match (*node).type_ {
                T_SortGroupClause => look_at_order((*node.cast::<pg_sys::SortGroupClause>()).sortop),
                T_Var if (*node.cast::<pg_sys::Var>()).varattno < 0 => blame(Obstacle::SystemColumn),
                // A text of one, without a zone, takes that of today, with its hour of summer.
                T_Const if (*node.cast::<pg_sys::Const>()).consttype == pg_sys::TIMETZOID => {
                    blame(Obstacle::Moment(pg_sys::TIMETZOID));
                }
                T_Aggref => look_at_aggregate((*node.cast::<pg_sys::Aggref>()).aggfnoid),
                T_WindowFunc => look_at_window((*node.cast::<pg_sys::WindowFunc>()).winfnoid),
                T_SQLValueFunction => look_at_value((*node.cast::<pg_sys::SQLValueFunction>()).op),
                T_NextValueExpr => blame(Obstacle::Volatile(Oid::from(NEXTVAL))),
                T_CoerceToDomain => {
                    let domain = (*node.cast::<pg_sys::CoerceToDomain>()).resulttype;
                    if pg_sys::DomainHasConstraints(domain) {
                        blame(Obstacle::Domain(domain));
                    }
                }
                T_CurrentOfExpr => blame(Obstacle::Node),
                // It reads texts as any type.
                tag if is_json_expression(tag) => blame(Obstacle::Node),
                _ => {
                    pg_sys::check_functions_in_node(node, Some(look_at_function), context);
                }
            }
            expression_tree_walker(node, Some(look_below), context)
        }
    }
}

/// `nextval(regclass)`.
const NEXTVAL: u32 = 1574;

callback! {
    unsafe fn look_at_function(function: Oid, _: *mut c_void) -> bool {
        // SAFETY: called by the walker, inside a guard and a transaction.
        if let Some(obstacle) = unsafe { obstacle_of(function) } {
            blame(obstacle);
        }
        false
    }
}

/// What an aggregate calls is not named in the plan. Ours are of their arguments alone.
fn look_at_aggregate(aggregate: Oid) {
    // SAFETY: a look-up inside a transaction.
    if is_users(aggregate) && !unsafe { is_ours(pg_sys::ProcedureRelationId, aggregate) } {
        blame(Obstacle::Aggregate(aggregate));
    }
}

fn look_at_window(function: Oid) {
    look_at_aggregate(function);
}

/// CURRENT_USER and its kin are those of the route; the others are the time.
fn look_at_value(operation: pg_sys::SQLValueFunctionOp::Type) {
    use pg_sys::SQLValueFunctionOp::*;
    let is_known = matches!(
        operation,
        SVFOP_CURRENT_ROLE
            | SVFOP_CURRENT_USER
            | SVFOP_USER
            | SVFOP_SESSION_USER
            | SVFOP_CURRENT_CATALOG
            | SVFOP_CURRENT_SCHEMA
    );
    if !is_known {
        blame(Obstacle::Time);
    }
}
