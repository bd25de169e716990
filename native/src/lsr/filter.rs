//! What a router's sockets let in, as classic BPF: the kernel throws the rest away.

use crate::error::SetupError;
use crate::socket::PacketSocket;

const ETHERTYPE: u32 = 12;
const IP_PROTOCOL: u32 = 14 + 9;
const WHOLE: u32 = u32::MAX;

/// ARP, and IP packets with RSVP.
pub fn control(socket: &PacketSocket) -> Result<(), SetupError> {
    let mut code = [
        load(libc::BPF_H, ETHERTYPE),
        jump(0x0806, 3, 0),
        jump(0x0800, 0, 3),
        load(libc::BPF_B, IP_PROTOCOL),
        jump(46, 0, 1),
        keep(WHOLE),
        keep(0),
    ];
    attach(socket, &mut code)
}

/// Labelled frames.
pub fn labelled(socket: &PacketSocket) -> Result<(), SetupError> {
    let mut code = [
        load(libc::BPF_H, ETHERTYPE),
        jump(u32::from(super::table::MPLS), 0, 1),
        keep(WHOLE),
        keep(0),
    ];
    attach(socket, &mut code)
}

fn attach(socket: &PacketSocket, code: &mut [libc::sock_filter]) -> Result<(), SetupError> {
    let program = libc::sock_fprog {
        len: code.len() as u16,
        filter: code.as_mut_ptr(),
    };
    socket.set(
        libc::SOL_SOCKET,
        libc::SO_ATTACH_FILTER,
        &program,
        "attach filter",
    )
}

fn load(size: u32, offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, offset)
}

fn jump(value: u32, if_equal: u8, if_not: u8) -> libc::sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    instruction(code, if_equal, if_not, value)
}

fn keep(bytes: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, bytes)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}
