//! The command that has this system trust the development authority.

use std::env;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

/// Where programs of administrators are, which need not be on the PATH of others.
const OF_ADMINISTRATORS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// Where Chromium, and what else uses NSS, keeps what the user trusts.
const NSS: &str = ".pki/nssdb";

/// What a system has, as far as the command depends on it.
struct System<'s> {
    has: &'s dyn Fn(&str) -> bool,
    is_root: bool,
    /// Whether the user has a store for browsers.
    has_nss: bool,
}

/// The command for the system that this runs on, where there is one for it.
pub(crate) fn command(certificate: &Path) -> Option<String> {
    let nss = env::var_os("HOME").map(|home| PathBuf::from(home).join(NSS));
    let has_nss = nss.is_some_and(|nss| nss.join("cert9.db").exists());
    of(&System { has: &has, is_root: Uid::effective().is_root(), has_nss }, &quoted(certificate))
}

fn of(system: &System<'_>, certificate: &str) -> Option<String> {
    let sudo = if system.is_root { "" } else { "sudo " };
    let of_system = if (system.has)("update-ca-certificates") {
        let target = "/usr/local/share/ca-certificates/howdah.crt";
        format!("{sudo}cp {certificate} {target} && {sudo}update-ca-certificates")
    } else if (system.has)("trust") {
        format!("{sudo}trust anchor --store {certificate}")
    } else if (system.has)("security") {
        let keychain = "\"$HOME/Library/Keychains/login.keychain-db\"";
        format!("security add-trusted-cert -r trustRoot -k {keychain} {certificate}")
    } else {
        return None;
    };
    let of_browsers = if system.has_nss && (system.has)("certutil") {
        format!(" && certutil -d \"sql:$HOME/{NSS}\" -A -t C,, -n Howdah -i {certificate}")
    } else {
        String::new()
    };
    Some(of_system + &of_browsers)
}

fn has(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(OF_ADMINISTRATORS.map(PathBuf::from));
    folders.into_iter().any(|folder| folder.join(program).is_file())
}

/// A path as a word of the shell.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+@".contains(character);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(programs: &[&str], is_root: bool, has_nss: bool) -> Option<String> {
        let has = |program: &str| programs.contains(&program);
        of(&System { has: &has, is_root, has_nss }, "/ca.pem")
    }

    #[test]
    fn the_command_is_that_of_the_system() {
        let debian = "cp /ca.pem /usr/local/share/ca-certificates/howdah.crt && update-ca-certificates";
        assert_eq!(with(&["update-ca-certificates", "trust"], true, true).unwrap(), debian);
        assert_eq!(with(&["trust"], false, false).unwrap(), "sudo trust anchor --store /ca.pem");
        let of_browsers = with(&["update-ca-certificates", "certutil"], false, true).unwrap();
        let (begin, end) =
            ("sudo cp ", "certutil -d \"sql:$HOME/.pki/nssdb\" -A -t C,, -n Howdah -i /ca.pem");
        assert!(of_browsers.starts_with(begin) && of_browsers.ends_with(end), "{of_browsers}");
        assert!(with(&["security"], false, false).unwrap().starts_with("security add-trusted-cert "));
        assert_eq!(with(&["certutil"], false, true), None);
    }

    #[test]
    fn a_path_with_a_blank_is_one_word_of_the_shell() {
        assert_eq!(quoted(Path::new("/a/ca.pem")), "/a/ca.pem");
        assert_eq!(quoted(Path::new("/a/it's me")), r"'/a/it'\''s me'");
    }
}
