//! The commands of `[build]` in `howdah.toml`, which make some of an application's static files, as Vite, esbuild and Tailwind do.

use std::io::{self, stderr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use folder::Manifest;
use folder::manifest::{Build, FILE};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::failure::{Failure, Result};
use crate::screen::{complain, harmless};

/// Runs the command, if there is one and the user wants it, before the folder is read. Whoever has written the folder does not decide what runs as
/// the user.
pub(crate) fn run(app: &Path, is_wanted: bool) -> Result<()> {
    let Some(build) = said(app) else { return Ok(()) };
    let shown = harmless(&build.command);
    if !is_wanted {
        complain(&format!("{FILE} makes files by a command, which --build runs: {shown}"));
        return Ok(());
    }
    complain(&format!("building by {shown}"));
    let failed = |why: String| {
        Failure::Said(format!(
            "[build] of {FILE}: {shown} {why}\nWithout --build the files are taken that are there, also those that it has left half done"
        ))
    };
    let ended = begin(app, &build, &build.command).and_then(|mut child| {
        // Held until it has ended.
        let _pipe = child.stdin.take();
        child.wait()
    });
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("has failed ({status})"))),
        Err(error) => Err(failed(format!("cannot run: {error}"))),
    }
}

/// A command that makes the files anew whenever somebody saves what they are made from; it ends when this is dropped.
pub(crate) struct Builder {
    child: Child,
    command: String,
}

impl Builder {
    /// Begins it, if there is one.
    pub(crate) fn begin(app: &Path) -> Result<Option<Builder>> {
        let Some((build, watch)) =
            said(app).and_then(|build| build.watch.clone().map(|watch| (build, watch)))
        else {
            return Ok(None);
        };
        let shown = harmless(&watch);
        complain(&format!("building at each save by {shown}"));
        let child = begin(app, &build, &watch)
            .map_err(|error| Failure::Said(format!("[build] of {FILE}: {shown} cannot run: {error}")))?;
        Ok(Some(Builder { child, command: shown }))
    }

    /// Whether it goes on. That it does not is told.
    pub(crate) fn goes_on(&mut self) -> bool {
        match self.child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                complain(&format!("{} has ended ({status}): nothing is built at each save", self.command));
                false
            }
            Err(_) => false,
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It may have ended just now.
            let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
            let _ = self.child.wait();
        }
    }
}

/// The commands of an application; none as well where its `howdah.toml` cannot be read, which whoever reads the folder tells.
fn said(app: &Path) -> Option<Build> {
    let text = String::from_utf8(folder::own::read(&app.join(FILE)).ok()?).ok()?;
    Manifest::parse(&text).ok()?.build
}

/// Begins a command of the user's shell, in a group of its own, which ends when nobody holds its pipe any more: also when this process is killed. Its
/// output goes where errors go, as a program may read ours.
fn begin(app: &Path, build: &Build, text: &str) -> io::Result<Child> {
    let text = format!("exec 3<&0; (\n{text}\n) & ours=$!; (cat <&3 > /dev/null; kill 0) & wait $ours");
    let mut command = Command::new("sh");
    command.arg("-c").arg(text).current_dir(app.join(&build.folder));
    command.stdin(Stdio::piped()).stdout(Stdio::from(stderr())).process_group(0).spawn()
}
