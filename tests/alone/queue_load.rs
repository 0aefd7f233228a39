//! Files are loaded into a queue, each line exactly once, however often the server or the loader is killed.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bips::Bips;
use cluster::Life;
use howdah_tests::shippers::Intake;
use howdah_tests::wait_for;
use loader::{Error, Event, Options, Source, Summary};

const KILLS: usize = if cfg!(feature = "long") { 200 } else { 10 };
/// Lines of a file during whose loading something is killed.
const RECORDS: usize = if cfg!(feature = "long") { 1_000_000 } else { 200_000 };

fn options(intake: &Intake, producer: &str) -> Options {
    Options {
        to: format!("127.0.0.1:{}", intake.lines),
        queue: Some("bips".into()),
        producer: producer.into(),
        former_producers: Vec::new(),
        epoch: 1,
        token: None,
        window: 20_000,
        patience: Duration::from_secs(60),
    }
}

struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn of(bytes: &[u8]) -> Self {
        let file = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn of_records(count: usize) -> Self {
        let mut lines = Vec::new();
        let mut bips = Bips::new(5);
        (0..count).for_each(|_| bips.append(&mut lines));
        Self::of(&lines)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("bips.ndjson")
    }

    fn load(&self, options: &Options) -> Result<Summary, Error> {
        loader::load(options, &Source::open(&[self.path()])?, &mut |_| {})
    }
}

/// How many rows the queue has, and how many different ones.
fn counts(intake: &Intake) -> String {
    let rows = "queue.peek('bips', 10000000, null::t_bip)";
    intake.platform.value(&format!("select count(*) || ' ' || count(distinct uuid) from {rows}")).unwrap()
}

#[test]
fn a_file_is_loaded_once() {
    let intake = Intake::start();
    let file = File::of_records(30_000);
    let summary = file.load(&options(&intake, "once")).unwrap();
    assert_eq!((summary.lines, summary.skipped, summary.rejected_count), (30_000, 0, 0));
    assert_eq!(counts(&intake), "30000 30000");
    let again = file.load(&options(&intake, "once")).unwrap();
    assert_eq!((again.lines, again.skipped), (0, 30_000));
    assert_eq!(counts(&intake), "30000 30000");

    what_is_rejected_is_named(&intake);
    what_the_server_refuses_is_said(&intake);
}

#[test]
fn a_file_that_takes_the_place_of_another_is_loaded_though_it_begins_like_it() {
    let intake = Intake::start();
    let file = File::of(b"");
    let load = |lines: std::ops::RangeInclusive<i64>| {
        let lines: String = lines.map(|n| format!("{{\"userid\": {n}}}\n")).collect();
        std::fs::write(file.path(), "{\"userid\": 0}\n".to_owned() + &lines).unwrap();
        let load = howdah_load(&intake, &file).output().unwrap();
        assert!(load.status.success(), "{}", String::from_utf8_lossy(&load.stderr));
        intake.take_all()
    };
    assert_eq!(load(1..=5), [0, 1, 2, 3, 4, 5]);
    assert_eq!(load(1..=20), (6..=20).collect::<Vec<i64>>(), "what it has grown by");
    assert_eq!(load(101..=107), [0, 101, 102, 103, 104, 105, 106, 107], "others");
    assert_eq!(load(101..=107), [0; 0], "they are there");
}

fn what_is_rejected_is_named(intake: &Intake) {
    intake.take_all();
    let file = File::of(b"{\"userid\": 1}\n{\"userid\": \"x\"}\n\n{\"userid\": 2}\nnothing\n{\"userid\": 3}");
    let summary = file.load(&options(intake, "rejects")).unwrap();
    let rejected: Vec<u64> = summary.rejected.iter().map(|rejected| rejected.sequence).collect();
    assert_eq!((summary.lines, rejected), (6, vec![2, 5]), "{:?}", summary.rejected);
    assert_eq!(intake.take_all(), [1, 2, 3]);
}

fn what_the_server_refuses_is_said(intake: &Intake) {
    let file = File::of(b"{\"userid\": 1}\n");
    let wrong = Options { queue: Some("mail".into()), ..options(intake, "refused") };
    let error = file.load(&wrong).unwrap_err().to_string();
    assert!(error.contains("the server refuses") && error.contains("mail"), "{error}");

    let newer = Options { epoch: 2, ..options(intake, "fenced") };
    file.load(&newer).unwrap();
    let error = file.load(&options(intake, "fenced")).unwrap_err().to_string();
    assert!(error.contains("the server refuses") && error.contains("epoch"), "{error}");
    assert_eq!(intake.take_all(), [1]);
}

#[test]
fn a_load_waits_for_another_transaction_of_its_producer() {
    let intake = Intake::start();
    let mut other = intake.platform.session();
    let line = "'{\"userid\": 1}'";
    let put = format!("select * from queue.put_lines('bips', {line}, producer => 'busy', sequence => 1)");
    other.batch_execute(&format!("begin; {put}")).unwrap();
    let file = File::of(b"{\"userid\": 1}\n{\"userid\": 2}\n");
    let options = options(&intake, "busy");
    let (told, broken) = mpsc::channel();
    let load = thread::spawn(move || {
        loader::load(&options, &Source::open(&[file.path()])?, &mut |event| {
            if let Event::Broken { error, .. } = event {
                told.send(error.to_string()).unwrap();
            }
        })
    });
    let error = broken.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(error.contains("55P03"), "{error}");
    other.batch_execute("commit").unwrap();
    let summary = load.join().unwrap().unwrap();
    assert_eq!((summary.lines, summary.skipped), (1, 1));
    assert_eq!(intake.take_all(), [1, 2]);
}

#[test]
fn a_server_that_is_killed_again_and_again_has_every_line_once() {
    let mut intake = Intake::start();
    let file = File::of_records(RECORDS);
    let options = options(&intake, "killed");
    let (acknowledged, heard) = mpsc::channel();
    let loading = thread::spawn(move || {
        let source = Source::open(&[file.path()]).unwrap();
        loader::load(&options, &source, &mut |event| {
            if let Event::Progress { acknowledged: lines, .. } = event {
                let _ = acknowledged.send(lines);
            }
        })
    });
    let mut under_way = 0;
    for kill in 0..KILLS as u64 {
        // Each time a part of the file is in the queue, and the rest is under way.
        let wanted = kill * RECORDS as u64 / KILLS as u64;
        let known = heard.iter().find(|lines| *lines > wanted).unwrap_or(RECORDS as u64);
        under_way += usize::from(known < RECORDS as u64);
        intake.platform.cluster.kill().unwrap();
        wait_for("no process is left", || intake.platform.cluster.processes().is_empty());
        intake.platform.cluster.start(Life::WithParent).unwrap();
        let stored = intake.rows() as u64;
        assert!(stored >= known, "{known} lines were acknowledged, {stored} are there");
    }
    let summary = loading.join().unwrap().unwrap();
    assert!(under_way > KILLS / 2, "all was loaded before it was killed");
    assert_eq!((summary.lines, summary.rejected_count), (RECORDS as u64, 0));
    assert_eq!(counts(&intake), format!("{RECORDS} {RECORDS}"));
}

#[test]
fn a_loader_that_is_killed_again_and_again_has_every_line_once() {
    let intake = Intake::start();
    let file = File::of_records(RECORDS);
    let mut under_way = 0;
    for kill in 0..KILLS {
        let mut loader =
            howdah_load(&intake, &file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Each time it has come further.
        let wanted = (kill * RECORDS / KILLS) as i64;
        wait_for("lines are stored", || intake.rows() > wanted);
        thread::sleep(Duration::from_millis(fastrand::u64(..50)));
        under_way += usize::from(loader.try_wait().unwrap().is_none());
        loader.kill().unwrap();
        loader.wait().unwrap();
    }
    assert!(under_way > KILLS / 2, "all was loaded before it was killed");
    let end = howdah_load(&intake, &file).output().unwrap();
    assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    assert_eq!(counts(&intake), format!("{RECORDS} {RECORDS}"));
}

fn howdah_load(intake: &Intake, file: &File) -> Command {
    let mut command = Command::new(howdah_tests::command());
    command.arg("load").arg(file.path()).args([
        "--queue",
        "bips",
        "--to",
        &format!("127.0.0.1:{}", intake.lines),
    ]);
    command
}
