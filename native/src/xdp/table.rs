//! A map of the kernel by its descriptor, read and written by bpf(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use aya::maps::{Map, MapData, MapType};
use aya::util::nr_cpus;

const CREATE: libc::c_int = 0;
const LOOKUP: libc::c_int = 1;
const UPDATE: libc::c_int = 2;
const DELETE: libc::c_int = 3;
const NEXT_KEY: libc::c_int = 4;
const UPDATE_BATCH: libc::c_int = 26;

/// What a map is made of: the kernel's number of its type, sizes in octets, and flags.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Kind {
    pub map_type: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub entries: u32,
    pub flags: u32,
}

/// What bpf(2) takes for one entry.
#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// What bpf(2) takes for many entries.
#[repr(C)]
struct Batch {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    element_flags: u64,
    flags: u64,
}

/// A map, and how long its keys and values are.
pub struct Table {
    fd: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

impl Table {
    /// Makes a map.
    pub fn new(kind: Kind) -> io::Result<Self> {
        // SAFETY: a live structure of the length that is said; the kernel takes what it lacks as zero.
        let fd = unsafe { bpf(CREATE, &kind) }?;
        Ok(Self {
            // SAFETY: the descriptor is new and nobody else's.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            key_bytes: kind.key_bytes as usize,
            value_bytes: kind.value_bytes as usize,
        })
    }

    /// A map of an object, None where it is of a kind that this does not know.
    pub fn of(map: &Map) -> io::Result<Option<Self>> {
        let (Map::Array(data)
        | Map::ArrayOfMaps(data)
        | Map::DevMapHash(data)
        | Map::HashMap(data)
        | Map::HashOfMaps(data)
        | Map::PerCpuArray(data)
        | Map::PerCpuHashMap(data)) = map
        else {
            return Ok(None);
        };
        Self::of_data(data).map(Some)
    }

    fn of_data(data: &MapData) -> io::Result<Self> {
        let info = data.info().map_err(io::Error::other)?;
        let per_cpu = matches!(
            info.map_type(),
            Ok(MapType::PerCpuArray | MapType::PerCpuHash)
        );
        let one = info.value_size() as usize;
        let value_bytes = if per_cpu {
            one.next_multiple_of(8) * nr_cpus().map_err(|(_, error)| error)?
        } else {
            one
        };
        Ok(Self {
            fd: data.fd().as_fd().try_clone_to_owned()?,
            key_bytes: info.key_size() as usize,
            value_bytes,
        })
    }

    /// Writes an entry at once.
    pub fn update(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.expect_sizes(key.len(), value.len())?;
        self.call(UPDATE, Some(key), value.as_ptr() as u64)
    }

    /// Puts maps into this map of maps. One by one, the kernel would wait for its programs after each.
    pub fn update_inner(&self, indices: &[u32], inner: &[Self]) -> io::Result<()> {
        let fds: Vec<u32> = inner
            .iter()
            .map(|table| table.fd.as_raw_fd() as u32)
            .collect();
        let batch = Batch {
            from: 0,
            to: 0,
            keys: indices.as_ptr() as u64,
            values: fds.as_ptr() as u64,
            count: indices.len() as u32,
            map: self.fd.as_raw_fd() as u32,
            element_flags: 0,
            flags: 0,
        };
        self.expect_sizes(size_of::<u32>(), size_of::<u32>())?;
        // SAFETY: keys and values are of the map's sizes, as many as is said, and live during the call.
        if unsafe { bpf(UPDATE_BATCH, &batch) }.is_ok() {
            return Ok(());
        }
        // Kernels before 5.14 have no batches for maps of maps.
        indices
            .iter()
            .zip(&fds)
            .try_for_each(|(index, fd)| self.update(&index.to_ne_bytes(), &fd.to_ne_bytes()))
    }

    /// The value of a key, None where there is none.
    pub fn lookup(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.expect_sizes(key.len(), self.value_bytes)?;
        let mut value = vec![0; self.value_bytes];
        let found = self.call(LOOKUP, Some(key), value.as_mut_ptr() as u64);
        Ok(unless_missing(found)?.map(|()| value))
    }

    /// Deletes an entry; nothing where it is not there.
    pub fn delete(&self, key: &[u8]) -> io::Result<()> {
        self.expect_sizes(key.len(), self.value_bytes)?;
        unless_missing(self.call(DELETE, Some(key), 0)).map(drop)
    }

    /// All keys.
    pub fn keys(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            let mut next = vec![0; self.key_bytes];
            let before = keys.last().map(Vec::as_slice);
            let found = self.call(NEXT_KEY, before, next.as_mut_ptr() as u64);
            if unless_missing(found)?.is_none() {
                return Ok(keys);
            }
            keys.push(next);
        }
    }

    fn expect_sizes(&self, key_bytes: usize, value_bytes: usize) -> io::Result<()> {
        if (key_bytes, value_bytes) == (self.key_bytes, self.value_bytes) {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        }
    }

    fn call(&self, command: libc::c_int, key: Option<&[u8]>, value: u64) -> io::Result<()> {
        let element = Element {
            map: self.fd.as_raw_fd() as u32,
            padding: 0,
            key: key.map_or(0, |key| key.as_ptr() as u64),
            value,
            flags: 0,
        };
        // SAFETY: key and value are as long as the map's own, as expect_sizes() and the callers see to, and live during the call.
        unsafe { bpf(command, &element) }.map(drop)
    }
}

fn unless_missing(result: io::Result<()>) -> io::Result<Option<()>> {
    match result {
        Ok(()) => Ok(Some(())),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// # Safety
/// `attributes` must be what the command takes, with live addresses in it.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: the structure is live and as long as is said; the rest is the caller's.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result as RawFd)
    }
}
