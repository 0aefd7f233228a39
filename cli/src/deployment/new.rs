//! `howdah new`.

use std::fs::{self, OpenOptions};
use std::io::Write;

use folder::{example, manifest};

use crate::arguments::New;
use crate::failure::{Failure, Result};
use crate::screen::say;

/// Makes the folder; what is there already stays as it is.
pub(crate) fn run(options: &New) -> Result<()> {
    let path = &options.folder;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = options.name.clone().unwrap_or(name);
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
        let file = path.join(file);
        let unwritable = |error| Failure::Said(format!("cannot write {}: {error}", file.display()));
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(unwritable)?;
        }
        let mut made = OpenOptions::new().write(true).create_new(true).open(&file).map_err(unwritable)?;
        made.write_all(text.as_bytes()).map_err(unwritable)?;
        say(&format!("  {}", file.display()));
    }
    say(&format!("\nNext: howdah deploy --app {}", path.display()));
    Ok(())
}
