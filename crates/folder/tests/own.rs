//! Links, pipes, sockets and devices are refused by their names, wherever a folder has them: they are not opened.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use folder::files::{FILES, FOLDERS};
use folder::{Fault, Folder, manifest, seeds};

/// What nobody but the folder's reader may see.
const SECRET: &str = "do-not-tell";

/// Something that is no file of a folder, and what is said of it.
type Foreign = (&'static str, fn(&Path), &'static str);

const FOREIGN: [Foreign; 8] = [
    ("a link to a file elsewhere", |place| symlink("../secret", place).unwrap(), "a symbolic link"),
    ("a link to a device", |place| symlink("/dev/zero", place).unwrap(), "a symbolic link"),
    ("a link within the folder", |place| symlink("README.md", place).unwrap(), "a symbolic link"),
    ("a link to a folder", |place| symlink("/", place).unwrap(), "a symbolic link"),
    ("a link to nothing", |place| symlink("nowhere", place).unwrap(), "a symbolic link"),
    ("a pipe", |place| made("mkfifo", &[place.to_str().unwrap()]), "a named pipe"),
    ("a socket", |place| drop(UnixListener::bind(place).unwrap()), "a socket"),
    ("a device", |place| made("mknod", &[place.to_str().unwrap(), "c", "1", "5"]), "a device"),
];

fn made(program: &str, arguments: &[&str]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success(), "{program}");
}

/// Whether whoever runs the tests may make devices.
fn may_make_devices() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("zero");
    let made = Command::new("mknod").arg(&place).args(["c", "1", "5"]).output().unwrap();
    made.status.success()
}

/// A path of each kind of file that is read, and of each folder that is looked through.
fn read_paths() -> Vec<String> {
    let mut paths = vec![manifest::FILE.to_owned()];
    paths.extend(FILES.iter().map(|(file, _)| (*file).to_owned()));
    for (folder, _) in FOLDERS {
        paths.extend(["", "/f.sql", "/deep/er", "/deep/f.sql"].map(|below| format!("{folder}{below}")));
    }
    for folder in ["seeds", "seeds/test"] {
        paths.push(folder.to_owned());
        paths.extend(seeds::ENDINGS.iter().map(|(ending, _)| format!("{folder}/entry.{ending}")));
    }
    // It would be forgotten.
    paths.push("function/f.sql".to_owned());
    paths.push("static/css/app.css".to_owned());
    paths.push("static/root/robots.txt".to_owned());
    paths
}

/// All that is said of a folder, by a deployment and by seeds. Whoever opens a pipe waits for ever: that is noticed.
fn faults(folder: &Path) -> Vec<Fault> {
    let (send, said) = mpsc::channel();
    let folder = folder.to_owned();
    thread::spawn(move || {
        let mut faults = Folder::read(&folder).err().unwrap_or_default();
        faults.extend(seeds::find(&folder, Some("test")).err().unwrap_or_default());
        send.send(faults)
    });
    said.recv_timeout(Duration::from_secs(60)).expect("the folder is read without waiting")
}

#[test]
fn what_is_no_file_is_refused_by_its_name_for_every_kind_of_file() {
    let devices = may_make_devices();
    if !devices {
        println!("SKIPPED: devices, which only an administrator makes");
    }
    for path in read_paths() {
        for (what, make, said) in FOREIGN.iter().filter(|(what, ..)| devices || *what != "a device") {
            let outer = tempfile::tempdir().unwrap();
            let folder = outer.path().join("shop");
            let place = folder.join(&path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(outer.path().join("secret"), SECRET).unwrap();
            fs::write(folder.join(manifest::FILE), "name = \"shop\"\n").unwrap();
            fs::write(folder.join("README.md"), SECRET).unwrap();
            if path == manifest::FILE {
                fs::remove_file(&place).unwrap();
            }
            make(&place);
            let faults = faults(&folder);
            assert_eq!(faults.len(), 1, "{path}, {what}: {faults:?}");
            let told = faults[0].to_string();
            assert!(told.starts_with(&format!("{path}: it is {said}")), "{path}, {what}: {told}");
            assert!(!told.contains(SECRET), "{told}");
        }
    }
}

#[test]
fn what_nobody_reads_may_be_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::write(at(manifest::FILE), "name = \"shop\"\n").unwrap();
    ["static", "functions", "seeds"].iter().for_each(|path| fs::create_dir(at(path)).unwrap());
    for path in [
        "docs",
        "static/.all",
        "static/f.css~",
        "functions/.f.sql",
        "functions/f.sql~",
        "seeds/README",
        ".git",
    ] {
        symlink("/", at(path)).unwrap();
    }
    assert_eq!(faults(folder.path()), []);
    // Whoever names the folder may name it by a link.
    let link = tempfile::tempdir().unwrap();
    symlink(folder.path(), link.path().join("shop")).unwrap();
    assert_eq!(faults(&link.path().join("shop")), []);
}
