//! How a listening socket takes no new handshake while those that have begun end.
//!
//! A connection that is in the kernel's queue when its socket is closed is reset, although its client has been told that it is
//! connected. So before the close, no handshake may begin any more. There are two ways:
//!
//! 1. A socket filter that drops each packet with SYN. Some kernels refuse it to processes without privileges.
//! 2. A least number of hops that packets must have left (`IP_MINTTL`, RFC 5082): 255 have those alone that no router has
//!    passed on and that began with 255. Systems begin with 64 or 128, rarely with 255, so hardly a packet is heard. The last packet of
//!    a handshake that has begun is heard, as it belongs to no socket yet. The connection inherits the number, so it is set back
//!    on what is accepted; what its client has sent meanwhile comes again.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use socket2::{SockFilter, SockRef};

/// The most hops that a packet can have left.
const ALL_HOPS: libc::c_int = 255;

/// Lets no handshake begin on a listening TCP socket. True if what it accepts has to be made to [`hear`].
///
/// # Errors
///
/// The kernel's, if it refuses both ways.
pub(crate) fn turn_away(listener: &impl AsFd) -> io::Result<bool> {
    match drop_first_packets(listener) {
        Ok(()) => Ok(false),
        Err(_) => set_least_hops(listener, ALL_HOPS).map(|()| true),
    }
}

/// Has an accepted socket hear its client, although its listener hears nobody.
///
/// # Errors
///
/// The kernel's.
pub(crate) fn hear(accepted: &impl AsFd) -> io::Result<()> {
    set_least_hops(accepted, 0)
}

fn drop_first_packets(listener: &impl AsFd) -> io::Result<()> {
    const FLAGS: u32 = 13;
    const SYN: u32 = 2;
    let filter = [
        SockFilter::new((libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16, 0, 0, FLAGS),
        SockFilter::new((libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16, 0, 1, SYN),
        SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0),
        SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, u32::MAX),
    ];
    SockRef::from(listener).attach_filter(&filter)
}

fn set_least_hops(socket: &impl AsFd, hops: libc::c_int) -> io::Result<()> {
    let address = SockRef::from(socket).local_addr()?.as_socket();
    let (level, option) = match address {
        Some(SocketAddr::V6(_)) => (libc::IPPROTO_IPV6, libc::IPV6_MINHOPCOUNT),
        _ => (libc::IPPROTO_IP, libc::IP_MINTTL),
    };
    // SAFETY: the call reads one integer, of the length that is told.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const hops).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;

    /// Whether a handshake begins within the time.
    fn takes(address: SocketAddr) -> bool {
        TcpStream::connect_timeout(&address, Duration::from_millis(100)).is_ok()
    }

    #[test]
    fn either_way_lets_nobody_in_and_keeps_who_is_in() {
        type Way = fn(&TcpListener) -> io::Result<()>;
        let ways: [Way; 2] =
            [|listener| drop_first_packets(listener), |listener| set_least_hops(listener, ALL_HOPS)];
        for address in ["127.0.0.1:0", "[::1]:0"] {
            for (number, way) in ways.iter().enumerate() {
                let listener = TcpListener::bind(address).unwrap();
                let bound = listener.local_addr().unwrap();
                let mut early = TcpStream::connect(bound).unwrap();
                match way(&listener) {
                    // The second way is there because of that.
                    Err(error) if number == 0 && error.kind() == io::ErrorKind::PermissionDenied => continue,
                    other => other.unwrap(),
                }
                assert!(!takes(bound), "{address}, way {number}");
                early.write_all(b"hello").unwrap();
                let (mut accepted, _) = listener.accept().unwrap();
                hear(&accepted).unwrap();
                let mut heard = [0; 5];
                accepted.read_exact(&mut heard).unwrap();
                assert_eq!(&heard, b"hello", "{address}, way {number}");
            }
        }
    }
}
