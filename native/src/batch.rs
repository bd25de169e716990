//! How several frames of one port go to the kernel in one call.

use std::io;
use std::os::fd::RawFd;

/// Most frames in one call.
pub const BATCH_FRAMES: usize = 64;
/// Bytes of a frame that are kept in its slot; what follows is zeros that all frames share.
const SLOT_BYTES: usize = 256;

/// Frames written into slots and handed over by `sendmmsg`.
///
/// The message headers point into the other fields; these are allocated once and never grow.
pub struct Batch {
    messages: Box<[libc::mmsghdr]>,
    vectors: Box<[[libc::iovec; 2]]>,
    slots: Box<[[u8; SLOT_BYTES]]>,
    filling: Box<[u8]>,
    length: usize,
}

impl Batch {
    /// A batch for frames of at most `largest` bytes (without FCS).
    pub fn new(largest: usize) -> Self {
        let empty = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        // SAFETY: mmsghdr is pointers and integers, for which zero is valid.
        let blank: libc::mmsghdr = unsafe { std::mem::zeroed() };
        let mut batch = Self {
            messages: vec![blank; BATCH_FRAMES].into_boxed_slice(),
            vectors: vec![[empty; 2]; BATCH_FRAMES].into_boxed_slice(),
            slots: vec![[0; SLOT_BYTES]; BATCH_FRAMES].into_boxed_slice(),
            filling: vec![0; largest].into_boxed_slice(),
            length: 0,
        };
        for index in 0..BATCH_FRAMES {
            batch.vectors[index][0].iov_base = batch.slots[index].as_mut_ptr().cast();
            batch.vectors[index][1].iov_base = batch.filling.as_mut_ptr().cast();
            batch.messages[index].msg_hdr.msg_iov = batch.vectors[index].as_mut_ptr();
        }
        batch
    }

    /// How many frames wait.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends a frame of `bytes` (without FCS) that starts with `head` and goes on with zeros.
    ///
    /// `head` is at most 256 bytes, `bytes` at most the largest; the batch must not be full.
    #[inline]
    pub fn push(&mut self, head: &[u8], bytes: usize) {
        let slot = &mut self.slots[self.length];
        slot[..head.len()].copy_from_slice(head);
        let in_slot = bytes.min(SLOT_BYTES);
        slot[head.len()..in_slot].fill(0);
        let rest = bytes - in_slot;
        assert!(rest <= self.filling.len(), "frame larger than announced");
        let vector = &mut self.vectors[self.length];
        vector[0].iov_len = in_slot;
        vector[1].iov_len = rest;
        self.messages[self.length].msg_hdr.msg_iovlen = if rest == 0 { 1 } else { 2 };
        self.length += 1;
    }

    /// The kept bytes of the frame at `index`.
    #[inline]
    pub fn slot_mut(&mut self, index: usize) -> &mut [u8; SLOT_BYTES] {
        &mut self.slots[index]
    }

    /// Hands the frames from `first` on to the kernel; how many it took, at least one.
    #[inline]
    pub fn send(&mut self, fd: RawFd, first: usize) -> io::Result<usize> {
        let waiting = &mut self.messages[first..self.length];
        send_messages(fd, waiting)
    }

    /// Forgets all frames.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }
}

/// Sends `frames` of `pool` through `fd` in one call; how many the kernel took.
pub fn send_slices(fd: RawFd, frames: &[&[u8]]) -> io::Result<usize> {
    let count = frames.len().min(BATCH_FRAMES);
    // SAFETY: iovec and mmsghdr are pointers and integers, for which zero is valid.
    let mut vectors: [libc::iovec; BATCH_FRAMES] = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut messages: [libc::mmsghdr; BATCH_FRAMES] = unsafe { std::mem::zeroed() };
    for (index, frame) in frames.iter().take(count).enumerate() {
        vectors[index] = libc::iovec {
            iov_base: frame.as_ptr().cast_mut().cast(),
            iov_len: frame.len(),
        };
        messages[index].msg_hdr.msg_iov = &mut vectors[index];
        messages[index].msg_hdr.msg_iovlen = 1;
    }
    send_messages(fd, &mut messages[..count])
}

/// Hands `messages`, whose pointers must be good, to the kernel; how many it took.
pub(crate) fn send_messages(fd: RawFd, messages: &mut [libc::mmsghdr]) -> io::Result<usize> {
    if messages.is_empty() {
        return Ok(0);
    }
    // SAFETY: every message points at live vectors, and these at live buffers of the stated
    // lengths, which the kernel only reads and has copied when the call returns.
    let sent = unsafe {
        libc::sendmmsg(
            fd,
            messages.as_mut_ptr(),
            messages.len() as libc::c_uint,
            libc::MSG_DONTWAIT,
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(sent as usize)
    }
}

/// Whether an error says "no room at the moment" rather than "never".
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)
    )
}
