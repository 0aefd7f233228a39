//! `howdah new`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use folder::{additions, example, manifest};

use super::target;
use crate::arguments::{Addition, New};
use crate::failure::{Failure, Result};
use crate::screen::say;

/// What `routes.sql` of an application is called.
const ROUTES: &str = "routes.sql";

/// Makes a folder, or adds to one; what is there already stays as it is.
pub(crate) fn run(options: &New) -> Result<()> {
    if let Some(addition) = &options.addition {
        return add(addition);
    }
    options.folder.as_deref().map_or(Ok(()), |folder| application(folder, options.name.as_deref()))
}

fn application(path: &Path, name: Option<&str>) -> Result<()> {
    let of_folder = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.map_or(of_folder, str::to_owned);
    if !manifest::is_name(&name) {
        return Err(Failure::Said(format!(
            "{name:?} cannot be an application's name: it begins with a small letter and has small letters, digits, _ and -. Say --name."
        )));
    }
    if path.join(manifest::FILE).exists() {
        return Err(Failure::Said(format!("{} is an application already", path.display())));
    }
    say(&format!("The application {name}:"));
    for (file, text) in example::files(&name) {
        write(path, &file, &text)?;
    }
    say(&format!("\nNext: howdah dev --app {}", path.display()));
    Ok(())
}

fn add(addition: &Addition) -> Result<()> {
    match addition {
        Addition::Migration { name, app } => {
            let files = target::read(app)?.files;
            let (path, text) = additions::migration(&files, name).map_err(Failure::Said)?;
            write(app, &path, &text)
        }
        Addition::Page { name, app, form } => {
            let files = target::read(app)?.files;
            let page = additions::page(&files, name, *form).map_err(Failure::Said)?;
            for (path, text) in &page.files {
                write(app, path, text)?;
            }
            let routes = app.join(ROUTES);
            let unwritable = |error| Failure::Said(format!("cannot write {}: {error}", routes.display()));
            let before = match fs::read_to_string(&routes) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                read => read.map_err(unwritable)?,
            };
            let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
            let mut file = OpenOptions::new().create(true).append(true).open(&routes).map_err(unwritable)?;
            file.write_all(format!("{end}{}", page.routes).as_bytes()).map_err(unwritable)?;
            say(&format!("  {}: {}", routes.display(), page.routes.trim_end()));
            Ok(())
        }
    }
}

/// Writes a file that there is not.
fn write(folder: &Path, path: &str, text: &str) -> Result<()> {
    let file = folder.join(path);
    let unwritable = |error: io::Error| {
        Failure::Said(match error.kind() {
            io::ErrorKind::AlreadyExists => format!("{} is there already", file.display()),
            _ => format!("cannot write {}: {error}", file.display()),
        })
    };
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(unwritable)?;
    }
    let mut made = OpenOptions::new().write(true).create_new(true).open(&file).map_err(unwritable)?;
    made.write_all(text.as_bytes()).map_err(unwritable)?;
    say(&format!("  {}", file.display()));
    Ok(())
}
