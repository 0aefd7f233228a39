//! Sockets that accept connections.

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::fs::{File, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::Waker;
use std::time::{Duration, Instant};

use addresses::Address;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use tls::Configuration;

use crate::lines::Lines;
use crate::lines::terms::Terms;

/// Who else may listen on the same TCP port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody.
    Alone,
    /// Processes that join later. That the port is free now is tried first, because with SO_REUSEPORT a second
    /// process of the same user would succeed silently.
    First,
    /// Processes that listen already, or will: the port is taken with SO_REUSEPORT and without a trial. The path of a UNIX
    /// socket, which only one can have, is taken from whoever has it now.
    Joining,
}

/// What to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// The owner's name for it; see [`crate::Server::unlisten`].
    pub id: u32,
    /// Where.
    pub address: Address,
    /// Who else may.
    pub sharing: Sharing,
    /// Connections that the kernel keeps before they are accepted; it bounds them by net.core.somaxconn.
    pub backlog: i32,
    /// The permissions of a UNIX socket's file.
    pub mode: u32,
    /// The terms on which it takes lines; none if it speaks HTTP.
    pub lines: Option<Terms>,
    /// How it speaks TLS; none if it speaks clear text, as UNIX sockets do.
    pub tls: Option<Configuration>,
}

impl Listener {
    /// A listener that shares its port with nobody, with a backlog of 1,024 and mode 0777.
    pub fn new(id: u32, address: Address) -> Self {
        Self { id, address, sharing: Sharing::Alone, backlog: 1024, mode: 0o777, lines: None, tls: None }
    }
}

/// Whether an address can be listened on now: an error of kind AddrInUse if any process has it, this user's others
/// included. Of a TCP port: PermissionDenied below 1024, AddrNotAvailable for an address of another host. Of a UNIX
/// socket: NotFound, PermissionDenied and the like if no file can be made in its folder.
pub fn address_is_free(address: &Address) -> io::Result<()> {
    match address {
        Address::Tcp(address) => bind_tcp(*address, false)?.listen(1),
        Address::Unix(path) => path_is_free(path),
    }
}

fn path_is_free(path: &Path) -> io::Result<()> {
    SockAddr::unix(path)?;
    if std::fs::symlink_metadata(path).is_ok() && !is_abandoned(path) {
        return Err(io::Error::from_raw_os_error(libc::EADDRINUSE));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let folder = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: the call reads a string that ends with a zero byte.
    match unsafe { libc::access(folder.as_ptr(), libc::W_OK | libc::X_OK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the server and the connections know of a listener.
pub(crate) struct ListenerState {
    pub id: u32,
    pub accepted: Cell<u64>,
    pub open: Cell<usize>,
    draining: Cell<bool>,
    /// Who is on the way when it accepts no more is waited for.
    latecomers: Cell<bool>,
    /// What it knows of lines, if it takes them.
    pub lines: Option<Rc<Lines>>,
    /// How clients that come from now on shake hands.
    pub tls: RefCell<Option<Configuration>>,
    /// The accepting task.
    pub waker: RefCell<Option<Waker>>,
    /// The file to remove, and its device and inode, by which it is known to be still ours.
    file: Option<(PathBuf, u64, u64)>,
}

impl ListenerState {
    pub(crate) fn new(listener: &Listener, file: Option<(PathBuf, u64, u64)>) -> Self {
        Self {
            id: listener.id,
            lines: listener.lines.clone().map(|terms| Rc::new(Lines::new(terms))),
            tls: RefCell::new(listener.tls.clone()),
            accepted: Cell::new(0),
            open: Cell::new(0),
            draining: Cell::new(false),
            latecomers: Cell::new(false),
            waker: RefCell::new(None),
            file,
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Whether who is on the way is waited for once it accepts no more.
    pub(crate) fn waits_for_latecomers(&self) -> bool {
        self.latecomers.get()
    }

    /// Accepts no more. The connections have to be woken, too.
    pub(crate) fn drain(&self, latecomers: bool) {
        self.latecomers.set(latecomers);
        self.draining.set(true);
        self.remove_file();
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Whether it has a file, and its path leads to it.
    pub(crate) fn has_its_path(&self) -> bool {
        self.file.as_ref().is_some_and(|(path, device, inode)| {
            std::fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (*device, *inode))
        })
    }

    fn remove_file(&self) {
        if self.has_its_path()
            && let Some((path, ..)) = &self.file
        {
            // Whoever else has removed it meanwhile has done what was to be done.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for ListenerState {
    fn drop(&mut self) {
        if !self.is_draining() {
            self.remove_file();
        }
    }
}

/// A bound socket that listens, its state and where it listens.
pub(crate) struct Bound {
    pub socket: Socket,
    pub state: ListenerState,
    pub address: Address,
}

/// Binds and listens. The socket does not block and is closed on exec.
pub(crate) fn bind(listener: &Listener) -> io::Result<Bound> {
    match &listener.address {
        Address::Tcp(address) => {
            if listener.sharing == Sharing::First && address.port() != 0 {
                // It fails beside a socket that listens. It does not listen itself: who connected to it would be reset.
                bind_tcp(*address, false)?;
            }
            let socket = bind_tcp(*address, listener.sharing != Sharing::Alone)?;
            // Accepted sockets inherit this, which saves a system call for each connection.
            socket.set_tcp_nodelay(true)?;
            let bound = socket.local_addr()?.as_socket().unwrap_or(*address);
            listen(listener, socket, None, Address::Tcp(bound))
        }
        Address::Unix(path) => {
            // Whether somebody has the path is looked at before it is taken.
            let _binding = lock_folder(path);
            let socket = bind_unix(path, listener)?;
            let file = std::fs::symlink_metadata(path)?;
            let file = Some((path.clone(), file.dev(), file.ino()));
            listen(listener, socket, file, listener.address.clone())
        }
    }
}

fn listen(
    listener: &Listener,
    socket: Socket,
    file: Option<(PathBuf, u64, u64)>,
    address: Address,
) -> io::Result<Bound> {
    let state = ListenerState::new(listener, file);
    socket.listen(listener.backlog)?;
    socket.set_nonblocking(true)?;
    Ok(Bound { socket, state, address })
}

fn bind_tcp(address: SocketAddr, reuse_port: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Connections of an earlier listener that linger in TIME_WAIT are no reason to fail.
    socket.set_reuse_address(true)?;
    if reuse_port {
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        // So that 0.0.0.0 and [::] can be listened on beside each other, as PostgreSQL does.
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

/// How long [`lock_folder`] tries; binding takes a fraction of a millisecond.
const BINDING: Duration = Duration::from_millis(100);

/// Keeps other gateways from binding in a path's folder while what is returned lives. None where that cannot be had: who
/// holds a lock on a folder that all may read must not keep this from binding.
fn lock_folder(path: &Path) -> Option<File> {
    let folder = File::open(path.parent()?).ok()?;
    let until = Instant::now() + BINDING;
    loop {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return None,
        }
    }
}

/// Binds a UNIX socket, in the place of one that nobody listens on any more, or of any if it joins. It listens under
/// another name first: at no time the path leads to a socket that takes no connections, or to none.
fn bind_unix(path: &Path, listener: &Listener) -> io::Result<Socket> {
    SockAddr::unix(path)?;
    let new = Unnamed(path.with_file_name(temporary_name()));
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(&new.0)?)?;
    std::fs::set_permissions(&new.0, std::fs::Permissions::from_mode(listener.mode))?;
    socket.listen(listener.backlog)?;
    match listener.sharing {
        Sharing::Joining if is_socket(path) => std::fs::rename(&new.0, path)?,
        _ => name_socket(&new.0, path)?,
    }
    Ok(socket)
}

/// A name that no other socket in the folder has, shorter than those that listeners have.
fn temporary_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(".h{}.{}", std::process::id(), NEXT.fetch_add(1, Relaxed) % 100)
}

/// A file whose name is to be removed.
struct Unnamed(PathBuf);

impl Drop for Unnamed {
    fn drop(&mut self) {
        // Renamed, it has the name no more.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Gives a socket the path, unless somebody has it.
fn name_socket(new: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(new, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !is_abandoned(path) {
                return Err(io::Error::from_raw_os_error(libc::EADDRINUSE));
            }
            std::fs::rename(new, path)
        }
        other => other,
    }
}

/// Whether it is a socket that nobody listens on.
fn is_abandoned(path: &Path) -> bool {
    is_socket(path)
        && try_connecting(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

/// Does not wait for room in the other's backlog, as a socket that blocks would.
fn try_connecting(path: &Path) -> io::Result<()> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.connect(&SockAddr::unix(path)?)
}
