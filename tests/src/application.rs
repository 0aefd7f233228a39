//! A folder that is an application, and the commands that deploy it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::platform::{DATABASE, Platform};

/// A folder that is an application, and a platform that it goes to.
pub struct Application {
    /// Where it goes.
    pub platform: Platform,
    /// The folder.
    pub folder: tempfile::TempDir,
}

impl Application {
    /// The files below `files`, and `howdah.toml`.
    pub fn of(files: &[(&str, &str)]) -> Application {
        let application = Application { platform: Platform::start(), folder: tempfile::tempdir().unwrap() };
        application.write("howdah.toml", "name = \"shop\"\n");
        files.iter().for_each(|(path, text)| application.write(path, text));
        application
    }

    /// The same folder as it is, deployed to a platform of its own that has had nothing before.
    pub fn fresh(&self) -> Application {
        let fresh = Application { platform: Platform::start(), folder: tempfile::tempdir().unwrap() };
        copy(self.folder.path(), fresh.folder.path());
        fresh.ok("deploy");
        fresh
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) {
        write(self.folder.path(), path, text);
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).unwrap();
    }

    /// The connection string for a user.
    pub fn to(&self, user: &str) -> String {
        let text = self.platform.cluster.connection_string(DATABASE).unwrap();
        text.replace("user=postgres", &format!("user={user}"))
    }

    /// `howdah TASK` of the folder, as a user.
    pub fn command(&self, task: &str, user: &str, more: &[&str]) -> Command {
        let mut command = Command::new(crate::platform::command());
        command.arg(task).arg("--app").arg(self.folder.path()).args(["--to", &self.to(user)]).args(more);
        // A machine that runs many tests at once may keep others waiting for longer.
        command.env("HOWDAH_LOCKS", "60");
        command
    }

    /// Runs a task as the superuser.
    pub fn run(&self, task: &str, more: &[&str]) -> Output {
        self.command(task, "postgres", more).output().unwrap()
    }

    /// Likewise; what it prints. It must succeed.
    pub fn ok(&self, task: &str) -> String {
        let output = self.run(task, &[]);
        assert!(output.status.success(), "{task}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// What it complains of; it must fail.
    pub fn fails(&self, task: &str) -> String {
        let output = self.run(task, &[]);
        assert_eq!(output.status.code(), Some(1), "{task}: {}", text(&output.stdout));
        text(&output.stderr)
    }

    /// The first value of a query, as text; nothing for null.
    pub fn value(&self, query: &str) -> String {
        self.platform.value(query).unwrap_or_default()
    }

    /// The schema, and what deployments have kept.
    pub fn dump(&self) -> String {
        dump(&self.platform, &["-n", "shop", "-n", "deploy"])
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Deploys a folder as the superuser, who makes the application, if there is none; `arguments` are those of `deploy.create_application()`.
pub fn deploy(platform: &Platform, folder: &Path, arguments: &str) {
    platform.sql(&format!(
        "do $$ begin if not exists (select from deploy.application) then perform deploy.create_application({arguments}); end if; end $$"
    ));
    let to = platform.cluster.connection_string(DATABASE).unwrap();
    let mut command = Command::new(crate::platform::command());
    let output = command.arg("deploy").arg("--app").arg(folder).args(["--to", &to]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// What a program has printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What `pg_dump` writes.
pub fn dump(platform: &Platform, more: &[&str]) -> String {
    let program = platform.cluster.installation().program("pg_dump");
    let to = platform.cluster.connection_string(DATABASE).unwrap();
    let output = Command::new(program).args(["-d", &to]).args(more).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Newer ones have a random key.
    let lines = text(&output.stdout);
    lines.lines().filter(|line| !line.contains("restrict ")).collect::<Vec<_>>().join("\n")
}

/// A table `item`, which requests may read and add to.
pub const ITEMS: (&str, &str) = (
    "migrations/1-item.sql",
    "create table item (id int generated always as identity primary key, name text, price numeric);
     grant select, insert on item to howdah_web;\n",
);
