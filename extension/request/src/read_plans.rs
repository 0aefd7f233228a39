//! What a plan reads, and what in it changes without a commit.
//!
//! A plan is looked through as a whole, whatever of it runs. A kind of node that is not named here is an obstacle: what a later
//! version has of new ones cannot be known.

use std::cell::Cell;
use std::ffi::{CStr, c_void};

use pg::catalog::is_users;
use pg::entry::callback;
use pg::list::{list_length, nth};
use pg::version::{expression_tree_walker, is_json_expression};
use pgrx::pg_sys::{self, List, Node, Oid, Plan};

use super::effects::is_ours;
use super::read_functions;
use super::read_types::{look_at_arguments, look_at_equality, look_at_order};
use super::reads::{Obstacle, blame, note};

/// Functions of PostgreSQL's that are declared STABLE because they depend on settings, on catalogs or on functions of their arguments' types, and
/// on nothing else: output functions, JSON, text search, zones that do not ask for the time, rights, enums.
#[rustfmt::skip]
const LISTED: [u32; 224] = [
    45, 89, 384, 395, 710, 745, 746, 751, 810, 861, 887, 939, 1039, 1081, 1085, 1151, 1160, 1161, 1171, 1174, 1176,
    1178, 1189, 1190, 1217, 1284, 1285, 1290, 1305, 1306, 1307, 1313, 1388, 1402, 1619, 1713, 1714, 1717, 1768, 1770,
    1772, 1773, 1774, 1775, 1776, 1777, 1778, 1780, 1813, 1922, 1923, 1924, 1925, 1926, 1927, 2003, 2004, 2019, 2027,
    2028, 2049, 2077, 2181, 2182, 2183, 2184, 2185, 2186, 2213, 2215, 2217, 2219, 2221, 2250, 2251, 2252, 2253, 2254,
    2255, 2256, 2257, 2258, 2259, 2260, 2261, 2268, 2269, 2270, 2271, 2272, 2273, 2291, 2297, 2351, 2352, 2353, 2354,
    2355, 2356, 2357, 2377, 2378, 2379, 2380, 2381, 2382, 2383, 2520, 2521, 2522, 2523, 2524, 2525, 2526, 2527, 2528,
    2529, 2530, 2531, 2532, 2533, 2549, 2705, 2706, 2707, 2708, 2709, 2710, 3012, 3013, 3014, 3015, 3016, 3017, 3018,
    3019, 3020, 3021, 3022, 3023, 3024, 3025, 3026, 3027, 3028, 3029, 3058, 3059, 3138, 3139, 3140, 3141, 3142, 3143,
    3153, 3154, 3155, 3156, 3173, 3175, 3176, 3180, 3197, 3198, 3199, 3200, 3201, 3265, 3266, 3267, 3268, 3269, 3271,
    3272, 3273, 3274, 3294, 3298, 3299, 3462, 3463, 3505, 3506, 3507, 3528, 3529, 3530, 3531, 3539, 3540, 3736, 3737,
    3749, 3750, 3751, 3754, 3755, 3759, 3760, 3761, 3772, 3787, 3811, 3812, 3823, 3824, 3833, 3835, 4085, 4092, 4135,
    4203, 4204, 4207, 4208, 4209, 4210, 4213, 4215, 4230, 4232, 5001, 5009, 6203,
];

thread_local! {
    /// Whether a part of the plan that is looked at runs in other processes, whose plans tell nothing here.
    static IS_PARALLEL: Cell<bool> = const { Cell::new(false) };
}

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
        IS_PARALLEL.set((*statement).parallelModeNeeded);
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
    IS_PARALLEL.set(false);
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

/// Why what a function gives is not known to hold; none if it is, or if the function tells what it reads when it runs.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind.
pub(super) unsafe fn obstacle_of(function: Oid) -> Option<Obstacle> {
    // SAFETY: by contract.
    unsafe {
        match pg_sys::func_volatile(function) as u8 {
            // It is taken at its word.
            pg_sys::PROVOLATILE_IMMUTABLE => None,
            pg_sys::PROVOLATILE_STABLE if !is_users(function) => {
                (!is_listed(function)).then_some(Obstacle::Stable(function))
            }
            // It notes what it takes, or takes of path and query string alone.
            pg_sys::PROVOLATILE_STABLE if is_of_request(function) => None,
            pg_sys::PROVOLATILE_STABLE if !IS_PARALLEL.get() && tells(function) => None,
            pg_sys::PROVOLATILE_STABLE => Some(Obstacle::Closed(function)),
            _ => Some(Obstacle::Volatile(function)),
        }
    }
}

/// Whether a function tells what it reads: in SQL by its plans when they start, in PL/pgSQL also by its end.
unsafe fn tells(function: Oid) -> bool {
    // SAFETY: the caller's contract.
    unsafe {
        let language = language_of(function);
        language.to_u32() == SQL || is_plpgsql(language) && read_functions::will_tell(function)
    }
}

/// `SQLlanguageId` of catalog/pg_language_d.h.
const SQL: u32 = 14;

unsafe fn is_plpgsql(language: Oid) -> bool {
    // SAFETY: a look-up inside a transaction; null if it has gone.
    let name = unsafe { pg_sys::get_language_name(language, true) };
    // SAFETY: a name.
    !name.is_null() && unsafe { CStr::from_ptr(name) } == c"plpgsql"
}

/// Whether a function is one of ours that takes a part of the request.
unsafe fn is_of_request(function: Oid) -> bool {
    const NAMES: [&CStr; 6] =
        [c"header_value", c"cookie", c"query_value", c"query_values", c"path_value", c"is_given"];
    // SAFETY: look-ups inside a transaction; null if it has gone.
    unsafe {
        let name = pg_sys::get_func_name(function);
        !name.is_null()
            && NAMES.contains(&CStr::from_ptr(name))
            && is_ours(pg_sys::ProcedureRelationId, function)
    }
}

/// Whether a function of a type's gives the same for the same, as long as no commit changes settings or catalogs.
///
/// # Safety
/// Inside a guard and a transaction.
pub(super) unsafe fn is_fixed(function: Oid) -> bool {
    // SAFETY: by contract.
    unsafe { pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_IMMUTABLE || is_listed(function) }
}

fn is_listed(function: Oid) -> bool {
    LISTED.binary_search(&function.to_u32()).is_ok()
}

/// Of a function; invalid if it has gone.
unsafe fn language_of(function: Oid) -> Oid {
    const FUNCTIONS: i32 = pg_sys::SysCacheIdentifier::PROCOID as i32;
    // SAFETY: a look-up inside a transaction.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(FUNCTIONS, function.into());
        if tuple.is_null() {
            return Oid::INVALID;
        }
        let language = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>()).prolang;
        pg_sys::ReleaseSysCache(tuple);
        language
    }
}

/// What an aggregate calls is not named in the plan.
fn look_at_aggregate(aggregate: Oid) {
    if is_users(aggregate) {
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
