//! How frames are read block by block (TPACKET_V3): few wake-ups, for recording.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{FrameView, Mapping, nanoseconds, stripped_tag};
use crate::error::SetupError;
use crate::socket::PacketSocket;

/// Offset of the block header behind version and private offset.
const HEADER_OFFSET: usize = 8;
/// Smallest frame the kernel may place; only used to satisfy the request's arithmetic.
const FRAME_BYTES: u32 = 2048;

/// A ring of blocks; the kernel hands over a whole block when it is full or old.
#[derive(Debug)]
pub struct RingV3 {
    map: Mapping,
    block_bytes: usize,
    blocks: usize,
    current: usize,
}

impl RingV3 {
    /// Gives `socket` a ring. A block is handed over at the latest `retire_ms` after its first frame
    /// (the kernel's timer may take twice that).
    pub fn new(
        socket: &PacketSocket,
        block_bytes: usize,
        blocks: usize,
        retire_ms: u32,
    ) -> Result<Self, SetupError> {
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &version,
            "choose ring version",
        )?;
        let request = libc::tpacket_req3 {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME_BYTES,
            tp_frame_nr: (block_bytes * blocks) as u32 / FRAME_BYTES,
            tp_retire_blk_tov: retire_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_RX_RING,
            &request,
            "create receive ring",
        )?;
        let map = Mapping::new(socket.raw_fd(), block_bytes * blocks)
            .map_err(|e| SetupError::from_io(e, "map receive ring", socket.interface()))?;
        Ok(Self {
            map,
            block_bytes,
            blocks,
            current: 0,
        })
    }

    /// Passes the frames of the next block that was handed over to `each`, and gives the block
    /// back; false if there is none.
    pub fn take_block<F: FnMut(FrameView<'_>)>(&mut self, mut each: F) -> bool {
        let base = self.current * self.block_bytes;
        let status = self.status(base);
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        let header = self.header(base);
        let mut offset = base + header.offset_to_first_pkt as usize;
        for _ in 0..header.num_pkts {
            let (view, next) = self.frame(offset);
            each(view);
            offset += next;
        }
        self.clear_count(base);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.current = (self.current + 1) % self.blocks;
        true
    }

    /// How many frames wait in the block that the kernel is still filling.
    pub fn frames_in_open_block(&self) -> u32 {
        self.header(self.current * self.block_bytes).num_pkts
    }

    fn status(&self, base: usize) -> &AtomicU32 {
        let at = self.map.at(base + HEADER_OFFSET, size_of::<u32>());
        // SAFETY: inside the mapping, aligned (blocks start on pages), and the kernel accesses the
        // status word by single 32-bit operations.
        unsafe { AtomicU32::from_ptr(at.cast()) }
    }

    fn header(&self, base: usize) -> libc::tpacket_hdr_v1 {
        let bytes = size_of::<libc::tpacket_hdr_v1>();
        let at = self.map.at(base + HEADER_OFFSET, bytes);
        // SAFETY: inside the mapping and aligned; plain integers. Volatile, since the kernel may
        // be counting frames in an open block meanwhile.
        unsafe { at.cast::<libc::tpacket_hdr_v1>().read_volatile() }
    }

    /// The kernel counts anew when it reopens the block, but after an overflow that is only at the
    /// next frame: the old count would look like frames that still wait.
    fn clear_count(&self, base: usize) {
        let at = self
            .map
            .at(base + HEADER_OFFSET, size_of::<libc::tpacket_hdr_v1>());
        // SAFETY: inside the mapping, aligned, and ours until the block is given back.
        unsafe { (*at.cast::<libc::tpacket_hdr_v1>()).num_pkts = 0 };
    }

    fn frame(&self, offset: usize) -> (FrameView<'_>, usize) {
        let at = self.map.at(offset, size_of::<libc::tpacket3_hdr>());
        // SAFETY: inside the mapping; the kernel aligns frames to 16 and has handed this block over,
        // so it doesn't write here until the status word is given back.
        let header = unsafe { &*at.cast::<libc::tpacket3_hdr>() };
        let length = header.tp_snaplen as usize;
        let start = self.map.at(offset + header.tp_mac as usize, length);
        // SAFETY: inside the mapping, and ours until the block is given back.
        let data = unsafe { std::slice::from_raw_parts(start, length) };
        let view = FrameView {
            data,
            length: header.tp_len,
            time_ns: nanoseconds(header.tp_sec, header.tp_nsec),
            tag: stripped_tag(
                header.tp_status,
                header.hv1.tp_vlan_tci as u16,
                header.hv1.tp_vlan_tpid,
            ),
            ifindex: 0,
        };
        (view, header.tp_next_offset as usize)
    }
}
