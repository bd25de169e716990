//! How received frames are read from memory shared with the kernel.

mod tx;
mod v2;
mod v3;

use std::io;
use std::os::fd::RawFd;

use crate::frame::StrippedTag;

pub use tx::TxRing;
pub use v2::RingV2;
pub use v3::RingV3;

/// One frame in a ring.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'ring> {
    /// The frame from its destination address on, as far as it was kept, without a stripped tag.
    pub data: &'ring [u8],
    /// Its full length, without FCS and stripped tag [bytes].
    pub length: u32,
    /// CLOCK_REALTIME at reception [ns].
    pub time_ns: i64,
    /// The VLAN tag that the kernel took out.
    pub tag: Option<StrippedTag>,
    /// Where it came in.
    pub ifindex: i32,
}

/// Shared memory, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: a mapping is plain memory of the process; it isn't tied to the thread that made it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `bytes` of what `fd` offers, for reading and writing, shared.
    pub fn new(fd: RawFd, bytes: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses an address that is free; failure is checked.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            bytes,
        })
    }

    /// First byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Address of the byte at `offset`.
    ///
    /// Panics unless `length` bytes from there lie inside: offsets come from the kernel, and a
    /// wrong one must end the thread rather than read elsewhere.
    pub fn at(&self, offset: usize, length: usize) -> *mut u8 {
        assert!(
            offset
                .checked_add(length)
                .is_some_and(|end| end <= self.bytes),
            "ring offset outside the mapping"
        );
        // SAFETY: just checked to lie inside the mapping.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what mmap returned; borrows of it cannot outlive `self`.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

fn stripped_tag(status: u32, tci: u16, tpid: u16) -> Option<StrippedTag> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 {
        0x8100
    } else {
        tpid
    };
    Some(StrippedTag { tci, tpid })
}

fn nanoseconds(seconds: u32, nanoseconds: u32) -> i64 {
    i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds)
}
