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
use std::task::Waker;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::lines::Lines;
use crate::lines::terms::Terms;

/// Where a listener listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An IPv4 or IPv6 address; an IPv6 one takes no IPv4 connections. Port 0 takes any free port.
    Tcp(SocketAddr),
    /// The path of a UNIX socket, at most 107 bytes.
    Unix(PathBuf),
}

/// Who else may listen on the same TCP port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody.
    Alone,
    /// Processes that join later. That the port is free now is tried first, because with SO_REUSEPORT a second
    /// process of the same user would succeed silently.
    First,
    /// Processes that listen already, or will: the port is taken with SO_REUSEPORT and without a trial.
    Joining,
}

/// What to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// The owner's name for it; see [`crate::Server::unlisten`].
    pub id: u32,
    /// Where.
    pub address: Address,
    /// Who else may; without meaning for UNIX sockets.
    pub sharing: Sharing,
    /// Connections that the kernel keeps before they are accepted; it bounds them by net.core.somaxconn.
    pub backlog: i32,
    /// The permissions of a UNIX socket's file.
    pub mode: u32,
    /// The terms on which it takes lines; none if it speaks HTTP.
    pub lines: Option<Terms>,
}

impl Listener {
    /// A listener that shares its port with nobody, with a backlog of 1,024 and mode 0777.
    pub fn new(id: u32, address: Address) -> Self {
        Self { id, address, sharing: Sharing::Alone, backlog: 1024, mode: 0o777, lines: None }
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
    /// What it knows of lines, if it takes them.
    pub lines: Option<Rc<Lines>>,
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
            accepted: Cell::new(0),
            open: Cell::new(0),
            draining: Cell::new(false),
            waker: RefCell::new(None),
            file,
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Accepts no more. The connections have to be woken, too.
    pub(crate) fn drain(&self) {
        self.draining.set(true);
        self.remove_file();
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    fn remove_file(&self) {
        let Some((path, device, inode)) = &self.file else { return };
        let is_ours =
            std::fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (*device, *inode));
        if is_ours {
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
                bind_tcp(*address, false)?.listen(1)?;
            }
            let socket = bind_tcp(*address, listener.sharing != Sharing::Alone)?;
            // Accepted sockets inherit this, which saves a system call for each connection.
            socket.set_tcp_nodelay(true)?;
            let bound = socket.local_addr()?.as_socket().unwrap_or(*address);
            listen(listener, socket, None, Address::Tcp(bound))
        }
        Address::Unix(path) => {
            // Until the socket listens it looks as if nobody did.
            let _binding = lock_folder(path);
            let socket = bind_unix(path)?;
            let file = std::fs::symlink_metadata(path)?;
            let file = Some((path.clone(), file.dev(), file.ino()));
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(listener.mode))?;
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

/// Binds a UNIX socket, in the place of one that nobody listens on any more.
fn bind_unix(path: &Path) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    let address = SockAddr::unix(path)?;
    match socket.bind(&address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
            std::fs::remove_file(path)?;
            socket.bind(&address)?;
        }
        other => other?,
    }
    Ok(socket)
}

/// Whether it is a socket that nobody listens on.
fn is_abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    is_socket && try_connecting(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Does not wait for room in the other's backlog, as a socket that blocks would.
fn try_connecting(path: &Path) -> io::Result<()> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.connect(&SockAddr::unix(path)?)
}
