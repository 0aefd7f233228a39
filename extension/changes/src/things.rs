//! What a transaction has changed, as things that have counters.
//!
//! A relation is a thing of its own. All that names, types and rights can mean is one thing for each database, and one for what databases
//! share: roles, their memberships and settings. Each answer depends on these two.

use pg::out_of_memory::may_fail;
use pg::table_counts::{Changed, ChangedTable};
use pgrx::pg_sys::{self, Oid};
use registry::commits::{Commits, Thing};

use crate::faults;
use crate::memory::commits;

/// Catalogs in which nothing is named or allowed: statistics, large objects, comments, what depends on what. They are relations like a user's.
const OF_NO_MEANING: [u32; 12] = [
    2619, // pg_statistic
    3429, // pg_statistic_ext_data
    2613, // pg_largeobject
    2608, // pg_depend
    1214, // pg_shdepend
    2609, // pg_description
    2396, // pg_shdescription
    6000, // pg_replication_origin
    // Their large values.
    2840, // pg_toast_2619
    3430, // pg_toast_3429
    2834, // pg_toast_2609
    2846, // pg_toast_2396
];

/// A relation of this process's database. Of a partitioned table each partition is one.
pub fn relation(relation: Oid) -> Thing {
    // SAFETY: compares a number.
    of(commits(), relation, unsafe { pg_sys::IsSharedRelation(relation) })
}

/// All that names, types and rights mean: in this process's database, and in all.
pub fn of_catalogs() -> [Thing; 2] {
    [database(false), database(true)].map(|database| commits().thing((database, 0)))
}

fn of(commits: &Commits, relation: Oid, is_shared: bool) -> Thing {
    commits.thing((database(is_shared), if has_meaning(relation) { 0 } else { relation.to_u32() }))
}

/// The database's number; 0 for what all share.
fn database(is_shared: bool) -> u32 {
    // SAFETY: PostgreSQL's own variable.
    if is_shared { 0 } else { unsafe { pg_sys::MyDatabaseId }.to_u32() }
}

/// Whether this is a catalog of which nobody keeps anything.
pub(crate) fn means_nothing(catalog: u32) -> bool {
    OF_NO_MEANING.contains(&catalog)
}

fn has_meaning(relation: Oid) -> bool {
    relation.to_u32() < pg_sys::FirstNormalObjectId && !means_nothing(relation.to_u32())
}

/// The things of tables that a transaction has changed, each once; none if there is no memory for them. `is_private` says that it has changed a
/// catalog for nobody else.
pub(crate) fn collect(
    changed: Changed,
    commits: &Commits,
    is_private: impl Fn(Oid) -> bool,
    mut things: Vec<Thing>,
) -> Option<Vec<Thing>> {
    things.clear();
    for ChangedTable { table, is_shared, how, .. } in changed {
        if has_meaning(table) && is_private(table) || faults::misses(has_meaning(table), how) {
            continue;
        }
        let thing = of(commits, table, is_shared);
        // Catalogs mostly come in a row.
        if things.last() == Some(&thing) {
            continue;
        }
        may_fail(|| things.try_reserve(1)).ok()?;
        things.push(thing);
    }
    things.sort_unstable();
    things.dedup();
    Some(things)
}
