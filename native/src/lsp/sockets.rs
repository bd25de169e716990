//! A port of the LERs: a packet socket that sees ARP, RSVP and probes, whatever else passes its interface.

use std::time::{Duration, Instant};

use super::link::Outbox;
use super::probing::MAGIC;
use crate::arp::Mac;
use crate::batch::{BATCH_FRAMES, is_full, send_slices};
use crate::error::SetupError;
use crate::ring::{FrameView, RingV2};
use crate::socket::{PacketSocket, PortSpec};

/// Frames that a ring holds.
const RING_SLOTS: usize = 4096;
const FRAME_BYTES: usize = 1600;
/// How long the kernel may have no room before a frame is given up.
const PATIENCE: Duration = Duration::from_millis(20);

const ETHERNET_BYTES: u32 = 14;
const ARP: u32 = 0x0806;
const IPV4: u32 = 0x0800;
const MPLS: u32 = 0x8847;
const RSVP: u32 = 46;
const UDP_BYTES: u32 = 8;
/// Most labels that a probe is recognised behind.
const STACK: u32 = 2;

/// One end's interface.
pub struct Port {
    /// The socket.
    pub socket: PacketSocket,
    /// The interface's hardware address.
    pub mac: Mac,
    ring: RingV2,
}

impl Port {
    /// Opens the socket; nothing is received yet.
    pub fn open(port: &PortSpec) -> Result<Self, SetupError> {
        let socket = PacketSocket::open(port)?;
        let mac = hardware_address(&socket)?;
        socket.tune_for_receiving()?;
        socket.tune_for_sending()?;
        attach_filter(&socket)?;
        let ring = RingV2::new(&socket, FRAME_BYTES, RING_SLOTS)?;
        Ok(Self { socket, mac, ring })
    }

    /// Passes the next frame to `each`; false if there is none.
    pub fn take(&mut self, each: impl FnOnce(FrameView<'_>)) -> bool {
        self.ring.take(each)
    }

    /// Sends the frames of one end; how many the kernel refused.
    pub fn send(&self, end: usize, out: &Outbox) -> u64 {
        let mut frames = out
            .frames()
            .filter(|(of, _)| *of == end)
            .map(|(_, bytes)| bytes);
        let mut refused = 0;
        loop {
            let batch: Vec<&[u8]> = frames.by_ref().take(BATCH_FRAMES).collect();
            if batch.is_empty() {
                return refused;
            }
            refused += self.send_batch(&batch);
        }
    }

    fn send_batch(&self, batch: &[&[u8]]) -> u64 {
        let (mut gone, mut refused) = (0, 0);
        let mut began = Instant::now();
        while gone < batch.len() {
            match send_slices(self.socket.raw_fd(), &batch[gone..]) {
                Ok(sent) => {
                    gone += sent;
                    began = Instant::now();
                }
                Err(error) if is_full(&error) && began.elapsed() < PATIENCE => {
                    std::thread::yield_now()
                }
                Err(_) => {
                    gone += 1;
                    refused += 1;
                }
            }
        }
        refused
    }
}

/// The hardware address of a socket's interface.
fn hardware_address(socket: &PacketSocket) -> Result<Mac, SetupError> {
    // SAFETY: ifreq is plain data, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero, so that the name is terminated.
    let room = request.ifr_name.len() - 1;
    let name = socket.interface().bytes().take(room);
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = from as libc::c_char;
    }
    // SAFETY: SIOCGIFHWADDR reads the name and writes the address into the live ifreq.
    if unsafe { libc::ioctl(socket.raw_fd(), libc::SIOCGIFHWADDR, &mut request) } != 0 {
        return Err(SetupError::last(
            "read hardware address",
            socket.interface(),
        ));
    }
    // SAFETY: after SIOCGIFHWADDR the union holds the address.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr }.sa_data;
    let mut mac = [0; 6];
    for (to, from) in mac.iter_mut().zip(address) {
        *to = from as u8;
    }
    Ok(mac)
}

/// Lets ARP, IP protocol 46 and probes in (classic BPF), so that labelled traffic costs nobody anything here.
fn attach_filter(socket: &PacketSocket) -> Result<(), SetupError> {
    let mut code = filter();
    let program = libc::sock_fprog {
        len: code.len() as libc::c_ushort,
        filter: code.as_mut_ptr(),
    };
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    socket.set(level, option, &program, "attach filter")
}

/// Jumps are written as numbers of instructions to pass over.
fn filter() -> Vec<libc::sock_filter> {
    use libc::{
        BPF_ABS, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_LDX,
        BPF_MSH, BPF_RET, BPF_W,
    };
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let accept = step(BPF_RET | BPF_K, u32::MAX, 0, 0);
    let refuse = step(BPF_RET | BPF_K, 0, 0, 0);
    // X: bytes of the header of IPv4 that begins at `ip`; then what follows UDP.
    let probe = |ip: u32| {
        [
            step(BPF_LDX | BPF_B | BPF_MSH, ip, 0, 0),
            step(BPF_LD | BPF_W | BPF_IND, ip + UDP_BYTES, 0, 0),
            step(BPF_JMP | BPF_JEQ | BPF_K, MAGIC, 0, 1),
            accept,
            refuse,
        ]
    };
    let mut code = vec![
        step(BPF_LD | BPF_H | BPF_ABS, 12, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, ARP, 0, 1),
        accept,
        step(BPF_JMP | BPF_JEQ | BPF_K, IPV4, 0, 8),
        step(BPF_LD | BPF_B | BPF_ABS, ETHERNET_BYTES + 9, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, RSVP, 0, 1),
        accept,
    ];
    code.extend(probe(ETHERNET_BYTES));
    code.push(step(BPF_JMP | BPF_JEQ | BPF_K, MPLS, 1, 0));
    code.push(refuse);
    for depth in 0..STACK {
        let entry = ETHERNET_BYTES + 4 * depth;
        code.push(step(BPF_LD | BPF_B | BPF_ABS, entry + 2, 0, 0));
        code.push(step(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 5));
        code.extend(probe(entry + 4));
    }
    code.push(refuse);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does; whether the frame is let in.
    fn lets_in(frame: &[u8]) -> bool {
        let code = filter();
        let (mut a, mut x, mut at) = (0_u32, 0_u32, 0);
        let load = |from: u32, bytes: u32| -> Option<u32> {
            let part = frame.get(from as usize..(from + bytes) as usize)?;
            Some(
                part.iter()
                    .fold(0, |word, byte| word << 8 | u32::from(*byte)),
            )
        };
        loop {
            let step = code[at];
            at += 1;
            let (operation, k) = (u32::from(step.code), step.k);
            let loaded = match operation {
                0x20 => load(k, 4),
                0x28 => load(k, 2),
                0x30 => load(k, 1),
                0x40 => load(x + k, 4),
                0xb1 => load(k, 1),
                0x06 => return k != 0,
                0x15 | 0x45 => {
                    let jumps = if operation == 0x15 {
                        a == k
                    } else {
                        a & k != 0
                    };
                    at += usize::from(if jumps { step.jt } else { step.jf });
                    continue;
                }
                _ => panic!("instruction {operation:#x}"),
            };
            // A load beyond the frame refuses it.
            let Some(word) = loaded else { return false };
            if operation == 0xb1 {
                x = (word & 0x0f) * 4;
            } else {
                a = word;
            }
        }
    }

    fn frame(ethertype: u16, parts: &[&[u8]]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend(ethertype.to_be_bytes());
        parts.iter().for_each(|part| frame.extend_from_slice(part));
        frame
    }

    #[test]
    fn arp_rsvp_and_probes_alone_come_in() {
        let mut ip = [0; 28];
        (ip[0], ip[9]) = (0x45, 17);
        let mut rsvp = ip;
        rsvp[9] = 46;
        let (magic, other) = (MAGIC.to_be_bytes(), *b"RKPF");
        let (one, two): (&[u8], &[u8]) = (&[0, 1, 1, 64], &[0, 1, 0, 64, 0, 2, 1, 64]);
        assert!(lets_in(&frame(0x0806, &[&[0; 28]])));
        assert!(lets_in(&frame(0x0800, &[&rsvp])));
        for (signature, wanted) in [(magic, true), (other, false)] {
            assert_eq!(lets_in(&frame(0x0800, &[&ip, &signature])), wanted);
            assert_eq!(lets_in(&frame(0x8847, &[one, &ip, &signature])), wanted);
            assert_eq!(lets_in(&frame(0x8847, &[two, &ip, &signature])), wanted);
        }
        assert!(!lets_in(&frame(0x8847, &[two, two, &ip, &magic])));
        assert!(!lets_in(&frame(0x86dd, &[&ip, &magic])));
        assert!(!lets_in(&frame(0x8847, &[one])));
    }
}
