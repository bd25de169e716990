//! How packets leave through several ports in one call.

use std::io;

use crate::batch::send_messages;
use crate::clock::realtime_ns;
use crate::error::SetupError;
use crate::socket::{PacketSocket, PortSpec};

/// Most frames in one call: enough to share its cost, and few enough to look at the ring in between.
pub const LEAVING_FRAMES: usize = 16;

/// One socket for all ports of a namespace.
pub struct Egress {
    socket: PacketSocket,
}

impl Egress {
    /// Opens the socket. It is bound to the first port, but every frame names its own.
    pub fn open(first: &PortSpec) -> Result<Self, SetupError> {
        let socket = PacketSocket::open(first)?;
        socket.tune_for_sending()?;
        socket.bind_for_sending()?;
        Ok(Self { socket })
    }

    /// Sends `frames`, each through the interface of that index, at most `LEAVING_FRAMES` of them;
    /// when the first was handed over [ns], and how many the kernel took.
    pub fn send<'a>(
        &self,
        frames: impl Iterator<Item = (i32, &'a [u8])>,
    ) -> io::Result<(i64, usize)> {
        // SAFETY: sockaddr_ll, iovec and mmsghdr are pointers and integers, for which zero is valid.
        let mut addresses: [libc::sockaddr_ll; LEAVING_FRAMES] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut vectors: [libc::iovec; LEAVING_FRAMES] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; LEAVING_FRAMES] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for (index, (ifindex, data)) in frames.take(LEAVING_FRAMES).enumerate() {
            addresses[index].sll_family = libc::AF_PACKET as u16;
            addresses[index].sll_ifindex = ifindex;
            vectors[index].iov_base = data.as_ptr().cast_mut().cast();
            vectors[index].iov_len = data.len();
            let header = &mut messages[index].msg_hdr;
            header.msg_name = std::ptr::from_mut(&mut addresses[index]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            header.msg_iov = &mut vectors[index];
            header.msg_iovlen = 1;
            count += 1;
        }
        let handed_ns = realtime_ns();
        let gone = send_messages(self.socket.raw_fd(), &mut messages[..count])?;
        Ok((handed_ns, gone))
    }

    /// The socket, to be closed.
    pub fn into_socket(self) -> PacketSocket {
        self.socket
    }
}
