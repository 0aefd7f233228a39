//! Lines over TCP that do harm where they are written: they take too much memory, or end the process. They are found, and no
//! other line waits for them.

use std::io::Write;
use std::time::Duration;

use howdah_tests::shippers::{Intake, bips};
use howdah_tests::{free_port, wait_for};

/// A table whose trigger takes memory for the line of userid 13 and ends its process for that of userid 14.
const HARM: &str = "
    create table harmed (userid bigint, bip text);
    grant insert on harmed to howdah_web;
    create function harm() returns trigger language plpgsql security definer as $$
      begin
        if new.userid = 13 then
          perform length(string_agg(repeat('x', 1000000), '')) from generate_series(1, 500);
        elsif new.userid = 14 then
          perform pg_terminate_backend(pg_backend_pid());
          perform pg_sleep(10);
        end if;
        return new;
      end $$;
    create trigger harm before insert on harmed for each row execute function harm()";

/// A listener for the table.
fn start(arguments: &str) -> Intake {
    let intake = Intake::with(&[("howdah.handler_memory", "64MB")], "");
    intake.platform.sql(HARM);
    let intake = Intake { lines: free_port(), ..intake };
    let port = intake.lines;
    intake.platform.sql(&format!(
        "select queue.listen({port}, into_table => 'harmed', address => '127.0.0.1' {arguments})"
    ));
    intake.wait_until_bound();
    intake
}

/// The SQLSTATEs and userids of the dead letters of the table.
fn letters(intake: &Intake) -> String {
    let query =
        "select coalesce(string_agg(sqlstate || ' ' || (convert_from(line, 'utf8')::json ->> 'userid'), ', '
                   order by line), '') from queue.dead_letter where line is not null";
    intake.platform.value(query).unwrap()
}

#[test]
fn a_line_that_takes_too_much_memory_or_ends_its_process_is_a_dead_letter_and_no_other_waits() {
    let intake = start("");
    // Between others, and alone.
    let mut plain = intake.connect();
    plain.write_all(&bips(1, 40)).unwrap();
    wait_for("the other lines are stored", || intake.platform.count("harmed") == 38);
    wait_for("the view says so", || intake.view("failing").as_deref() == Some("f"));
    assert_eq!(letters(&intake), "53200 13, 57P01 14");
    wait_for("they are counted", || intake.view("rejected").as_deref() == Some("2"));
    for userid in [13, 14] {
        plain.write_all(&bips(userid, userid)).unwrap();
        wait_for("the line is refused", || intake.view("rejected").unwrap() == (userid - 10).to_string());
    }
    plain.write_all(&bips(41, 42)).unwrap();
    wait_for("lines are stored", || intake.platform.count("harmed") == 40);
}

#[test]
fn a_producer_hears_which_of_its_lines_did_harm() {
    let intake = start("");
    let mut shipper = intake.hello("p", 1);
    shipper.socket().set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    shipper.send(&bips(1, 20));
    let rejected: Vec<_> = shipper
        .wait_for_ack(20)
        .iter()
        .map(|line| {
            (line["$reject"]["sequence"].as_i64(), line["$reject"]["code"].as_str().map(str::to_owned))
        })
        .collect();
    assert_eq!(rejected, [(Some(13), Some("53200".to_owned())), (Some(14), Some("57P01".to_owned()))]);
    assert_eq!(intake.platform.count("harmed"), 18);
    assert_eq!(intake.hello("p", 1).sequence(), 20);
    shipper.send(&bips(21, 22));
    assert!(shipper.wait_for_ack(22).is_empty());
}

#[test]
fn lines_that_take_too_much_memory_together_are_stored_in_parts() {
    // The memory of a zone that clients make up stays taken for as long as the process lives: each trial has a new one.
    let intake = Intake::with(&[("howdah.handler_memory", "32MB"), ("howdah.kept_memory", "16MB")], "");
    intake.platform.sql(
        "create table seen (userid bigint, a timestamptz, b timestamptz, c timestamptz, d timestamptz);
         grant insert on seen to howdah_web",
    );
    let port = free_port();
    intake
        .platform
        .sql(&format!("select queue.listen({port}, into_table => 'seen', address => '127.0.0.1')"));
    let intake = Intake { lines: port, ..intake };
    intake.wait_until_bound();
    let zone = |mut number: u32| {
        let mut name = String::from("Q");
        for _ in 0..6 {
            name.push(char::from(b'a' + (number % 26) as u8));
            number /= 26;
        }
        name
    };
    let lines: String = (0..2000_u32)
        .map(|id| {
            let times: Vec<_> = ["a", "b", "c", "d"]
                .iter()
                .zip(id * 4..)
                .map(|(column, number)| format!("\"{column}\":\"2020-01-01 00:00 {}+3\"", zone(number)))
                .collect();
            format!("{{\"userid\":{id},{}}}\n", times.join(","))
        })
        .collect();
    let mut stream = intake.connect();
    stream.write_all(lines.as_bytes()).unwrap();
    wait_for("all lines are stored", || intake.platform.count("seen") == 2000);
    wait_for("they have been too much together", || intake.view("code").as_deref() == Some("53200"));
    assert_eq!(letters(&intake), "");
}
