//! Says what a command waits for that does not go on: commits that wait for a standby.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use cluster::postgres::{Client, NoTls};

use crate::screen::say;

/// How long a command may go on before it is looked what it waits for, and then again.
const LOOK: Duration = Duration::from_secs(2);

/// Does some work in sessions of this command, in a server to which this is a connection; says so once if a commit of theirs waits for a standby.
pub(crate) fn explained<T>(connection: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (ends, is_over) = channel::<()>();
        scope.spawn(move || {
            while is_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Some(names) = awaited(connection) {
                    say(&format!(
                        "A commit waits for a synchronous standby: synchronous_standby_names is '{names}', and none has confirmed it. \
                         It goes on when one comes, or when the setting asks for none."
                    ));
                    return;
                }
            }
        });
        let result = work();
        drop(ends);
        result
    })
}

/// The standbys that a commit of a session of this command's waits for; none if none does, or nobody can ask.
fn awaited(connection: &str) -> Option<String> {
    let mut client = Client::connect(connection, NoTls).ok()?;
    let query =
        "select pg_catalog.current_setting('synchronous_standby_names') from pg_catalog.pg_stat_activity
                 where wait_event = 'SyncRep' and application_name = 'howdah' limit 1";
    client.query_opt(query, &[]).ok()??.try_get(0).ok()
}
