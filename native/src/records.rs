//! Where the records of received frames lie: an array in memory that other processes can map.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::SetupError;
use crate::ring::Mapping;

/// One received frame, as numpy sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// CLOCK_REALTIME at sending [ns], from the signature.
    pub tx_ns: i64,
    /// CLOCK_REALTIME at reception [ns], from the kernel.
    pub rx_ns: i64,
    /// Number of the frame in its stream.
    pub sequence: u32,
    /// Number of the stream.
    pub stream: u16,
    /// Length on the wire, tag and FCS included.
    pub frame_bytes: u16,
    /// Index of the receiving port.
    pub port: u16,
    /// Priority of the outermost VLAN tag; 255 if untagged.
    pub pcp: u8,
    /// FLAG_* of the frame.
    pub flags: u8,
    /// Zero.
    pub padding: u32,
}

/// Bytes of a record.
pub const RECORD_BYTES: usize = size_of::<Record>();
const _: () = assert!(RECORD_BYTES == 32);

/// The record's fields: name and numpy type, in order, without gaps.
pub const RECORD_FIELDS: [(&str, &str); 9] = [
    ("tx_ns", "<i8"),
    ("rx_ns", "<i8"),
    ("sequence", "<u4"),
    ("stream", "<u2"),
    ("frame_bytes", "<u2"),
    ("port", "<u2"),
    ("pcp", "|u1"),
    ("flags", "|u1"),
    ("padding", "<u4"),
];

/// An append-only array of records in a memfd, of fixed capacity.
pub struct Records {
    fd: OwnedFd,
    map: Mapping,
    capacity: usize,
    count: usize,
}

impl Records {
    /// Room for `capacity` records. Memory is taken only as they are written.
    pub fn new(capacity: usize) -> Result<Self, SetupError> {
        let bytes = capacity.max(1).saturating_mul(RECORD_BYTES);
        // SAFETY: the name is a NUL-terminated literal.
        let fd = unsafe { libc::memfd_create(c"rackproof-records".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(SetupError::last("create memory for records", ""));
        }
        // SAFETY: `fd` was just returned by memfd_create and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        resize(&fd, bytes).map_err(|e| SetupError::from_io(e, "size memory for records", ""))?;
        let map = Mapping::new(fd.as_raw_fd(), bytes)
            .map_err(|e| SetupError::from_io(e, "map memory for records", ""))?;
        Ok(Self {
            fd,
            map,
            capacity,
            count: 0,
        })
    }

    /// Appends a record; false if there is no room.
    #[inline]
    pub fn push(&mut self, record: Record) -> bool {
        if self.count == self.capacity {
            return false;
        }
        // SAFETY: `count` is below the capacity, so the place lies within the mapping, which is
        // aligned to a page and written by nobody else.
        unsafe {
            self.map
                .start()
                .cast::<Record>()
                .add(self.count)
                .write(record)
        };
        self.count += 1;
        true
    }

    /// Writes the time of reception of the record at `index`, one that was pushed.
    #[inline]
    pub fn set_rx_ns(&mut self, index: usize, rx_ns: i64) {
        assert!(index < self.count, "no such record");
        // SAFETY: as in push; `index` is below the count.
        unsafe { (*self.map.start().cast::<Record>().add(index)).rx_ns = rx_ns };
    }

    /// The record at `index`; None where none was written.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Record> {
        if index >= self.count {
            return None;
        }
        // SAFETY: as in push; what was written there stays, and the borrow is the only one.
        Some(unsafe { &mut *self.map.start().cast::<Record>().add(index) })
    }

    /// How many records were written.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The memory, cut to the records written.
    pub fn into_fd(self) -> io::Result<OwnedFd> {
        let Self { fd, map, count, .. } = self;
        drop(map);
        resize(&fd, count * RECORD_BYTES)?;
        Ok(fd)
    }
}

fn resize(fd: &OwnedFd, bytes: usize) -> io::Result<()> {
    // SAFETY: takes integers only; the descriptor is open.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), bytes as libc::off_t) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    #[test]
    fn full_is_full_and_the_memory_is_cut_to_size() {
        let mut records = Records::new(3).unwrap();
        for sequence in 0..2 {
            assert!(records.push(Record {
                sequence,
                ..Record::default()
            }));
        }
        let mut file = std::fs::File::from(records.into_fd().unwrap());
        file.rewind().unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 2 * RECORD_BYTES);
        assert_eq!(bytes[RECORD_BYTES + 16], 1);

        let mut small = Records::new(1).unwrap();
        assert!(small.push(Record::default()));
        assert!(!small.push(Record::default()));
    }

    #[test]
    fn the_description_covers_the_record() {
        let bytes: usize = RECORD_FIELDS
            .iter()
            .map(|(_, kind)| usize::from(kind.as_bytes()[2] - b'0'))
            .sum();
        assert_eq!(bytes, RECORD_BYTES);
    }
}
