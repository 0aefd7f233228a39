//! A queue of messages has pgmq's names and answers as pgmq does.
//!
//! `pgmq/names.txt` has the functions and types of pgmq 1.13 that a queue has too. The long test fetches pgmq's SQL from
//! its Python package to check the list and to compare answers, so it needs pip and a network.

use cluster::postgres::Client;
use howdah_tests::queues::Queues;

/// Functions of pgmq with their arguments, and the attributes of its types.
const NAMES: &str = include_str!("pgmq/names.txt");

/// Those of the names that a schema lacks.
fn missing(session: &mut Client, schema: &str) -> Vec<&'static str> {
    let query = "select format('%s(%s)', proname, pg_get_function_arguments(oid))
        from pg_proc where pronamespace = $1::text::regnamespace
        union all
        select format('%s: %s', relname, string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum))
        from pg_class join pg_attribute on attrelid = pg_class.oid
        where relnamespace = $1::text::regnamespace and relkind = 'c' group by relname";
    let rows = session.query(query, &[&schema]).unwrap();
    let there: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    NAMES.lines().filter(|line| !there.iter().any(|name| name == line)).collect()
}

#[test]
fn functions_arguments_and_records_are_named_as_in_pgmq() {
    assert_eq!(missing(&mut Queues::start().session(), "queue"), [""; 0]);
}

#[cfg(feature = "long")]
mod beside_pgmq {
    use std::process::Command;

    use cluster::postgres::{Client, SimpleQueryMessage};
    use howdah_tests::queues::Queues;

    /// The Python package that has the SQL of pgmq 1.13.
    const PACKAGE: &str = "pgmq==1.1.4";

    /// Statements whose answers must be the same; S is the schema.
    const STATEMENTS: &[&str] = &[
        "select S.create('cmp')",
        "select S.send('cmp', '{\"a\":1}')",
        "select * from S.send('cmp', '{\"a\":2}', '{\"h\":1}'::jsonb)",
        "select * from S.send('cmp', '{\"a\":3}', 1)",
        "select * from S.send('cmp', '{\"a\":4}', '{\"h\":2}'::jsonb, 0)",
        "select * from S.send('cmp', '{\"a\":5}', now() - interval '1 s')",
        "select * from S.send_batch('cmp', array['{\"b\":1}','{\"b\":2}']::jsonb[])",
        "select * from S.send_batch('cmp', array['{\"b\":3}','{\"b\":4}']::jsonb[], array['{\"h\":3}', null]::jsonb[])",
        "select * from S.send_batch('cmp', array['{\"b\":5}']::jsonb[], 0)",
        "select * from S.send_batch('cmp', array[]::jsonb[])",
        "select * from S.send_batch('cmp', array['{\"b\":3}']::jsonb[], array['{\"h\":3}','{\"h\":3}']::jsonb[])",
        "select msg_id, read_ct, last_read_at is not null, vt > clock_timestamp(), message, headers from S.read('cmp', 30, 2)",
        "select msg_id, read_ct, last_read_at is not null, vt > clock_timestamp(), message, headers from S.read(queue_name => 'cmp', vt => 30, qty => 2, conditional => '{\"b\":2}')",
        "select msg_id, read_ct, vt > clock_timestamp() + interval '20 s' from S.set_vt('cmp', 1, 25)",
        "select msg_id, read_ct from S.set_vt('cmp', array[1, 2, 99]::bigint[], 0) order by 1",
        "select msg_id, read_ct, message from S.read('cmp', 0, 1)",
        "select msg_id, read_ct, message from S.read('cmp', 0, 1)",
        "select S.delete('cmp', 1), S.delete('cmp', 1)",
        "select * from S.delete('cmp', array[4, 5, 77]::bigint[])",
        "select S.archive('cmp', 6), S.archive('cmp', 6)",
        "select * from S.archive('cmp', array[7, 77]::bigint[])",
        "select msg_id, read_ct, message, headers from S.a_cmp order by 1",
        "select msg_id, read_ct, message, headers, last_read_at is null from S.pop('cmp')",
        "select msg_id, read_ct, message, headers from S.pop('cmp', 2)",
        "select queue_name, queue_length, total_messages, queue_visible_length, default_partition_length from S.metrics('cmp')",
        "select pg_sleep(1.1)",
        "select msg_id, read_ct, message from S.pop('cmp', 100)",
        "select msg_id from S.pop('cmp', 100)",
        "select msg_id from S.read_with_poll('cmp', 5, 1, 1, 100)",
        "select S.send('cmp', null)",
        "select msg_id, message is null from S.read('cmp', 5, 5)",
        "select S.purge_queue('cmp')",
        "select queue_name, queue_length, total_messages from S.metrics_all() where queue_name = 'cmp'",
        "select queue_name, is_partitioned, is_unlogged from S.list_queues() where queue_name = 'cmp'",
        "select S.drop_queue('cmp'), S.drop_queue('cmp')",
    ];

    /// The rows of a statement as text, or its error.
    fn answer(session: &mut Client, statement: &str) -> String {
        match session.simple_query(statement) {
            Ok(messages) => messages.iter().filter_map(row).collect::<Vec<_>>().join("\n"),
            Err(error) => error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_default(),
        }
    }

    fn row(message: &SimpleQueryMessage) -> Option<String> {
        let SimpleQueryMessage::Row(row) = message else { return None };
        Some((0..row.len()).map(|column| row.get(column).unwrap_or("null")).collect::<Vec<_>>().join("|"))
    }

    /// pgmq's SQL.
    fn pgmq() -> String {
        let folder = tempfile::tempdir().unwrap();
        let script = "import glob, subprocess, sys, zipfile
subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', sys.argv[1], sys.argv[2]], check=True)
print(zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0]).read('pgmq/sql/pgmq.sql').decode())";
        let output =
            Command::new("python3").args(["-c", script]).arg(folder.path()).arg(PACKAGE).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn every_answer_is_the_same() {
        let queues = Queues::start();
        queues.sql("create schema pgmq");
        queues.sql(&pgmq());
        assert_eq!(super::missing(&mut queues.session(), "pgmq"), [""; 0], "the list is not pgmq's");
        let (mut ours, mut theirs) = (queues.session(), queues.session());
        for statement in STATEMENTS {
            let [own, other] = ["queue.", "pgmq."].map(|schema| statement.replace("S.", schema));
            // The name of the schema is all that errors may differ in.
            let own = answer(&mut ours, &own).replace("queue.", "pgmq.");
            assert_eq!(own, answer(&mut theirs, &other), "{statement}");
        }
    }
}
