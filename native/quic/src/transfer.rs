//! What all stacks have in common: what is to be done, what is sent, and when it is over.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// The largest IP packet of the path. It is set, not searched for, so that all stacks send packets
/// of the same size at all times.
pub const MTU: u16 = 1500;
/// What an IPv4 packet of that size carries in UDP [byte].
pub const DATAGRAM_BYTES: u16 = MTU - 20 - 8;
/// What may be on its way at most [byte]: flow control is not to be what limits a path of 1 Gbit/s
/// and 100 ms.
pub const WINDOW_BYTES: u32 = 16 << 20;
/// What a socket holds until it is read [byte], as far as the kernel allows (net.core.rmem_max): a
/// receiver that waits for its processor must not lose what the path has delivered.
pub const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Where the client sends from.
pub const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
/// Data come in pieces of this size.
pub const PIECE: &[u8] = &[0; 1 << 16];
/// How long the last packets may take to leave.
pub const FAREWELL: Duration = Duration::from_millis(300);

pub fn socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

pub struct Plan {
    pub place: Place,
    pub sends: bool,
}

/// Where the server listens; or where it is, and for how long data flow.
pub enum Place {
    Server(SocketAddr),
    Client(SocketAddr, Duration),
}

impl Place {
    /// Wait for SIGINT or the end of the client's time.
    pub async fn over(&self) {
        let interrupted = tokio::signal::ctrl_c();
        match self {
            Place::Server(_) => drop(interrupted.await),
            Place::Client(_, duration) => drop(tokio::time::timeout(*duration, interrupted).await),
        }
    }
}

/// Say which controller a connection has, by its type.
pub fn announce<Controller>(stack: &str) {
    let name = std::any::type_name::<Controller>();
    println!(
        "congestion controller: {stack} {}",
        name.rsplit("::").next().unwrap_or(name)
    );
}

pub fn conclude(sent_bytes: u64, received_bytes: u64) {
    println!(
        "sent {sent_bytes} bytes in UDP datagrams, received {received_bytes} bytes of the stream"
    );
}
