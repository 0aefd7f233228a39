//! Other databases come and go beside workers that sleep.

use std::time::Instant;

use howdah_tests::Platform;
use howdah_tests::bounds;

#[test]
fn idle_workers_delay_no_command_on_another_database() {
    let platform = Platform::start();
    let mut postgres = platform.cluster.connect("postgres").unwrap();
    // The first copy reads the template from the disk.
    postgres.batch_execute("create database other").unwrap();
    postgres.batch_execute("drop database other").unwrap();
    for _ in 0..200 {
        for command in ["create database other", "drop database other"] {
            let begin = Instant::now();
            postgres.batch_execute(command).unwrap();
            let took = begin.elapsed();
            bounds::DATABASE_AMONG_MANY.check(took);
        }
    }
}
