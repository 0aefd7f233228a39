//! HTTPS as docs/https.md has it: certificates made by openssl alone, and the clients that people have.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use howdah_tests::https::{Https, certify, run};
use howdah_tests::{free_port, wait_for};

#[test]
fn the_clients_that_people_have_get_the_answer() {
    let https = Https::serving();
    for (arguments, said) in [
        (&[][..], "hello by 2"),
        (&["--http1.1"], "hello by 1.1"),
        (&["--http1.0"], "hello by 1.1"),
        (&["--tls-max", "1.2"], "hello by 2"),
        (&["--no-alpn"], "hello by 1.1"),
    ] {
        assert_eq!(https.curl(arguments, "localhost"), said, "{arguments:?}");
    }
    assert!(https.curl(&["--tls-max", "1.1"], "localhost").contains("curl: (35)"), "TLS 1.1 is not spoken");
    assert!(
        https.curl(&[], "other.test").contains("curl: (60)"),
        "the default certificate is for another name"
    );
    let port = https.port;
    let python = format!(
        "import ssl, urllib.request\n\
         context = ssl.create_default_context(cafile='ca.pem')\n\
         print(urllib.request.urlopen('https://localhost:{port}/hello', context=context).read().decode())"
    );
    let node = format!(
        "require('https').get({{host: 'localhost', port: {port}, path: '/hello', ca: require('fs').readFileSync('ca.pem')}},\
         answer => answer.on('data', data => console.log(String(data))))"
    );
    let requests = format!(
        "printf 'GET /hello HTTP/1.0\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -CAfile ca.pem \
        -servername localhost -connect 127.0.0.1:{port} 2>/dev/null"
    );
    for (program, arguments) in
        [("python3", ["-c", &python]), ("node", ["-e", &node]), ("sh", ["-c", &requests])]
    {
        let output = run(&https.folder, program, &arguments);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.trim_end().ends_with("hello"),
            "{program}: {said} {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let clear = run(&https.folder, "curl", &["-sS", &format!("http://127.0.0.1:{port}/hello")]);
    assert_eq!(
        String::from_utf8_lossy(&clear.stdout),
        "This port speaks HTTPS: begin the address with https://"
    );
}

#[test]
fn a_listener_says_why_it_does_not_listen_and_does_so_by_itself_when_it_can() {
    let https = Https::start();
    https.listen();
    wait_for("it says why", || https.error().contains("howdah.tls_certificates names no certificate"));
    let folder = https.folder.display().to_string();
    let says = |part: &str| wait_for(part, || https.error().contains(part));
    https.set(&format!("{folder}/none.pem:{folder}/none.key"));
    says("none.pem\": No such file");
    https.certify("server", "localhost");
    fs::set_permissions(https.folder.join("server.key"), fs::Permissions::from_mode(0o640)).unwrap();
    https.set(&https.pair("server"));
    says("server.key\" has group or world access");
    https.give_key("server.key");
    https.certify("other", "localhost");
    https.set(&format!("{folder}/other.pem:{folder}/server.key"));
    says("the key belongs to none of the certificates (CN=localhost");
    https.set("server.pem:server.key");
    says("a relative path, \"server.pem\"");
    assert_eq!(https.platform.get("/hello").text(), "hello", "nothing else is kept from its work");
    https.set(&format!("postgres={}, {}", https.pair("other"), https.pair("server")));
    https.wait_until_bound();
    assert_eq!(https.curl(&[], "localhost"), "hello by 2");
    let socket =
        https.platform.session().batch_execute("select http.listen(1, '/tmp', tls => true)").unwrap_err();
    let socket = socket.as_db_error().unwrap().message().to_owned();
    assert!(socket.contains("UNIX sockets") || socket.contains("does not allow"), "{socket}");
}

#[test]
fn new_files_are_taken_over_and_bad_ones_are_not() {
    let https = Https::serving();
    https.certify("new", "new.test");
    let files = |from: &str, to: &str| fs::rename(https.folder.join(from), https.folder.join(to)).unwrap();
    // The certificate comes before its key: they do not belong together.
    files("new.pem", "server.pem");
    https.platform.sql("select pg_reload_conf()");
    wait_for("it is said", || https.log_count("the one before stays in force") == 1);
    for _ in 0..3 {
        https.platform.sql("select pg_reload_conf()");
        assert_eq!(https.curl(&[], "localhost"), "hello by 2");
    }
    files("new.key", "server.key");
    https.platform.sql("select pg_reload_conf()");
    wait_for("the new one is in force", || https.curl(&[], "new.test") == "hello by 2");
    // What is being written is no certificate.
    let whole = fs::read(https.folder.join("server.pem")).unwrap();
    fs::write(https.folder.join("server.pem"), &whole[..whole.len() / 3]).unwrap();
    https.platform.sql("select pg_reload_conf()");
    wait_for("it is said", || https.log_count("the one before stays in force") == 2);
    assert_eq!(https.curl(&[], "new.test"), "hello by 2");
    assert_eq!(https.log_count("the one before stays in force"), 2, "each is said once");
}

/// A gateway that starts has no certificate of before. So none leaves for it; one that has crashed leaves nobody.
#[test]
fn no_gateway_leaves_for_one_that_cannot_read_its_certificates_and_one_that_starts_tries_until_it_can() {
    let https = Https::serving();
    let gateways = || https.platform.workers("gateway");
    let before = gateways();
    https.certify("new", "new.test");
    let files = |from: &str, to: &str| fs::rename(https.folder.join(from), https.folder.join(to)).unwrap();
    // They do not belong together.
    files("server.key", "old.key");
    fs::copy(https.folder.join("new.key"), https.folder.join("server.key")).unwrap();
    https.give_key("server.key");
    let refused = https.platform.session().batch_execute("select http.replace_gateways()").unwrap_err();
    let refused = refused.as_db_error().unwrap();
    assert_eq!(refused.code().code(), "55000");
    assert!(refused.message().contains("server.pem"), "{}", refused.message());
    assert_eq!(https.curl(&[], "localhost"), "hello by 2");
    assert_eq!(gateways(), before, "none was asked to leave");
    // One that is asked to leave otherwise, while it has what no other can read, waits for one that has.
    https.platform.set("howdah.gateways", "2");
    wait_for("there is another", || gateways().len() == 2);
    wait_for("it is said", || https.log_count("server.pem") > 0);
    https.platform.set("howdah.gateways", "1");
    let leaves = format!("http.workers where leaving and pid = {}", before[0]);
    wait_for("the older one is to leave", || https.platform.count(&leaves) == 1);
    // Announcing its end takes a second, and these take more.
    for _ in 0..200 {
        assert_eq!(https.curl(&[], "localhost"), "hello by 2");
    }
    assert_eq!(https.platform.count(&leaves), 1);
    // After a crash nobody has it any more, and the listener says why, until it can be read.
    let before = gateways();
    https.platform.sql("select pg_terminate_backend(pid) from http.workers where kind = 'gateway'");
    wait_for("there is another", || gateways().iter().any(|gateway| !before.contains(gateway)));
    wait_for("the others are gone", || !gateways().iter().any(|gateway| before.contains(gateway)));
    wait_for("it is said why", || https.error().contains("there is no certificate"));
    assert!(https.curl(&[], "localhost").contains("curl: (7)"), "nobody listens");
    files("old.key", "server.key");
    wait_for("it listens again", || https.curl(&[], "localhost") == "hello by 2");
    https.platform.sql("select http.replace_gateways()");
    assert_eq!(https.curl(&[], "localhost"), "hello by 2");
}

/// A client that asks over and over, each time on a connection of its own, until its input ends; it says how often, or what failed.
const ASKING: &str = "
import http.client, select, ssl, sys
context, count = ssl.create_default_context(cafile='ca.pem'), 0
while not select.select([sys.stdin], [], [], 0)[0]:
    client = http.client.HTTPSConnection('localhost', int(sys.argv[1]), timeout=20, context=context)
    client.request('GET', '/hello')
    assert client.getresponse().read() == b'hello'
    client.close()
    count += 1
print(count)
";

#[test]
fn files_are_replaced_a_hundred_times_under_load_without_a_failed_handshake() {
    let https = Https::start();
    https.platform.set("howdah.gateways", "2");
    let live = https.folder.join("live");
    // As Kubernetes has them: links to a link to a folder.
    let version = |number: u32| {
        let folder = https.folder.join(format!("version{number}"));
        fs::create_dir_all(&folder).unwrap();
        https.certify(&format!("{number}"), "localhost");
        for (made, kept) in [("pem", "tls.crt"), ("key", "tls.key")] {
            fs::rename(https.folder.join(format!("{number}.{made}")), folder.join(kept)).unwrap();
        }
        folder
    };
    let versions = [version(0), version(1)];
    let link_to = |folder: &std::path::Path| {
        let new = https.folder.join("new");
        std::os::unix::fs::symlink(folder, &new).unwrap();
        fs::rename(&new, &live).unwrap();
    };
    link_to(&versions[0]);
    let plain = [https.folder.join("plain.pem"), https.folder.join("plain.key")];
    https.certify("plain", "plain.test");
    https.set(&format!("{}, {}", live.display(), https.pair("plain")));
    https.listen();
    https.wait_until_bound();
    let mut clients: Vec<_> = (0..2)
        .map(|_| {
            let mut command = std::process::Command::new("python3");
            command.args(["-c", ASKING, &https.port.to_string()]).current_dir(&https.folder);
            let pipe = std::process::Stdio::piped;
            command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap()
        })
        .collect();
    for round in 0..100 {
        link_to(&versions[round % 2]);
        // The certificate comes before its key, and half of it at first.
        https.certify("plain.new", "plain.test");
        let new = fs::read(https.folder.join("plain.new.pem")).unwrap();
        fs::write(&plain[0], &new[..new.len() / 2]).unwrap();
        https.platform.sql("select pg_reload_conf()");
        fs::write(&plain[0], &new).unwrap();
        https.platform.sql("select pg_reload_conf()");
        fs::rename(https.folder.join("plain.new.key"), &plain[1]).unwrap();
        https.platform.sql("select pg_reload_conf()");
    }
    for client in &mut clients {
        drop(client.stdin.take());
    }
    for client in clients {
        let output = client.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.trim().parse::<u32>().unwrap() > 100, "{said}");
    }
    let last = "http.certificates where in_force and problem is null and file like '%/plain.pem'";
    wait_for("both gateways have the last one", || https.platform.count(last) == 2);
    assert_eq!(https.curl(&[], "plain.test"), "hello by 2");
}

/// A client that sends lines, and closes without a look at what it could read.
const LEAVING: &str = "
import socket, ssl, sys
context = ssl.create_default_context(cafile='ca.pem')
for number in range(200):
    connection = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 20)
    client = context.wrap_socket(connection, server_hostname='localhost')
    client.sendall(b''.join(b'{\"body\": \"%d-%d\"}\\n' % (number, line) for line in range(20)))
    client.close()
";

#[test]
fn a_client_that_sends_lines_and_leaves_loses_none() {
    let https = Https::serving();
    let lines = free_port();
    https.platform.sql(&format!(
        "create table note (body text); grant insert on note to howdah_web;
         select queue.listen({lines}, into_table => 'note', address => '127.0.0.1', tls => true)"
    ));
    wait_for("it listens", || std::net::TcpStream::connect(("127.0.0.1", lines)).is_ok());
    let output = run(&https.folder, "python3", &["-c", LEAVING, &lines.to_string()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    wait_for("all are stored", || https.platform.count("note") == 4000);
    assert_eq!(https.platform.value("select count(distinct body)::text from note").as_deref(), Some("4000"));
}

/// They write it down at the same time.
#[test]
fn each_of_several_gateways_shows_each_change() {
    let https = Https::start();
    https.platform.set("howdah.gateways", "4");
    https.certify("server", "localhost");
    wait_for("there are four", || https.platform.count("http.workers where kind = 'gateway'") == 4);
    for round in 0..15 {
        // Another place in the setting, and another name.
        fs::copy(https.folder.join("server.pem"), https.folder.join(format!("round{round}.pem"))).unwrap();
        let folder = https.folder.display();
        https.set(&format!("{folder}/round{round}.pem:{folder}/server.key"));
        let shown = format!("http.certificates where in_force and file like '%/round{round}.pem'");
        wait_for(&shown, || https.platform.count(&shown) == 4);
    }
}

#[test]
fn a_folder_of_several_certificates_has_no_default_and_says_so() {
    let https = Https::start();
    let live = https.folder.join("live");
    for name in ["one", "other"] {
        https.certify(name, &format!("{name}.test"));
        let of_host = live.join(name);
        fs::create_dir_all(&of_host).unwrap();
        fs::copy(https.folder.join(format!("{name}.pem")), of_host.join("fullchain.pem")).unwrap();
        fs::copy(https.folder.join(format!("{name}.key")), of_host.join("privkey.pem")).unwrap();
        let key = of_host.join("privkey.pem").display().to_string();
        https.give_key(&key);
    }
    https.set(&live.display().to_string());
    https.listen();
    https.wait_until_bound();
    let problem = "http.certificates where kind = 'setting' and problem like 'no certificate is the default%name one by its file'";
    wait_for("the view says so", || https.platform.count(problem) == 1);
    assert_eq!(https.curl(&[], "other.test"), "hello by 2");
    let nameless = https.curl(&["-k", &format!("https://127.0.0.1:{}/hello", https.port)], "one.test");
    assert!(nameless.contains("alert"), "{nameless}");
    wait_for("the log says why", || https.log_count("and none is the default: name one by its file") > 0);
    https.set(&format!("{}, {}", https.pair("one"), live.display()));
    wait_for("there is one", || https.platform.count("http.certificates where is_default") == 1);
    assert_eq!(https.platform.count(problem), 0);
    assert_eq!(https.log_count("unexpected error"), 0);
    // Others that fail are told in words as well.
    let mut clear = std::net::TcpStream::connect(("127.0.0.1", https.port)).unwrap();
    std::io::Write::write_all(&mut clear, b"EHLO localhost\r\n").unwrap();
    wait_for("clear text is told", || https.log_count("what the client sent is no TLS") > 0);
    let options = [
        "s_client",
        "-tls1_1",
        "-cipher",
        "ALL:@SECLEVEL=0",
        "-connect",
        &format!("127.0.0.1:{}", https.port),
    ];
    run(&https.folder, "openssl", &options);
    wait_for("an old version is told", || {
        https.log_count("the client speaks no version of TLS from 1.2 on") > 0
    });
}

#[test]
fn a_view_shows_what_each_gateway_has_in_force_and_what_is_wrong() {
    let https = Https::start();
    https.platform.set("howdah.gateways", "2");
    https.certify("server", "localhost");
    certify(&https.folder, "other", "other.test");
    let folder = https.folder.display().to_string();
    https.set(&format!("{}, {folder}/other.pem:{folder}/none.key", https.pair("server")));
    https.platform.set("howdah.tls_client_authorities", &format!("{folder}/ca.pem"));
    let shows = |rows: &str, count: i64| {
        wait_for(rows, || https.platform.count(&format!("http.certificates where {rows}")) == count);
    };
    shows(
        "kind = 'certificate' and in_force and is_default and names = '{localhost,127.0.0.1}' and problem is null
         and key = 'ECDSA P-256' and issuer = 'CN=my own authority' and file like '%/server.pem' and key_file like '%/server.key'
         and not_after - not_before = '90 days' and not_before <= now()",
        2,
    );
    shows("file like '%/other.pem' and not in_force and problem like '%none.key%No such file%'", 2);
    shows("kind = 'authority' and in_force and names = '{CN=my own authority}' and file like '%/ca.pem'", 2);
    // What was there before stays in force, and the row says why.
    fs::write(https.folder.join("server.pem"), "nothing").unwrap();
    https.platform.sql("select pg_reload_conf()");
    shows("file like '%/server.pem' and in_force and problem like '%the one before stays in force'", 2);
    https.platform.set("howdah.gateways", "1");
    shows("file like '%/server.pem'", 1);
    https.set("server.pem");
    shows("kind = 'setting' and not in_force and problem like '%relative path%'", 1);
    https.platform.sql("create role reader; set role reader; reset role");
    let refused = https.platform.session().batch_execute("set role reader; select * from http.certificates");
    assert_eq!(refused.unwrap_err().code().unwrap().code(), "42501", "not for everybody");
}

#[test]
fn names_choose_among_the_certificates_of_folders() {
    let https = Https::start();
    https.certify("server", "localhost");
    for name in ["one.test", "two.test"] {
        // As certbot has them.
        let live = https.folder.join("live").join(name);
        fs::create_dir_all(&live).unwrap();
        certify(&https.folder, name, name);
        fs::rename(https.folder.join(format!("{name}.pem")), live.join("fullchain.pem")).unwrap();
        fs::rename(https.folder.join(format!("{name}.key")), live.join("privkey.pem")).unwrap();
        https.give_key(&format!("live/{name}/privkey.pem"));
    }
    fs::write(https.folder.join("live/README"), "This directory contains your keys and certificates.")
        .unwrap();
    https.set(&format!("{}/live, {}", https.folder.display(), https.pair("server")));
    https.listen();
    https.wait_until_bound();
    for name in ["one.test", "TWO.test", "localhost"] {
        assert_eq!(https.curl(&[], name), "hello by 2", "{name}");
    }
    let unknown = https.curl(&[], "three.test");
    assert!(unknown.contains("no alternative certificate subject name matches"), "the default: {unknown}");
    https.set(&https.pair("server"));
    wait_for("what the setting no longer names is in force no more", || {
        https.curl(&[], "one.test").contains("(60)")
    });
    assert_eq!(https.curl(&[], "localhost"), "hello by 2");
}

#[test]
fn lines_come_by_tls_and_half_a_line_of_who_is_cut_off_does_not() {
    let https = Https::serving();
    let lines = free_port();
    https.platform.sql(&format!(
        "create table note (body text);
         grant insert on note to howdah_web;
         select queue.listen({lines}, into_table => 'note', address => '127.0.0.1', tls => true)"
    ));
    let send = |text: &str, end: &str| {
        let script = format!(
            "import socket, ssl\n\
             context = ssl.create_default_context(cafile='ca.pem')\n\
             with context.wrap_socket(socket.create_connection(('127.0.0.1', {lines}), 20), server_hostname='localhost') as client:\n\
             \x20   client.sendall({text:?}.encode())\n\
             \x20   {end}\n"
        );
        let output = run(&https.folder, "python3", &["-c", &script]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    wait_for("it listens", || std::net::TcpStream::connect(("127.0.0.1", lines)).is_ok());
    send("{\"body\": \"a\"}\n{\"body\": \"b\"}", "client.unwrap()");
    wait_for("both are stored", || https.platform.count("note") == 2);
    send(
        "{\"body\": \"c\"}\n{\"body\": \"d\"}",
        "socket.socket.shutdown(client, socket.SHUT_WR); client.recv(1)",
    );
    wait_for("the whole line is stored", || https.platform.count("note where body = 'c'") == 1);
    send("{\"body\": \"e\"}\n", "pass");
    wait_for("the next is stored", || https.platform.count("note where body = 'e'") == 1);
    assert_eq!(https.platform.count("note"), 4, "half a line is none");
}
