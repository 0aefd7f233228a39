//! A network between a client and a server's UNIX socket, which can be cut.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Passes bytes on until it is cut.
pub struct Link {
    /// Where clients come to, on 127.0.0.1.
    pub port: u16,
    is_cut: Arc<AtomicBool>,
    ends: Arc<Mutex<Vec<(TcpStream, UnixStream)>>>,
}

impl Link {
    /// Leads to a server's socket.
    pub fn to(socket: &Path) -> Link {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let link = Link { port, is_cut: Arc::default(), ends: Arc::default() };
        let (is_cut, ends, socket) = (Arc::clone(&link.is_cut), Arc::clone(&link.ends), socket.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().filter_map(Result::ok) {
                if is_cut.load(Ordering::Relaxed) {
                    break;
                }
                let _ = connect(client, &socket, &ends);
            }
        });
        link
    }

    /// Ends all connections, and takes none any more.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        for (client, server) in self.ends.lock().expect("the ends").drain(..) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        }
    }
}

fn connect(
    client: TcpStream,
    socket: &PathBuf,
    ends: &Mutex<Vec<(TcpStream, UnixStream)>>,
) -> io::Result<()> {
    let server = UnixStream::connect(socket)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    ends.lock().expect("the ends").push((client, server));
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}
