//! How frames are sent from memory shared with the kernel: cheapest where nothing is scheduled.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Mapping;
use crate::error::SetupError;
use crate::socket::PacketSocket;

/// Where a frame begins in its slot: behind the aligned header.
const DATA_OFFSET: usize =
    size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
/// A virtio_net_hdr, of which only hdr_len (at offset 2, host order) is used: it makes the kernel
/// copy that many bytes into the packet itself. Otherwise they stay in a fragment, and a VLAN tag
/// has to be fetched from there.
const VNET_HEADER_BYTES: usize = 10;
const COPIED_BYTES: usize = 256;
const SLOTS: usize = 1024;
const SMALLEST_SLOT_BYTES: usize = 128;
const BLOCK_BYTES: usize = 1 << 18;

/// A ring of slots that the kernel sends from. A slot is busy until its frame was consumed at the
/// far end, even if another queue holds it up, so a ring is for sending flat out only.
#[derive(Debug)]
pub struct TxRing {
    map: Mapping,
    slot_bytes: usize,
    /// The stream and length written in each slot, so that only what changes is written again.
    contents: Vec<(usize, usize)>,
    next: usize,
    unsent: usize,
}

impl TxRing {
    /// Gives `socket` a ring for frames of up to `largest` bytes (without FCS).
    pub fn new(socket: &PacketSocket, largest: usize) -> Result<Self, SetupError> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &version,
            "choose ring version",
        )?;
        let on: libc::c_int = 1;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_VNET_HDR,
            &on,
            "announce headers",
        )?;
        let slot_bytes = (largest + DATA_OFFSET + VNET_HEADER_BYTES)
            .next_power_of_two()
            .max(SMALLEST_SLOT_BYTES);
        let per_block = BLOCK_BYTES / slot_bytes;
        let blocks = SLOTS.div_ceil(per_block.max(1));
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: (blocks * per_block) as u32,
        };
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_TX_RING,
            &request,
            "create send ring",
        )?;
        let map = Mapping::new(socket.raw_fd(), BLOCK_BYTES * blocks)
            .map_err(|e| SetupError::from_io(e, "map send ring", socket.interface()))?;
        Ok(Self {
            map,
            slot_bytes,
            contents: vec![(usize::MAX, 0); blocks * per_block],
            next: 0,
            unsent: 0,
        })
    }

    /// Writes the next frame: `head` of stream `stream`, then zeros to `bytes`, of which `changing`
    /// is written even if the slot held such a frame before. False if the slot is still busy.
    #[inline]
    pub fn push(
        &mut self,
        stream: usize,
        head: &[u8],
        changing: std::ops::Range<usize>,
        bytes: usize,
    ) -> bool {
        if self.unsent == self.contents.len()
            || self.status(self.next).load(Ordering::Acquire) != libc::TP_STATUS_AVAILABLE
        {
            return false;
        }
        let base = self.next * self.slot_bytes;
        let start = self
            .map
            .at(base + DATA_OFFSET, self.slot_bytes - DATA_OFFSET);
        // SAFETY: inside the mapping, and the slot was just seen to be available, so the kernel
        // neither reads nor writes it until it is asked to send.
        let data = unsafe { std::slice::from_raw_parts_mut(start, self.slot_bytes - DATA_OFFSET) };
        let (vnet, data) = data.split_at_mut(VNET_HEADER_BYTES);
        if self.contents[self.next] == (stream, bytes) {
            data[changing.clone()].copy_from_slice(&head[changing]);
        } else {
            data[..head.len()].copy_from_slice(head);
            data[head.len()..bytes].fill(0);
            vnet[2..4].copy_from_slice(&(bytes.min(COPIED_BYTES) as u16).to_ne_bytes());
            self.contents[self.next] = (stream, bytes);
        }
        let header = self.map.at(base, DATA_OFFSET).cast::<libc::tpacket2_hdr>();
        // SAFETY: inside the mapping and aligned; ours as above.
        unsafe {
            (*header).tp_len = (bytes + VNET_HEADER_BYTES) as u32;
            (*header).tp_snaplen = (*header).tp_len;
        }
        self.status(self.next)
            .store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.next = (self.next + 1) % self.contents.len();
        self.unsent += 1;
        true
    }

    /// Asks the kernel to send what was written, without waiting; how many bytes it took.
    #[inline]
    pub fn send(&mut self, fd: RawFd) -> io::Result<usize> {
        // SAFETY: sends from the ring; no buffer is passed.
        let sent = unsafe { libc::send(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(sent as usize)
        }
    }

    /// Notes that the kernel took everything that was written.
    pub fn take_all(&mut self) {
        self.unsent = 0;
    }

    /// Whether the kernel took the oldest frame that was written and not yet reported; None if none
    /// waits, or if the kernel has not looked at it.
    #[inline]
    pub fn take_result(&mut self) -> Option<bool> {
        if self.unsent == 0 {
            return None;
        }
        let slots = self.contents.len();
        let oldest = (self.next + slots - self.unsent) % slots;
        let status = self.status(oldest);
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_SEND_REQUEST != 0 {
            return None;
        }
        let taken = flags & libc::TP_STATUS_WRONG_FORMAT == 0;
        if !taken {
            status.store(libc::TP_STATUS_AVAILABLE, Ordering::Release);
        }
        self.unsent -= 1;
        Some(taken)
    }

    /// Withdraws what the kernel has not taken; how many frames that were.
    pub fn withdraw(&mut self) -> usize {
        let withdrawn = self.unsent;
        let slots = self.contents.len();
        for back in 1..=withdrawn {
            let slot = (self.next + slots - back) % slots;
            self.status(slot)
                .store(libc::TP_STATUS_AVAILABLE, Ordering::Release);
        }
        self.unsent = 0;
        withdrawn
    }

    #[inline]
    fn status(&self, slot: usize) -> &AtomicU32 {
        let at = self.map.at(slot * self.slot_bytes, size_of::<u32>());
        // SAFETY: inside the mapping and aligned; tp_status is the header's first word, which the
        // kernel accesses by single 32-bit operations.
        unsafe { AtomicU32::from_ptr(at.cast()) }
    }
}
