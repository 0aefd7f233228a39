//! Deployments to a server that takes passwords by TLS alone, as hosted ones do.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use howdah_tests::application::text;
use howdah_tests::https::Https;
use howdah_tests::platform::DATABASE;

/// An address of this machine that no other test has.
fn address() -> String {
    let id = std::process::id();
    format!("127.66.{}.{}", id / 250 % 250 + 1, id % 250 + 1)
}

/// `howdah deploy` of a folder with nothing but its name, and what it is told besides.
fn deploy(home: &Path, more: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(howdah_tests::command());
    command.args(["deploy", "--app"]).arg(home.join("shop")).args(more).env("HOME", home);
    command.envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn a_server_is_reached_as_libpq_reaches_it() {
    let address = address();
    let https = Https::with(&[("listen_addresses", &address)]);
    https.certify("server", "db.example");
    let (platform, tls) = (&https.platform, &https.folder);
    let access = platform.cluster.path().join("pg_hba.conf");
    let lines = fs::read_to_string(&access).unwrap();
    fs::write(&access, lines + "hostssl all ada 127.0.0.0/8 scram-sha-256\n").unwrap();
    platform.sql("create role ada superuser login password 'it''s secret'");
    platform.sql(&format!("alter system set ssl_cert_file = '{}'", tls.join("server.crt").display()));
    platform.sql(&format!("alter system set ssl_key_file = '{}'", tls.join("server.key").display()));
    platform.set("ssl", "on");

    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::create_dir(home.join("shop")).unwrap();
    let manifest = format!(
        "name = 'shop'\n[environments]\nlive = 'service=live'\nhere = 'host={address} user=ada sslmode=require'\n"
    );
    fs::write(home.join("shop/howdah.toml"), manifest).unwrap();
    let root = tls.join("ca.pem").display().to_string();
    let string = |more: &str| format!("host={address} user=ada dbname={DATABASE} {more}");
    let to = |more: &str, variables: &[(&str, &str)]| deploy(home, &["--to", &string(more)], variables);
    let reached = |output: &Output| {
        text(&output.stdout).contains("deployment 1") || text(&output.stdout).contains("number 1")
    };
    let refused = |output: Output, told: &str| {
        let error = text(&output.stderr);
        assert!(!reached(&output) && error.contains(told) && !error.contains("secret"), "{told}: {error}");
    };

    refused(to("", &[]), "password");
    refused(to("password=wrong", &[]), "password authentication failed");
    refused(to("sslmode=disable password=\"it's secret\"", &[]), "the connection string cannot be read");
    refused(to("sslmode=disable password='it\\'s secret'", &[]), "no pg_hba.conf entry");
    refused(to("sslmode=verify-full password='it\\'s secret'", &[]), "sslrootcert=FILE");
    refused(to("sslmode=verify-full sslrootcert=system password='it\\'s secret'", &[]), "UnknownIssuer");

    let password = [("PGPASSWORD", "it's secret")];
    let output = to("", &password);
    assert!(reached(&output), "{}{}", text(&output.stdout), text(&output.stderr));
    let tls_is_used = "select count(*)::text from pg_stat_ssl where not ssl and pid in (select pid from pg_stat_activity where usename = 'ada')";
    assert_eq!(platform.value(tls_is_used).as_deref(), Some("0"));
    for more in ["sslmode=require channel_binding=require", &format!("sslmode=verify-ca sslrootcert={root}")]
    {
        let output = to(more, &password);
        assert!(reached(&output), "{more}: {}", text(&output.stderr));
    }
    // The certificate is another host's, and 127.0.0.1's.
    refused(to(&format!("sslmode=verify-full sslrootcert={root}"), &password), "not valid for");
    // Another authority.
    howdah_tests::https::openssl(
        tls,
        "req -x509 -newkey rsa:2048 -nodes -keyout other.key -subj /CN=other -days 10 -out other.pem",
    );
    let other = tls.join("other.pem").display().to_string();
    for mode in ["verify-ca", "require"] {
        refused(to(&format!("sslmode={mode} sslrootcert={other}"), &password), "UnknownIssuer");
    }

    // By a service, .pgpass, and the root certificate of the user; two at once.
    fs::create_dir(home.join(".postgresql")).unwrap();
    fs::copy(tls.join("ca.pem"), home.join(".postgresql/root.crt")).unwrap();
    fs::write(home.join(".pgpass"), format!("{address}:*:{DATABASE}:ada:it's secret\n")).unwrap();
    fs::write(
        home.join(".pg_service.conf"),
        format!("[live]\nhost={address}\nuser=ada\nsslmode=verify-ca\n"),
    )
    .unwrap();
    let output = deploy(home, &["--to", "live", "--to", "here"], &[("PGDATABASE", DATABASE)]);
    let told = text(&output.stdout);
    assert_eq!(
        told.matches("Nothing has changed since deployment 1.").count(),
        2,
        "{told}{}",
        text(&output.stderr)
    );
    let failed = deploy(home, &["--to", "service=none", "--to", "here"], &[("PGDATABASE", DATABASE)]);
    refused(failed, "there is no service none");
    let failed = deploy(home, &["--to", &string("port=1"), "--to", "here"], &[("PGDATABASE", DATABASE)]);
    refused(failed, &format!("Not tried after that: {DATABASE} on {address}:5432 as ada"));
}
