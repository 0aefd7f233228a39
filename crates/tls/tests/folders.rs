//! Folders as certbot, acme.sh, Kubernetes, mkcert and people make them.

use tls::places::{Found, MAX_OF_A_FOLDER, parse, read};

use crate::made::fixture;
use crate::places::Folder;

/// What was found, as `CERTIFICATE:KEY` below the test's folder, `!` before what cannot be read.
fn names(folder: &Folder, found: &[Found]) -> Vec<String> {
    let root = folder.root.path();
    let name = |found: &Found| {
        let short = |path: &std::path::Path| path.strip_prefix(root).unwrap().display().to_string();
        let key = found.key_file.as_deref().map_or(String::new(), |key| format!(":{}", short(key)));
        format!("{}{}{key}", if found.files.is_ok() { "" } else { "!" }, short(&found.certificate_file))
    };
    found.iter().map(name).collect()
}

/// What a folder leads to, which may be the default or not.
fn expect(folder: &Folder, entry: &str, may_be_default: bool, expected: &[&str]) {
    let found = folder.read(entry);
    assert_eq!(names(folder, &found), expected, "{found:?}");
    assert!(found.iter().all(|found| found.may_be_default == may_be_default));
}

fn certbot(folder: &Folder, name: &str) {
    for kind in ["cert", "chain", "fullchain", "privkey"] {
        folder.write(&format!("archive/{name}/{kind}1.pem"));
        folder.link(&format!("live/{name}/{kind}.pem"), &format!("../../archive/{name}/{kind}1.pem"));
    }
    folder.write(&format!("live/{name}/README"));
}

#[test]
fn the_folder_of_certbot_has_one_for_each_name() {
    let folder = Folder::new();
    certbot(&folder, "b.test");
    certbot(&folder, "a.test");
    certbot(&folder, "a.test-0001");
    folder.write("live/README");
    folder.write("renewal/a.test.conf");
    folder.link("live/a.test-0002/fullchain.pem", "../../archive/gone/fullchain1.pem");
    folder.link("live/a.test-0002/privkey.pem", "../../archive/gone/privkey1.pem");
    let expected = [
        "live/a.test/fullchain.pem:live/a.test/privkey.pem",
        "live/a.test-0001/fullchain.pem:live/a.test-0001/privkey.pem",
        "live/b.test/fullchain.pem:live/b.test/privkey.pem",
    ];
    expect(&folder, "%/live", false, &expected);
    expect(&folder, "%/live/b.test", true, &expected[2..]);
    expect(&folder, "%/live/b.test/", true, &expected[2..]);
    assert_eq!(folder.reason("%"), "directory \"%\" has no certificate with its key; write %/live");
}

/// The default of one entry may lie in the folder of the next, which has the other names.
#[test]
fn a_certificate_that_two_entries_lead_to_is_found_once_by_the_first() {
    let folder = Folder::new();
    certbot(&folder, "a.test");
    certbot(&folder, "b.test");
    let root = folder.root.path().display();
    let setting = format!("shop={root}/live/b.test, {root}/live/b.test, {root}/live/, {root}/live/a.test");
    let places = parse(&setting).unwrap();
    let found = read(&places, "postgres", folder.user);
    let found: Vec<_> = found
        .iter()
        .map(|(number, found)| (*number, names(&folder, std::slice::from_ref(found)), found.may_be_default))
        .collect();
    let name = |host: &str| vec![format!("live/{host}/fullchain.pem:live/{host}/privkey.pem")];
    assert_eq!(found, [(1, name("b.test"), true), (2, name("a.test"), false)]);
}

/// Whoever has loaded a pair keeps it while certbot puts the next in place, as the entry is still there with an error.
#[test]
fn a_certificate_that_is_being_replaced_is_found_with_its_error() {
    let folder = Folder::new();
    certbot(&folder, "a.test");
    certbot(&folder, "b.test");
    std::fs::remove_file(folder.path("live/a.test/fullchain.pem")).unwrap();
    std::fs::remove_file(folder.path("archive/b.test/privkey1.pem")).unwrap();
    let expected = [
        "!live/a.test/fullchain.pem:live/a.test/privkey.pem",
        "!live/b.test/fullchain.pem:live/b.test/privkey.pem",
    ];
    expect(&folder, "%/live", false, &expected);
    expect(&folder, "%/live/a.test", true, &expected[..1]);
}

#[test]
fn the_folder_of_acme_sh_has_names_with_and_without_ecc() {
    let folder = Folder::new();
    for name in ["a.test", "a.test_ecc", "*.b.test_ecc"] {
        let plain = name.trim_end_matches("_ecc");
        for file in [
            "fullchain.cer",
            "ca.cer",
            &format!("{plain}.cer"),
            &format!("{plain}.key"),
            &format!("{plain}.conf"),
        ] {
            folder.write(&format!("acme/{name}/{file}"));
        }
    }
    folder.write("acme/account.conf");
    folder.write("acme/ca/letsencrypt/account.key");
    folder.write("acme/failed.test_ecc/failed.test.key");
    folder.write("acme/renamed/fullchain.cer");
    folder.write("acme/renamed/other.test.key");
    let expected = [
        "acme/*.b.test_ecc/fullchain.cer:acme/*.b.test_ecc/*.b.test.key",
        "acme/a.test/fullchain.cer:acme/a.test/a.test.key",
        "acme/a.test_ecc/fullchain.cer:acme/a.test_ecc/a.test.key",
        "acme/renamed/fullchain.cer:acme/renamed/other.test.key",
    ];
    expect(&folder, "%/acme", false, &expected);
    expect(&folder, "%/acme/a.test_ecc", true, &expected[2..3]);
}

#[test]
fn the_folder_of_kubernetes_is_read_through_its_links() {
    let folder = Folder::new();
    for file in ["tls.crt", "tls.key", "ca.crt"] {
        folder.write(&format!("secret/..2026_06_01/{file}"));
        folder.link(&format!("secret/{file}"), &format!("..data/{file}"));
    }
    folder.link("secret/..data", "..2026_06_01");
    expect(&folder, "%/secret", true, &["secret/tls.crt:secret/tls.key"]);
    expect(&folder, "%", false, &["secret/tls.crt:secret/tls.key"]);
}

#[test]
fn files_that_lie_beside_each_other_are_found_by_their_names() {
    let folder = Folder::new();
    for name in ["ca.pem", "dhparams.pem"] {
        folder.write_bytes(name, fixture!("ec.certificate.pem").as_bytes());
    }
    let files = [
        "a.pem",
        "a.key",
        "b.crt",
        "b.key",
        "c.crt",
        "c.pem",
        "c.key",
        "mkcert.pem",
        "mkcert-key.pem",
        "with-key-in-it.pem",
        "ca.crt",
        "e.key",
        "README.md",
        ".hidden.pem",
        ".hidden.key",
        "folder/f.pem",
        "folder/f.key",
    ];
    files.iter().for_each(|name| folder.write(name));
    let expected =
        ["a.pem:a.key", "b.crt:b.key", "c.pem:c.key", "mkcert.pem:mkcert-key.pem", "with-key-in-it.pem"];
    expect(&folder, "%", false, &expected);
}

/// It would be the default until the next comes.
#[test]
fn a_single_file_of_a_folder_is_no_default() {
    let folder = Folder::new();
    folder.write("a.pem");
    folder.write("a.key");
    expect(&folder, "%", false, &["a.pem:a.key"]);
}

#[test]
fn one_bad_file_of_a_folder_leaves_the_others() {
    let folder = Folder::new();
    folder.write("a.pem");
    folder.write("b.pem");
    folder.write("b.key");
    folder.link("a.key", "b.pem");
    std::fs::create_dir(folder.path("c.key")).unwrap();
    folder.write("c.pem");
    expect(&folder, "%", false, &["!a.pem:a.key", "b.pem:b.key", "!c.pem:c.key"]);
}

/// Whoever has loaded it before keeps it as long as it is found.
#[test]
fn a_file_that_is_being_written_is_found_and_one_without_a_key_is_not() {
    let folder = Folder::new();
    let certificate = fixture!("ec.certificate.pem");
    folder.write_bytes("authority.pem", certificate.as_bytes());
    folder.write_bytes("bundle.pem", certificate.repeat(200).as_bytes());
    folder.write_bytes("half.pem", &certificate.as_bytes()[..200]);
    folder.write_bytes("new.pem", b"");
    expect(&folder, "%", false, &["half.pem", "new.pem"]);
}

/// A trace in a log must not give the key away.
#[test]
fn what_is_found_does_not_show_its_bytes() {
    let folder = Folder::new();
    folder.write("a.pem");
    folder.write("a.key");
    let text = format!("{:?}", folder.read("%/a.pem:%/a.key"));
    assert!(text.contains("Ok((5, Some(") && !text.contains("80, 82"), "{text}");
}

#[test]
fn an_empty_folder_is_found_with_its_reason() {
    let folder = Folder::new();
    assert_eq!(folder.reason("%"), "directory \"%\" has no certificate with its key");
}

#[test]
fn a_folder_gives_a_thousand_certificates_and_says_that_there_are_more() {
    let folder = Folder::new();
    for number in 0..=MAX_OF_A_FOLDER {
        folder.write_bytes(&format!("{number:04}.crt"), b"");
        folder.write_bytes(&format!("{number:04}.key"), b"");
    }
    let found = folder.read("%");
    assert_eq!(found.len(), MAX_OF_A_FOLDER + 1);
    assert!(found[MAX_OF_A_FOLDER].files.as_ref().unwrap_err().contains("more than 1000 certificates"));
    assert!(found[MAX_OF_A_FOLDER - 1].certificate_file.ends_with("0999.crt"));
}
