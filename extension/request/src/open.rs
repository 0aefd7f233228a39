//! Plans that stay open while requests share a transaction.
//!
//! Starting and ending PostgreSQL's executor costs more than a point lookup itself. Within one transaction and
//! snapshot a plan is started once and, for each further request, rescanned with that request's parameters.
//!
//! A rescan keeps what it believes unchanged: the rows of a Sort, the result of an initplan. It looks at
//! `chgParam`, which says which parameters of the executor's own have changed, and knows nothing of parameters
//! from outside. So every node is told that something has changed. Plans with initplans below their root, and nodes that look at something else, or were
//! pruned by the first request's parameters when they started, are not on the list of [`can_be_rescanned`]:
//! these plans are started anew for each request. What is computed anew for other parameters is so for whatever returns another value
//! each time.

use std::ffi::c_int;

use pg::list::{list_length, nth};
use pg::{log_line, version};
use pgrx::pg_sys;

use super::called::Called;
use super::execute::{cached_plan, executor_run};
use super::grants;
use super::plan::Plan;
use super::receiver::Receiver;

/// Nodes of a plan that is kept open; larger plans are started anew, which costs them little.
const MOST_NODES: usize = 32;
/// Plans that are kept open at a time.
const MOST_PLANS: usize = 16;

/// The plans that are open in the shared transaction. Their memory is the transaction's.
#[derive(Default)]
pub(crate) struct OpenPlans {
    plans: Vec<OpenPlan>,
}

/// A plan that the executor has started.
#[derive(Clone, Copy)]
pub(crate) struct OpenPlan {
    source: *mut pg_sys::CachedPlanSource,
    generation: c_int,
    cached: *mut pg_sys::CachedPlan,
    owner: pg_sys::ResourceOwner,
    description: *mut pg_sys::QueryDesc,
    nodes: [*mut pg_sys::PlanState; MOST_NODES],
    count: usize,
    /// The root's initplans: subqueries that are computed once.
    initplans: *mut pg_sys::List,
}

impl OpenPlans {
    fn place(&self, plan: &Plan) -> Option<usize> {
        // SAFETY: a saved plan. The address of a source that was dropped may come again; that of the plan, which is
        // held, cannot.
        let (source, generation, cached) =
            unsafe { (plan.source, (*plan.source).generation, (*plan.source).gplan) };
        self.plans
            .iter()
            .position(|open| open.source == source && open.generation == generation && open.cached == cached)
    }

    /// Runs a plan for one request: rescans it if it is open, starts it otherwise, and keeps it if it can be
    /// rescanned. `parameters` are copied into the plan's own list.
    ///
    /// # Safety
    /// Inside a guard and the shared transaction, as the endpoint's role. The receiver stays where it is as long
    /// as the transaction.
    pub(crate) unsafe fn run(
        &mut self,
        plan: &Plan,
        called: Option<Called>,
        parameters: pg_sys::ParamListInfo,
        receiver: &mut Receiver,
    ) {
        // SAFETY: by contract; nothing here owns memory while PostgreSQL is called.
        unsafe {
            if let Some(place) = self.place(plan) {
                let open = &self.plans[place];
                take_parameters((*open.description).params, parameters);
                open.rewind();
                executor_run(open.description, plan, false);
                return;
            }
            let open = OpenPlan::start(plan, called, parameters, receiver);
            executor_run(open.description, plan, false);
            if open.count > 0 && self.plans.len() < MOST_PLANS {
                log_line::debug!("howdah keeps a plan of {} nodes open", open.count);
                self.plans.push(open);
            } else {
                open.end();
            }
        }
    }

    /// Ends all, before the transaction is committed.
    ///
    /// # Safety
    /// Inside a guard and the transaction.
    pub(crate) unsafe fn end(&mut self) {
        while let Some(open) = self.plans.pop() {
            // SAFETY: by contract.
            unsafe { open.end() };
        }
    }

    /// Forgets all, after the transaction was aborted and has taken them with it.
    pub(crate) fn forget(&mut self) {
        self.plans.clear();
    }
}

impl OpenPlan {
    unsafe fn start(
        plan: &Plan,
        called: Option<Called>,
        parameters: pg_sys::ParamListInfo,
        receiver: &mut Receiver,
    ) -> OpenPlan {
        // SAFETY: the contract of `OpenPlans::run`. What outlives the request is allocated for the transaction.
        unsafe {
            let memory = pg_sys::CurrentMemoryContext;
            pg_sys::CurrentMemoryContext = pg_sys::TopTransactionContext;
            let owner = pg_sys::CurrentResourceOwner;
            let own = pg::makeParamList((*parameters).numParams);
            (*own).paramFetch = (*parameters).paramFetch;
            take_parameters(own, parameters);
            let cached = cached_plan(plan, called, own);
            let generic = cached == (*plan.source).gplan;
            let description = pg::CreateQueryDesc(
                nth((*cached).stmt_list, 0).cast(),
                (*plan.source).query_string,
                pg::GetActiveSnapshot(),
                std::ptr::null_mut(),
                receiver.as_destination(),
                own,
                std::ptr::null_mut(),
                0,
            );
            pg::ExecutorStart(description, 0);
            let mut open = OpenPlan {
                source: plan.source,
                generation: (*plan.source).generation,
                cached,
                owner,
                description,
                nodes: [std::ptr::null_mut(); MOST_NODES],
                count: 0,
                initplans: (*(*description).planstate).initPlan,
            };
            let root = (*description).planstate;
            let end = pg_sys::ExecutorEnd_hook;
            let observed = grants::others_watch() || end.is_some();
            if observed || !generic || !open.collect_subplans(open.initplans) || !open.collect(root) {
                open.count = 0;
            }
            pg_sys::CurrentMemoryContext = memory;
            open
        }
    }

    /// Notes all nodes; false if there are too many, or one that cannot be rescanned.
    unsafe fn collect(&mut self, node: *mut pg_sys::PlanState) -> bool {
        // SAFETY: a node of a started plan, or null.
        unsafe {
            if node.is_null() {
                return true;
            }
            if self.count == MOST_NODES || !can_be_rescanned(node) {
                return false;
            }
            let root = node == (*self.description).planstate;
            if !(*node).initPlan.is_null() && !root {
                return false;
            }
            self.nodes[self.count] = node;
            self.count += 1;
            self.collect((*node).lefttree)
                && self.collect((*node).righttree)
                && self.collect_subplans((*node).subPlan)
                && self.collect_members(node)
        }
    }

    unsafe fn collect_subplans(&mut self, list: *const pg_sys::List) -> bool {
        // SAFETY: a list of SubPlanState.
        unsafe {
            (0..list_length(list))
                .all(|place| self.collect((*nth(list, place).cast::<pg_sys::SubPlanState>()).planstate))
        }
    }

    /// The children that are neither left nor right.
    unsafe fn collect_members(&mut self, node: *mut pg_sys::PlanState) -> bool {
        // SAFETY: the tag tells the type.
        unsafe {
            match (*(*node).plan).type_ {
                pg_sys::NodeTag::T_Append => {
                    let append = &*node.cast::<pg_sys::AppendState>();
                    (0..append.as_nplans as usize).all(|place| self.collect(*append.appendplans.add(place)))
                }
                pg_sys::NodeTag::T_SubqueryScan => {
                    self.collect((*node.cast::<pg_sys::SubqueryScanState>()).subplan)
                }
                _ => true,
            }
        }
    }

    unsafe fn rewind(&self) {
        // SAFETY: the nodes of this plan, which is open. The executor frees the set with its own rescan.
        unsafe {
            let memory = pg_sys::CurrentMemoryContext;
            pg_sys::CurrentMemoryContext = (*(*self.description).estate).es_query_cxt;
            for &node in &self.nodes[..self.count] {
                if (*node).chgParam.is_null() {
                    (*node).chgParam = pg::bms_make_singleton(0);
                }
            }
            self.rewind_initplans();
            pg::ExecutorRewind(self.description);
            pg_sys::CurrentMemoryContext = memory;
        }
    }

    /// Has the initplans computed again when they are asked for. PostgreSQL does so only for those that depend
    /// on parameters of the executor's own. In the order of the list, in which one may use those before it; and
    /// before the root is rewound, which may ask for them.
    unsafe fn rewind_initplans(&self) {
        // SAFETY: the root's list of SubPlanState.
        unsafe {
            let values = (*(*self.description).estate).es_param_exec_vals;
            for place in 0..list_length(self.initplans) {
                let initplan = nth(self.initplans, place).cast::<pg_sys::SubPlanState>();
                let targets = (*(*initplan).subplan).setParam;
                for target in 0..list_length(targets) {
                    let number = (*(*targets).elements.add(target)).int_value;
                    (*values.add(number as usize)).execPlan = initplan.cast();
                }
            }
            for place in 0..list_length(self.initplans) {
                let initplan = nth(self.initplans, place).cast::<pg_sys::SubPlanState>();
                pg::ExecReScan((*initplan).planstate);
            }
        }
    }

    unsafe fn end(&self) {
        // SAFETY: the plan is open.
        unsafe {
            pg::ExecutorFinish(self.description);
            pg::ExecutorEnd(self.description);
            pg::FreeQueryDesc(self.description);
            pg::ReleaseCachedPlan(self.cached, self.owner);
        }
    }
}

/// Whether a node gives the rows of the new parameters when it is rescanned with a changed parameter. Checked
/// against the ExecReScan function of each.
unsafe fn can_be_rescanned(node: *const pg_sys::PlanState) -> bool {
    use pg_sys::NodeTag::*;
    // SAFETY: a node of a started plan; the tag tells the type.
    unsafe {
        let plan = (*node).plan;
        match (*plan).type_ {
            T_Result | T_Limit | T_SeqScan | T_IndexScan | T_IndexOnlyScan | T_BitmapIndexScan
            | T_BitmapHeapScan | T_TidScan | T_NestLoop | T_MergeJoin | T_HashJoin | T_Hash | T_Sort
            | T_Material | T_Agg | T_Group | T_Unique | T_SubqueryScan | T_ValuesScan | T_ProjectSet => true,
            // Pruned at its start by the parameters from outside.
            T_Append => version::prunes_nothing(&*plan.cast()),
            // FunctionScan and Memoize look at parameters of the executor alone; the rest is rare, foreign,
            // parallel, or writes.
            _ => false,
        }
    }
}

/// Gives an open plan the values of a request.
unsafe fn take_parameters(own: pg_sys::ParamListInfo, given: pg_sys::ParamListInfo) {
    // SAFETY: two lists of the same length; a list with a fetch function has its values there.
    unsafe {
        (*own).paramFetchArg = (*given).paramFetchArg;
        if (*given).paramFetch.is_none() {
            let count = (*given).numParams as usize;
            std::ptr::copy_nonoverlapping((*given).params.as_ptr(), (*own).params.as_mut_ptr(), count);
        }
    }
}
