//! Listeners for lines do not wait for each other.

use std::net::TcpStream;

use howdah_tests::shippers::{Intake, Shipper, bips};
use howdah_tests::{free_port, wait_for};
use serde_json::json;

/// Makes `count` tables whose trigger waits until there is a row in `go`, each with a listener. Their ports.
fn stuck_listeners(count: usize, intake: &Intake) -> Vec<u16> {
    intake.platform.sql(
        "create table go (); grant select on go to public;
         create function wait() returns trigger language plpgsql as $$
         begin
           perform pg_advisory_xact_lock_shared(1);
           while not exists (select from go) loop perform pg_sleep(0.01); end loop;
           return new;
         end $$",
    );
    let ports = (0..count).map(|number| {
        let port = free_port();
        intake.platform.sql(&format!(
            "create table stuck{number} (userid bigint, bip text);
             create trigger wait before insert on stuck{number} for each row execute function wait();
             grant insert on stuck{number} to howdah_web;
             select queue.listen({port}, into_table => 'stuck{number}', address => '127.0.0.1')"
        ));
        port
    });
    let ports: Vec<u16> = ports.collect();
    for port in &ports {
        let bound = format!("select bound from queue.listeners where port = {port}");
        wait_for("the port takes lines", || intake.platform.value(&bound).is_some());
    }
    ports
}

fn producer(port: u16, name: &str) -> Shipper {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    Shipper::greet(stream, json!({"producer": name, "v": 1})).expect("a hello")
}

/// With so many executors held by the first listener that is stuck, the first two, and so on.
fn listeners_do_not_wait_for(held: &[usize], settings: &[(&str, &str)]) {
    let stuck = held.len();
    let intake = Intake::with(settings, "");
    let ports = stuck_listeners(stuck, &intake);
    let producers = |&port: &u16| (0..8).map(|name| producer(port, &format!("p{name}"))).collect();
    let mut slow: Vec<Vec<Shipper>> = ports.iter().map(producers).collect();
    for (number, shippers) in slow.iter_mut().enumerate() {
        for shipper in shippers {
            shipper.send(&bips(1, 10));
        }
        wait_for("its buckets wait", || {
            let held_by = "select count(*) from pg_locks where locktype = 'advisory' and mode = 'ShareLock'";
            intake.platform.value(held_by).unwrap().parse::<usize>().unwrap() == held[number]
        });
    }
    for port in &ports {
        let received = format!("select received from queue.listeners where port = {port}");
        wait_for("all lines are read", || intake.platform.value(&received).as_deref() == Some("80"));
    }
    let mut quick = producer(intake.lines, "quick");
    for number in 1..=5 {
        quick.send(&bips(number, number));
        quick.wait_for_ack(number);
    }
    assert_eq!(intake.rows(), 5);
    for number in 0..stuck {
        assert_eq!(intake.platform.count(&format!("stuck{number}")), 0, "they still wait");
    }
    intake.platform.sql("insert into go default values");
    slow.iter_mut().flatten().for_each(|shipper| drop(shipper.wait_for_ack(10)));
    for number in 0..stuck {
        assert_eq!(intake.platform.count(&format!("stuck{number}")), 80);
    }
}

#[test]
fn a_listener_does_not_wait_for_a_slow_one() {
    listeners_do_not_wait_for(&[4], &[]);
}

#[test]
fn a_listener_does_not_wait_for_several_slow_ones_with_one_executor_allowed() {
    listeners_do_not_wait_for(&[1, 2, 3], &[("howdah.max_ingest_executors", "1")]);
}
