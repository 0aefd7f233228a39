//! A platform that speaks TLS, with certificates that openssl makes as docs/https.md has it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{Platform, free_port, wait_for};

/// A platform with a folder of certificates, and a port for TLS.
pub struct Https {
    /// The platform.
    pub platform: Platform,
    /// Where authority, certificates and keys are.
    pub folder: PathBuf,
    /// The port that speaks TLS.
    pub port: u16,
}

/// Runs a program in a folder.
pub fn run(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Runs openssl; a blank in an argument is written as a tilde.
pub fn openssl(folder: &Path, command: &str) {
    let arguments: Vec<String> = command.split(' ').map(|part| part.replace('~', " ")).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = run(folder, "openssl", &arguments);
    assert!(output.status.success(), "openssl {command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A chain and a key of this name, as the documentation makes them.
pub fn certify(folder: &Path, name: &str, subject: &str) {
    openssl(folder, &format!("ecparam -name prime256v1 -genkey -noout -out {name}.key"));
    openssl(
        folder,
        &format!(
            "req -new -key {name}.key -subj /CN={subject} -out {name}.csr \
             -addext subjectAltName=DNS:{subject},IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE"
        ),
    );
    openssl(
        folder,
        &format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 90 -copy_extensions copy -out {name}.crt"
        ),
    );
    let read = |file: String| fs::read_to_string(folder.join(file)).unwrap();
    let chain = read(format!("{name}.crt")) + &read("ca.pem".into());
    fs::write(folder.join(format!("{name}.pem")), chain).unwrap();
}

impl Https {
    /// With an authority, and nothing that listens by TLS.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Likewise, on a server with these settings.
    pub fn with(settings: &[(&str, &str)]) -> Self {
        let platform = Platform::with(settings);
        platform.sql(
            "create function hello() returns text language sql stable return 'hello';
             select http.route('GET', '/hello', 'hello')",
        );
        let folder = platform.cluster.path().join("tls");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        openssl(&folder, "ecparam -name prime256v1 -genkey -noout -out ca.key");
        openssl(
            &folder,
            "req -x509 -new -key ca.key -subj /CN=my~own~authority -days 3650 -out ca.pem \
             -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign",
        );
        Self { platform, folder, port: free_port() }
    }

    /// With a certificate for `localhost` in force.
    pub fn serving() -> Self {
        let https = Self::start();
        https.certify("server", "localhost");
        https.set(&https.pair("server"));
        https.listen();
        https.wait_until_bound();
        https
    }

    /// A certificate and its key, which the server may read.
    pub fn certify(&self, name: &str, subject: &str) {
        certify(&self.folder, name, subject);
        self.give_key(&format!("{name}.key"));
    }

    /// A key is the server's user's.
    pub fn give_key(&self, file: &str) {
        let owner = fs::metadata(self.platform.cluster.path().join("data")).unwrap().uid();
        let key = self.folder.join(file);
        chown(&key, Some(owner), None).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// The setting's entry for a certificate that [`Https::certify`] has made.
    pub fn pair(&self, name: &str) -> String {
        let folder = self.folder.display();
        format!("{folder}/{name}.pem:{folder}/{name}.key")
    }

    /// Sets `howdah.tls_certificates`.
    pub fn set(&self, certificates: &str) {
        self.platform.set("howdah.tls_certificates", certificates);
    }

    /// Listens by TLS.
    pub fn listen(&self) {
        self.platform.sql(&format!("select http.listen({}, '127.0.0.1', tls => true)", self.port));
    }

    /// What the view says of the listener; empty if it is bound.
    pub fn error(&self) -> String {
        let query = format!(
            "select coalesce(error, case when gateway is null then 'nobody has it yet' else '' end)
             from http.listeners where tls and port = {}",
            self.port
        );
        self.platform.value(&query).unwrap_or_else(|| "no row".into())
    }

    /// Waits until it listens.
    pub fn wait_until_bound(&self) {
        wait_for("it listens by TLS", || self.error().is_empty());
    }

    /// What curl says: the body, the version of HTTP, and whatever went wrong.
    pub fn curl(&self, arguments: &[&str], host: &str) -> String {
        let url = format!("https://{host}:{}/hello", self.port);
        let resolve = format!("{host}:{}:127.0.0.1", self.port);
        let common = ["-sS", "--cacert", "ca.pem", "--resolve", &resolve, "-w", " by %{http_version}", &url];
        let output = run(&self.folder, "curl", &[&common, arguments].concat());
        let both = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&both).into_owned()
    }

    /// How often the log has a text.
    pub fn log_count(&self, part: &str) -> usize {
        self.platform.log().matches(part).count()
    }
}
