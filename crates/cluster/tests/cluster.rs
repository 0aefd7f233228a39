//! A plain PostgreSQL, started and stopped in every way.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cluster::{Cluster, Error, Installation, Life, Options, Shutdown, Template, TemporaryCluster, process};

fn setting(cluster: &Cluster, name: &str) -> String {
    let row = cluster.connect("postgres").unwrap().query_one(&format!("show {name}"), &[]).unwrap();
    row.get(0)
}

fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

/// A folder for tests, with a mode.
fn folder(mode: u32) -> tempfile::TempDir {
    tempfile::Builder::new().permissions(fs::Permissions::from_mode(mode)).tempdir().unwrap()
}

#[test]
fn a_server_starts_answers_and_leaves_nothing_behind() {
    let mut server =
        TemporaryCluster::start(Options::default().set("work_mem", "5MB").set("cluster_name", "it's, a\\b"))
            .unwrap();
    assert_eq!(setting(&server, "work_mem"), "5MB");
    assert_eq!(setting(&server, "cluster_name"), "it's, a\\b");
    assert_eq!(setting(&server, "server_encoding"), "UTF8");
    assert_eq!(setting(&server, "listen_addresses"), "");
    server.execute("postgres", "create table kept (n int); insert into kept values (7)").unwrap();
    server.set("work_mem", "6MB");
    server.restart(Shutdown::Fast, Life::WithParent).unwrap();
    assert_eq!(setting(&server, "work_mem"), "6MB");
    let row = server.connect("postgres").unwrap().query_one("select n from kept", &[]).unwrap();
    assert_eq!(row.get::<_, i32>(0), 7);
    let (folder, data) = (server.path().to_owned(), server.data());
    drop(server);
    assert!(!folder.exists());
    assert_eq!(process::of_data_folder(&data), []);
}

#[test]
fn a_running_server_is_reconfigured_until_its_next_start() {
    let mut server = TemporaryCluster::start(Options::default().set("work_mem", "5MB")).unwrap();
    let mut waiting = server.connect("postgres").unwrap();
    server.reconfigure("work_mem", "7MB").unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while waiting.query_one("show work_mem", &[]).unwrap().get::<_, String>(0) != "7MB" {
        assert!(Instant::now() < deadline, "the server does not read its configuration");
    }
    drop(waiting);
    server.restart(Shutdown::Fast, Life::WithParent).unwrap();
    assert_eq!(setting(&server, "work_mem"), "5MB");
}

#[test]
fn a_killed_server_starts_again() {
    let mut server = TemporaryCluster::start(Options::default()).unwrap();
    server.execute("postgres", "create table kept ()").unwrap();
    assert!(server.processes().len() > 3);
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !server.processes().is_empty() {
        assert!(Instant::now() < deadline, "{:?}", server.processes());
        std::thread::yield_now();
    }
    server.start(Life::WithParent).unwrap();
    server.execute("postgres", "table kept").unwrap();
    server.stop(Shutdown::Immediate).unwrap();
    assert!(matches!(server.stop(Shutdown::Fast), Err(Error::NotRunning { .. })));
}

#[test]
fn a_server_that_cannot_start_shows_the_end_of_its_log() {
    let error = TemporaryCluster::start(Options::default().set("nonsense", 1)).unwrap_err().to_string();
    assert!(error.contains("did not start") && error.contains("nonsense"), "{error}");
    let error = TemporaryCluster::start(Options::default().set("a b", 1)).unwrap_err();
    assert!(matches!(error, Error::BadSetting { .. }));
    let error = TemporaryCluster::start(Options::default().set("work_mem", "1\nx=2")).unwrap_err();
    assert!(matches!(error, Error::BadSetting { .. }));
}

#[test]
fn one_folder_has_one_server() {
    let server = TemporaryCluster::start(Options::default()).unwrap();
    let second = Cluster::prepare(Installation::find().unwrap(), server.path(), Options::default());
    assert!(matches!(second, Err(Error::Running { pid }) if Some(pid) == server.pid()), "{second:?}");
    let mut attached = Cluster::attach(server.path()).unwrap();
    assert_eq!(attached.pid(), server.pid());
    attached.execute("postgres", "select 1").unwrap();
    attached.stop(Shutdown::Fast).unwrap();
    assert!(matches!(Cluster::attach(server.path()), Err(Error::NotRunning { .. })));
}

#[test]
fn a_template_is_made_once_for_each_recipe_and_its_copies_are_their_own() {
    let parent = folder(0o711);
    let asked = parent.path().join("template");
    let made = std::cell::Cell::new(0);
    let template = |recipe: &str| {
        let fill = |cluster: &Cluster| {
            made.set(made.get() + 1);
            cluster.execute("postgres", &format!("create table filled as select {} as n", made.get()))
        };
        Template::in_folder(&asked, Options::default(), recipe, fill).unwrap()
    };
    let value = |cluster: &Cluster| -> i32 {
        cluster.connect("postgres").unwrap().query_one("select n from filled", &[]).unwrap().get(0)
    };
    let copy = |template: &Template| TemporaryCluster::copy_of(template, Options::default()).unwrap();
    let (first, second) = (copy(&template("one")), copy(&template("one")));
    assert_eq!((value(&first), value(&second), made.get()), (1, 1, 1));
    first.execute("postgres", "update filled set n = 7").unwrap();
    assert_eq!((value(&first), value(&second), value(&copy(&template("one")))), (7, 1, 1));
    // Another recipe, or what was left half way, is made anew.
    assert_eq!((value(&copy(&template("two"))), made.get()), (2, 2));
    let mark = fs::canonicalize(&asked).unwrap().join("made-of");
    fs::remove_file(mark).unwrap();
    assert_eq!((value(&copy(&template("two"))), made.get()), (3, 3));
    fs::remove_dir_all(fs::canonicalize(&asked).unwrap()).unwrap();
}

#[test]
fn a_number_left_behind_is_not_taken_for_a_server() {
    let mut server = TemporaryCluster::start(Options::default()).unwrap();
    server.stop(Shutdown::Fast).unwrap();
    fs::write(server.data().join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
    assert_eq!(server.pid(), None);
}

#[test]
fn data_of_another_version_is_refused() {
    let mut server = TemporaryCluster::start(Options::default()).unwrap();
    server.stop(Shutdown::Fast).unwrap();
    fs::write(server.data().join("PG_VERSION"), "9.6\n").unwrap();
    let error = Cluster::prepare(Installation::find().unwrap(), server.path(), Options::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("made by PostgreSQL 9.6") && error.contains("PG_CONFIG"), "{error}");
}

#[test]
fn an_extension_that_is_not_installed_is_named() {
    let options = Options { preload: Some("no_such_extension".into()), ..Options::default() };
    let error = TemporaryCluster::start(options).unwrap_err().to_string();
    assert!(error.contains("no_such_extension.so") && error.contains("make "), "{error}");
}

#[test]
fn a_deep_folder_gets_a_short_socket() {
    let parent = folder(0o755);
    let deep = parent.path().join("d".repeat(120)).join("cluster");
    let options = Options { unsafe_initdb: true, ..Options::default() };
    let mut server = Cluster::prepare(Installation::find().unwrap(), &deep, options).unwrap();
    server.start(Life::WithParent).unwrap();
    server.execute("postgres", "select 1").unwrap();
    let socket = server.socket().unwrap();
    assert!(socket.as_os_str().len() < 80);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o700);
    server.restart(Shutdown::Fast, Life::WithParent).unwrap();
    assert_eq!(server.socket().unwrap(), socket, "the same folder is used again");
    server.stop(Shutdown::Fast).unwrap();
    fs::remove_dir_all(socket).unwrap();
}

#[test]
fn where_the_server_cannot_enter_the_folder_is_a_link() {
    if !is_root() {
        return;
    }
    let parent = folder(0o700);
    let asked = parent.path().join("cluster");
    let prepare = || {
        let options = Options { unsafe_initdb: true, ..Options::default() };
        Cluster::prepare(Installation::find().unwrap(), &asked, options).unwrap()
    };
    let mut server = prepare();
    let target = fs::read_link(&asked).unwrap();
    assert!(target.starts_with("/var/lib/howdah"));
    assert_eq!(fs::metadata(server.data()).unwrap().permissions().mode() & 0o777, 0o700);
    server.start(Life::WithParent).unwrap();
    server.execute("postgres", "create table kept ()").unwrap();
    server.stop(Shutdown::Fast).unwrap();
    let mut server = prepare();
    server.start(Life::WithParent).unwrap();
    server.execute("postgres", "table kept").unwrap();
    server.stop(Shutdown::Fast).unwrap();
    fs::remove_dir_all(target).unwrap();
}

#[test]
fn a_folder_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let parent = folder(0o755);
    let asked = parent.path().join("cluster");
    fs::create_dir(&asked).unwrap();
    std::os::unix::fs::chown(&asked, Some(65534), None).unwrap();
    let error = Cluster::prepare(Installation::find().unwrap(), &asked, Options::default()).unwrap_err();
    assert!(error.to_string().contains("does not belong to you"), "{error}");
}

/// The server's account could otherwise have root write to files of its choice.
#[test]
fn root_writes_nothing_where_the_server_could_put_links() {
    if !is_root() {
        return;
    }
    let server = TemporaryCluster::start(Options::default()).unwrap();
    assert_eq!(fs::metadata(server.path()).unwrap().uid(), 0);
    for name in ["postgresql.conf", "pg_hba.conf", "log"] {
        assert_eq!(fs::symlink_metadata(server.path().join(name)).unwrap().uid(), 0, "{name}");
    }
    assert_eq!(find_owned_by_root(&server.data()), Vec::<PathBuf>::new());
}

fn find_owned_by_root(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| fs::symlink_metadata(path).is_ok_and(|file| file.uid() == 0)).collect()
}

/// The data folder of a server that a copy of this test starts, before it is killed.
#[test]
fn a_server_ends_with_its_parent_however_that_ends() {
    const ROLE: &str = "CLUSTER_TEST_PARENT";
    if let Ok(report) = std::env::var(ROLE) {
        // From a thread that ends at once, which must not end the server.
        let server =
            std::thread::spawn(|| TemporaryCluster::start(Options::default()).unwrap()).join().unwrap();
        server.execute("postgres", "select 1").unwrap();
        fs::write(Path::new(&report).with_extension("new"), server.data().to_str().unwrap()).unwrap();
        fs::rename(Path::new(&report).with_extension("new"), report).unwrap();
        loop {
            std::thread::park();
        }
    }
    let parent = folder(0o755);
    let report = parent.path().join("report");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_server_ends_with_its_parent_however_that_ends"])
        .env(ROLE, &report)
        .env("TMPDIR", parent.path())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !report.exists() {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let data = PathBuf::from(fs::read_to_string(&report).unwrap());
    assert!(!process::of_data_folder(&data).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    while !process::of_data_folder(&data).is_empty() {
        assert!(Instant::now() < deadline, "the server goes on without its parent");
        std::thread::yield_now();
    }
}
