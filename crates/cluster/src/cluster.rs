//! A data folder and its server.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use postgres::{Client, NoTls};

use crate::account::Account;
use crate::folder::{Folder, private_folder};
use crate::process::{PidFile, Process, of_data_folder, works_in};
use crate::{Error, Installation, Options, Result, configuration, keeper, private_server};

/// The name of the cluster's superuser.
const SUPERUSER: &str = "postgres";
/// Its port, which is a part of its socket's name.
const PORT: &str = "5432";
/// How long a start may take: crash recovery included.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the state of a server is looked at while it starts or stops.
const LOOK: Duration = Duration::from_millis(10);

/// What a server's life depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It ends when the process that started it ends, however that ends.
    WithParent,
    /// It goes on.
    Independent,
}

/// The ways to stop a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// When all clients have left.
    Smart,
    /// At once, in order: what runs is rolled back.
    Fast,
    /// At once; the next start recovers from the log.
    Immediate,
}

/// A data folder and, while it runs, its server.
#[derive(Debug)]
pub struct Cluster {
    installation: Installation,
    account: Option<Account>,
    folder: Folder,
    options: Options,
    /// The server, if this process has started it.
    child: Option<Child>,
}

impl Cluster {
    /// Prepares a folder: makes it, puts the extension into place, runs initdb where there is no data yet.
    /// Starts nothing.
    pub fn prepare(installation: Installation, folder: &Path, options: Options) -> Result<Self> {
        let account = Account::for_server()?;
        let folder = Folder::prepare(folder, account.as_ref())?;
        if let Some(pid) = running(&folder.data()) {
            return Err(Error::Running { pid });
        }
        let mut cluster = Self { installation, account, folder, options, child: None };
        cluster.check_version()?;
        if let Some(stage) = &cluster.options.stage {
            cluster.require_staged(stage)?;
            let server = cluster.folder.server();
            cluster.installation = private_server::lay_out(&cluster.installation, stage, &server)?;
        }
        if let Some(extension) = &cluster.options.preload {
            cluster.installation.require_extension(extension)?;
        }
        if !cluster.folder.data().join("PG_VERSION").exists() {
            cluster.initialize()?;
        }
        Ok(cluster)
    }

    /// One that does not run, of what is in its folder already.
    pub(crate) fn of_copy(
        folder: Folder,
        installation: Installation,
        account: Option<Account>,
        options: Options,
    ) -> Self {
        Self { installation, account, folder, options, child: None }
    }

    /// The folder and the installation of one that does not run.
    pub(crate) fn into_parts(self) -> (Folder, Installation) {
        (self.folder, self.installation)
    }

    /// The private copy of an installation in a cluster's folder.
    pub(crate) fn private_installation_in(folder: &Folder) -> Result<Installation> {
        let server = folder.server();
        let missing = || Error::file(&server, "find pg_config in")(ErrorKind::NotFound.into());
        Installation::at(&find_pg_config(&server).ok_or_else(missing)?)
    }

    /// A cluster whose server runs, started by whomever.
    pub fn attach(folder: &Path) -> Result<Self> {
        let asked = folder;
        let not_running = || Error::NotRunning { folder: asked.to_owned() };
        let folder = Folder::find(asked).map_err(|_| not_running())?;
        running(&folder.data()).ok_or_else(not_running)?;
        let private = folder.server();
        let installation = match find_pg_config(&private) {
            Some(pg_config) => Installation::at(&pg_config)?,
            None => Options::default().installation(asked)?,
        };
        Ok(Self {
            installation,
            account: Account::for_server()?,
            folder,
            options: Options::default(),
            child: None,
        })
    }

    fn check_version(&self) -> Result<()> {
        let data = self.folder.data();
        let Some(found) = self.folder.version() else { return Ok(()) };
        let wanted = self.installation.major;
        if found == wanted.to_string() { Ok(()) } else { Err(Error::OtherVersion { data, found, wanted }) }
    }

    /// A system's own copy of the extension must not stand in for one that was to be tried.
    fn require_staged(&self, stage: &Path) -> Result<()> {
        match self.options.preload.as_ref().map(|extension| stage.join(format!("{extension}.so"))) {
            Some(file) if !file.exists() => {
                Err(Error::Missing { file, remedy: "Build the extension first: make build".into() })
            }
            _ => Ok(()),
        }
    }

    /// Runs initdb in a folder beside, which becomes the data folder when all is well: an interrupted start
    /// leaves no half of a cluster.
    fn initialize(&self) -> Result<()> {
        let new = self.folder.path().join("data.new");
        let _ = fs::remove_dir_all(&new);
        private_folder(&new, self.account.as_ref())?;
        let program = self.installation.program("initdb");
        let mut command = Command::new(&program);
        command
            .arg("--pgdata")
            .arg(&new)
            .args(["--username", SUPERUSER, "--auth", "trust", "--encoding", "UTF8"])
            .args(["--locale", "C.UTF-8", "--locale-provider", "libc", "--lc-messages", "C"])
            .arg("--no-instructions");
        if self.options.unsafe_initdb {
            command.arg("--no-sync");
        }
        self.run(command)?;
        let data = self.folder.data();
        fs::rename(&new, &data).map_err(Error::file(&data, "make"))
    }

    /// Runs one of PostgreSQL's programs to its end, as the server's account.
    fn run(&self, mut command: Command) -> Result<()> {
        let program = PathBuf::from(command.get_program());
        self.shelter(&mut command);
        let output = command.stdin(Stdio::null()).output().map_err(Error::file(&program, "run"))?;
        if output.status.success() {
            return Ok(());
        }
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Err(Error::Failed { program, said })
    }

    /// The account, a folder that it can enter, and an environment without what directs PostgreSQL elsewhere.
    fn shelter(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PG") {
                command.env_remove(name);
            }
        }
        command.env_remove("LC_ALL").env_remove("LANGUAGE").env("LANG", "C.UTF-8");
        command.current_dir(self.folder.path());
        Account::apply(self.account.as_ref(), command);
    }

    /// Starts the server and waits until it takes connections.
    pub fn start(&mut self, life: Life) -> Result<()> {
        if let Some(pid) = self.pid() {
            return Err(Error::Running { pid });
        }
        let socket = self.folder.prepare_socket(self.account.as_ref())?;
        configuration::write(&self.folder, &self.settings(&socket))?;
        self.launch(life)
    }

    /// Starts the server with the configuration of its last start, whoever that was made by.
    pub fn start_again(&mut self, life: Life) -> Result<()> {
        if let Some(pid) = self.pid() {
            return Err(Error::Running { pid });
        }
        self.folder.prepare_socket(self.account.as_ref())?;
        self.launch(life)
    }

    fn launch(&mut self, life: Life) -> Result<()> {
        let log = self.open_log()?;
        let begin = log.metadata().map_or(0, |file| file.len());
        let program = self.installation.program("postgres");
        let mut command = Command::new(&program);
        command.arg("-D").arg(self.folder.data());
        command.arg("-c").arg(format!("config_file={}", self.folder.configuration().display()));
        self.shelter(&mut command);
        command.envs(self.options.environment.iter().cloned());
        let errors = log.try_clone().map_err(Error::file(&self.folder.log(), "open"))?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        // A group of its own: Ctrl-C on the terminal is for whoever started the server, not for the server.
        command.process_group(0);
        let child = match life {
            Life::WithParent => keeper::spawn(tied_to_parent(command)),
            Life::Independent => command.spawn(),
        };
        self.child = Some(child.map_err(Error::file(&program, "run"))?);
        self.await_ready(begin)
    }

    fn settings(&self, socket: &Path) -> Vec<(String, String)> {
        let socket = socket.to_string_lossy();
        let mut settings: Vec<(String, String)> = [
            ("listen_addresses", ""),
            ("port", PORT),
            ("unix_socket_directories", &socket),
            ("max_worker_processes", "48"),
            ("log_line_prefix", "%m [%p] "),
            ("cluster_name", "howdah"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        if let Some(extension) = &self.options.preload {
            settings.push(("shared_preload_libraries".into(), extension.clone()));
        }
        settings.extend(self.options.settings.iter().cloned());
        settings
    }

    fn open_log(&self) -> Result<File> {
        let path = self.folder.log();
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        opened.map_err(Error::file(&path, "open"))
    }

    fn await_ready(&mut self, log_begin: u64) -> Result<()> {
        let data = self.folder.data();
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let Some(child) = &mut self.child else {
                return Err(Error::NotRunning { folder: self.folder.path().to_owned() });
            };
            let pid = child.id();
            if PidFile::read(&data).is_some_and(|file| file.pid == pid && file.ready) {
                return Ok(());
            }
            if !matches!(child.try_wait(), Ok(None)) {
                self.child = None;
                return Err(Error::NotStarted { log: self.log_tail(log_begin) });
            }
            if Instant::now() > deadline {
                let log = self.log_tail(log_begin);
                self.stop(Shutdown::Immediate)?;
                return Err(Error::TooLong { what: "the start", log });
            }
            thread::sleep(LOOK);
        }
    }

    /// The last lines of the log, from a position on.
    fn log_tail(&self, begin: u64) -> String {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(self.folder.log())?;
            let begin = begin.max(file.metadata()?.len().saturating_sub(8192));
            file.seek(SeekFrom::Start(begin))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// The postmaster's number, if the server runs.
    pub fn pid(&self) -> Option<u32> {
        running(&self.folder.data())
    }

    /// The server's processes, postmaster included.
    pub fn processes(&self) -> Vec<Process> {
        of_data_folder(&self.folder.data())
    }

    /// Stops the server and waits until its postmaster is gone.
    pub fn stop(&mut self, how: Shutdown) -> Result<()> {
        let (signal, patience) = match how {
            Shutdown::Smart => (Signal::SIGTERM, Duration::from_secs(60)),
            Shutdown::Fast => (Signal::SIGINT, Duration::from_secs(60)),
            Shutdown::Immediate => (Signal::SIGQUIT, Duration::from_secs(15)),
        };
        self.end(signal, patience)
    }

    /// Kills the postmaster as `kill -9` does, and waits until it is gone. Its children notice by themselves.
    pub fn kill(&mut self) -> Result<()> {
        self.end(Signal::SIGKILL, Duration::from_secs(5))
    }

    fn end(&mut self, signal: Signal, patience: Duration) -> Result<()> {
        // A postmaster that has not written its file yet is known as our child alone.
        let known = self.child.as_ref().map(Child::id).or_else(|| self.pid());
        let pid = known.ok_or_else(|| Error::NotRunning { folder: self.folder.path().to_owned() })?;
        let number = Pid::from_raw(pid.cast_signed());
        match signal::kill(number, signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(Error::file(&self.folder.data(), "stop the server of")(error.into())),
        }
        let deadline = Instant::now() + patience;
        while self.is_alive(pid) {
            if Instant::now() > deadline {
                return Err(Error::TooLong { what: "the shutdown", log: self.log_tail(0) });
            }
            thread::sleep(LOOK);
        }
        self.child = None;
        Ok(())
    }

    fn is_alive(&mut self, pid: u32) -> bool {
        match &mut self.child {
            Some(child) if child.id() == pid => matches!(child.try_wait(), Ok(None)),
            _ => works_in(pid, &self.folder.data()),
        }
    }

    /// Stops the server and starts it again.
    pub fn restart(&mut self, how: Shutdown, life: Life) -> Result<()> {
        self.stop(how)?;
        self.start(life)
    }

    /// Changes a setting for the next start.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.options.settings.push((name.to_owned(), value.to_string()));
    }

    /// Changes a setting of the running server until its next start, and has it read its configuration. What
    /// ALTER SYSTEM has set is stronger.
    pub fn reconfigure(&self, name: &str, value: &str) -> Result<()> {
        configuration::append(&self.folder, name, value)?;
        self.execute("postgres", "select pg_reload_conf()")
    }

    /// Changes a setting of the running server until it is started by other options. Whether it is in force, or will be
    /// after a restart.
    ///
    /// # Errors
    ///
    /// [`Error::BadValue`], and nothing has changed, if the server refuses the value.
    pub fn change(&self, name: &str, value: &str) -> Result<bool> {
        let before = configuration::append(&self.folder, name, value)?;
        let mut client = self.connect("postgres")?;
        let query = "select s.context = 'postmaster', f.error from pg_file_settings f left join pg_settings s using (name)
                     where lower(f.name) = lower($1) order by f.seqno desc limit 1";
        let row = client.query_one(query, &[&name])?;
        let needs_restart = row.get::<_, Option<bool>>(0).unwrap_or_default();
        let error: Option<String> = row.get(1);
        if let Some(why) = error.filter(|_| !needs_restart) {
            configuration::replace(&self.folder, &before)?;
            return Err(Error::BadValue { name: name.to_owned(), why });
        }
        client.batch_execute("select pg_reload_conf()")?;
        Ok(!needs_restart)
    }

    /// How the server has ended, if this process has started it and it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok()?
    }

    /// A connection as the superuser.
    pub fn connect(&self, database: &str) -> Result<Client> {
        let mut config = postgres::Config::new();
        config.host_path(self.socket()?).user(SUPERUSER).dbname(database).application_name("howdah");
        Ok(config.connect(NoTls)?)
    }

    /// Runs statements as the superuser, on a connection of their own.
    pub fn execute(&self, database: &str, statements: &str) -> Result<()> {
        Ok(self.connect(database)?.batch_execute(statements)?)
    }

    /// The folder of the server's socket.
    pub fn socket(&self) -> Result<PathBuf> {
        self.folder.socket()
    }

    /// A connection string for psql and other programs of libpq.
    pub fn connection_string(&self, database: &str) -> Result<String> {
        let quoted = |text: &str| format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"));
        let socket = self.socket()?;
        Ok(format!("host={} user={SUPERUSER} dbname={}", quoted(&socket.to_string_lossy()), quoted(database)))
    }

    /// Variables of the environment by which programs of libpq find a database.
    pub fn environment(&self, database: &str) -> Result<[(&'static str, OsString); 4]> {
        let socket = self.socket()?.into_os_string();
        let port = PORT.into();
        Ok([
            ("PGHOST", socket),
            ("PGPORT", port),
            ("PGUSER", SUPERUSER.into()),
            ("PGDATABASE", database.into()),
        ])
    }

    /// The server's log.
    pub fn log(&self) -> PathBuf {
        self.folder.log()
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.data()
    }

    /// The cluster's folder, links resolved.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The installation that the server is of.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// The account that the server runs as, if not our own.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Stops the server and removes the folder with all that is in it.
    pub(crate) fn remove(&mut self, asked: &Path) {
        // What has ended already cannot be stopped, and is removed all the same.
        let _ = self.stop(Shutdown::Immediate);
        self.folder.remove(asked);
    }
}

/// The postmaster of a data folder. A number left behind by a server that was killed may meanwhile be another
/// process, so its working folder must be the data folder.
fn running(data: &Path) -> Option<u32> {
    PidFile::read(data).map(|file| file.pid).filter(|pid| works_in(*pid, data))
}

/// The `pg_config` of a private server: in the only folder called `bin`.
fn find_pg_config(server: &Path) -> Option<PathBuf> {
    let mut folders = vec![server.to_owned()];
    while let Some(folder) = folders.pop() {
        let candidate = folder.join("pg_config");
        if candidate.is_file() {
            return Some(candidate);
        }
        let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            inside
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
    None
}

/// Lets the kernel end the server at once when the thread that starts it ends.
fn tied_to_parent(mut command: Command) -> Command {
    let parent = Pid::this();
    let tie = move || {
        nix::sys::prctl::set_pdeathsig(Signal::SIGQUIT)?;
        // The parent may have ended before the kernel knew.
        if nix::unistd::getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    // SAFETY: the closure makes two system calls and neither allocates nor locks. It runs after the change of
    // user, which would undo it.
    unsafe { command.pre_exec(tie) };
    command
}
