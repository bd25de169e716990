//! How frames are read one by one (TPACKET_V2): each is visible at once, for forwarding.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{FrameView, Mapping, nanoseconds, stripped_tag};
use crate::error::SetupError;
use crate::socket::PacketSocket;

/// What the kernel puts before a frame: its header, an address, alignment.
const OVERHEAD_BYTES: usize = 128;
const BLOCK_BYTES: usize = 1 << 18;

/// A ring of slots, one frame each.
#[derive(Debug)]
pub struct RingV2 {
    map: Mapping,
    slot_bytes: usize,
    slots: usize,
    current: usize,
}

impl RingV2 {
    /// Gives `socket` a ring of at least `slots` frames of up to `frame_bytes`.
    pub fn new(
        socket: &PacketSocket,
        frame_bytes: usize,
        slots: usize,
    ) -> Result<Self, SetupError> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &version,
            "choose ring version",
        )?;
        let slot_bytes = (frame_bytes + OVERHEAD_BYTES).next_power_of_two();
        let per_block = BLOCK_BYTES / slot_bytes;
        if per_block == 0 {
            let reason = std::io::Error::from_raw_os_error(libc::EMSGSIZE);
            return Err(SetupError::from_io(
                reason,
                "create receive ring",
                socket.interface(),
            ));
        }
        let blocks = slots.div_ceil(per_block);
        let slots = blocks * per_block;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_RX_RING,
            &request,
            "create receive ring",
        )?;
        let map = Mapping::new(socket.raw_fd(), BLOCK_BYTES * blocks)
            .map_err(|e| SetupError::from_io(e, "map receive ring", socket.interface()))?;
        Ok(Self {
            map,
            slot_bytes,
            slots,
            current: 0,
        })
    }

    /// Passes the next frame to `each` and gives its slot back; false if there is none.
    #[inline]
    pub fn take<F: FnOnce(FrameView<'_>)>(&mut self, each: F) -> bool {
        let base = self.current * self.slot_bytes;
        let at = self.map.at(base, self.slot_bytes);
        // SAFETY: inside the mapping and aligned; tp_status is the header's first word, which the
        // kernel accesses by single 32-bit operations.
        let status = unsafe { AtomicU32::from_ptr(at.cast()) };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return false;
        }
        each(self.frame(base, flags));
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.current = (self.current + 1) % self.slots;
        true
    }

    fn frame(&self, base: usize, flags: u32) -> FrameView<'_> {
        // SAFETY: the caller checked that the slot lies inside the mapping and was handed over, so
        // the kernel doesn't write here until its status is given back.
        let header = unsafe {
            &*self
                .map
                .at(base, self.slot_bytes)
                .cast::<libc::tpacket2_hdr>()
        };
        let address_offset =
            size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
        let address = self
            .map
            .at(base + address_offset, size_of::<libc::sockaddr_ll>())
            .cast::<libc::sockaddr_ll>();
        // SAFETY: the kernel puts a sockaddr_ll behind the aligned header, inside the slot.
        let ifindex = unsafe { (*address).sll_ifindex };
        let length = header.tp_snaplen as usize;
        let start = self.map.at(base + usize::from(header.tp_mac), length);
        // SAFETY: inside the mapping, and ours until the slot is given back.
        let data = unsafe { std::slice::from_raw_parts(start, length) };
        FrameView {
            data,
            length: header.tp_len,
            time_ns: nanoseconds(header.tp_sec, header.tp_nsec),
            tag: stripped_tag(flags, header.tp_vlan_tci, header.tp_vlan_tpid),
            ifindex,
        }
    }
}
