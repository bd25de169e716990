//! One frame from a packet socket, with the kernel's time of it and the interface that it came in at.

use crate::clock::realtime_ns;
use crate::socket::PacketSocket;

/// What is known of a frame beside its bytes.
pub struct Received {
    pub length: usize,
    pub ifindex: i32,
    /// CLOCK_REALTIME when it came in [ns].
    pub time_ns: i64,
    /// Whether its address is the interface's, or one of many.
    pub is_for_us: bool,
}

/// Room for the control message with the time.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// The next frame, written to `buffer`; None if there is none now.
pub fn receive(socket: &PacketSocket, buffer: &mut [u8]) -> Option<Received> {
    // SAFETY: sockaddr_ll and msghdr are pointers and integers, for which zero is valid.
    let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    let mut control = Control([0; 64]);
    let mut vector = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    header.msg_name = std::ptr::from_mut(&mut from).cast();
    header.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    header.msg_iov = &mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len();
    // SAFETY: the header points at live buffers of the lengths that it says.
    let length = unsafe { libc::recvmsg(socket.raw_fd(), &mut header, libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).ok()?;
    Some(Received {
        length,
        ifindex: from.sll_ifindex,
        time_ns: stamp(&header).unwrap_or_else(realtime_ns),
        is_for_us: from.sll_pkttype <= libc::PACKET_MULTICAST,
    })
}

/// The kernel's time among the control messages [ns].
fn stamp(header: &libc::msghdr) -> Option<i64> {
    // SAFETY: recvmsg has filled the header and its control buffer, which live as long as the reference.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: not null, so inside the control buffer.
        let (level, kind) = unsafe { ((*message).cmsg_level, (*message).cmsg_type) };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            // SAFETY: a message of this type carries a timespec, aligned or not.
            let time = unsafe {
                libc::CMSG_DATA(message)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            return Some(time.tv_sec * 1_000_000_000 + time.tv_nsec);
        }
        // SAFETY: the message is one of this header's.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    None
}
