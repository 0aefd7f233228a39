//! `howdah cert check`.

use std::path::{Path, PathBuf};

use tls::places::{self, Found};
use tls::{Certificate, Pair};

use crate::account::Account;
use crate::arguments::Check;
use crate::cert::{date, distance, names};
use crate::failure::{Failure, Result};
use crate::https::now;
use crate::screen::say;

/// Says what is in each of the places, as the server reads them.
pub(crate) fn run(options: &Check) -> Result<()> {
    let owner = Account::find(options.owner.as_deref())?;
    let now = now();
    let (mut count, mut bad) = (0, 0);
    for place in &options.places {
        for found in read(place, &owner)? {
            let (lines, is_good) = describe(&found, now);
            lines.iter().for_each(|line| say(line));
            (count, bad) = (count + 1, bad + u32::from(!is_good));
        }
    }
    match bad {
        0 => Ok(()),
        bad => Err(Failure::Said(format!("{bad} of {count} cannot be used; above is why"))),
    }
}

/// What is in a place, read with the rights of who runs the server.
fn read(place: &str, owner: &Account) -> Result<Vec<Found>> {
    let setting = absolute(place)?;
    let places = places::parse(&setting)?;
    owner.act(|| places.iter().flat_map(|place| place.read(owner.uid.as_raw())).collect())
}

/// An entry of the setting, with paths that are those of this folder.
fn absolute(place: &str) -> Result<String> {
    if place.contains(',') {
        return Err(format!("{place:?} has a comma, by which howdah.tls_certificates separates its entries; name each by itself").into());
    }
    let paths: Vec<String> = place.split(':').map(whole).collect::<Result<_>>()?;
    Ok(paths.join(":"))
}

fn whole(path: &str) -> Result<String> {
    let whole: PathBuf =
        std::path::absolute(path).map_err(|error| format!("{path:?} is no path: {error}"))?;
    Ok(whole.display().to_string())
}

/// The lines for a certificate, and whether the server and its clients can use it.
fn describe(found: &Found, now: i64) -> (Vec<String>, bool) {
    let file = found.certificate_file.display().to_string();
    let pair = found.files.as_ref().map_err(Clone::clone);
    let pair = match pair.and_then(|(chain, key)| Pair::load(chain, key.as_deref())) {
        Ok(pair) => pair,
        Err(why) => return (vec![file, line("cannot be used", &why)], false),
    };
    let mut lines = vec![file];
    lines.extend(
        facts(&pair.leaf, found.key_file.as_deref(), now).iter().map(|(name, fact)| line(name, fact)),
    );
    lines.extend(pair.warnings_at(now).iter().map(|warning| line("warning", warning)));
    (lines, pair.is_valid_at(now))
}

fn facts(leaf: &Certificate, key_file: Option<&Path>, now: i64) -> Vec<(&'static str, String)> {
    let key = match key_file {
        Some(file) => format!("{}, in {}", leaf.key, file.display()),
        None => format!("{}, in the same file", leaf.key),
    };
    vec![
        ("names", names(leaf)),
        ("issuer", leaf.issuer.clone()),
        ("key", key),
        ("not after", format!("{}, {}", date(leaf.not_after), distance(leaf.not_after, now))),
    ]
}

fn line(name: &str, text: &str) -> String {
    format!("    {name:<14}  {text}")
}
