//! Handshakes of TCP that have begun and not ended, as Linux tells them (`sock_diag(7)`).

use std::collections::HashSet;
use std::io::{self, Read};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Bits of the states in which a client's last packet of the handshake is waited for: SYN_RECV and NEW_SYN_RECV.
const STATES: u32 = 1 << 3 | 1 << 12;
/// Length of a message's header.
const HEADER: usize = 16;
/// Length of the request after its header: `struct inet_diag_req_v2`.
const REQUEST: usize = 56;
/// Where `struct inet_diag_msg` has ports and addresses, after the header.
const IDENTITY: std::ops::Range<usize> = HEADER + 4..HEADER + 40;
/// How long the kernel may take.
const PATIENCE: Duration = Duration::from_millis(100);

/// A handshake: its ports and addresses, as the kernel writes them.
pub(crate) type Handshake = [u8; 36];

/// The handshakes with this port, whichever of the sockets that share it they belong to.
///
/// # Errors
///
/// The kernel's, where it does not tell.
pub(crate) fn under_way(port: u16, is_ipv6: bool) -> io::Result<HashSet<Handshake>> {
    let mut socket = Socket::new(
        Domain::from(libc::AF_NETLINK),
        Type::DGRAM,
        Some(Protocol::from(libc::NETLINK_INET_DIAG)),
    )?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(&request(port, is_ipv6))?;
    let mut found = HashSet::new();
    let mut buffer = vec![0; 32 << 10];
    loop {
        let length = socket.read(&mut buffer)?;
        if !take(&buffer[..length], &mut found)? {
            return Ok(found);
        }
    }
}

fn request(port: u16, is_ipv6: bool) -> [u8; HEADER + REQUEST] {
    let mut request = [0; HEADER + REQUEST];
    let family = if is_ipv6 { libc::AF_INET6 } else { libc::AF_INET };
    request[..4].copy_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    request[16] = family as u8;
    request[17] = libc::IPPROTO_TCP as u8;
    request[20..24].copy_from_slice(&STATES.to_ne_bytes());
    request[24..26].copy_from_slice(&port.to_be_bytes());
    request
}

/// Takes in the kernel's messages; false after the last one.
fn take(mut messages: &[u8], found: &mut HashSet<Handshake>) -> io::Result<bool> {
    const ERROR: u16 = libc::NLMSG_ERROR as u16;
    const DONE: u16 = libc::NLMSG_DONE as u16;
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    while let Some(head) = messages.first_chunk::<HEADER>() {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let message = messages.get(..length.max(HEADER)).ok_or_else(broken)?;
        match u16::from_ne_bytes([head[4], head[5]]) {
            DONE => return Ok(false),
            ERROR => return Err(broken()),
            _ => {
                let identity = message.get(IDENTITY).ok_or_else(broken)?;
                found.insert(identity.try_into().map_err(|_| broken())?);
            }
        }
        // Each begins at a multiple of four.
        messages = messages.get(message.len().next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}
