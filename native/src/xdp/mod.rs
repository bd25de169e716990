//! XDP programs and their maps: a compiled object is loaded, attached to interfaces of a network namespace, and its maps are read and
//! written as bytes. What the bytes mean is not known here.

mod table;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use aya::programs::{Xdp, XdpMode};
use aya::{Ebpf, EbpfLoader};

use crate::error::SetupError;
use crate::netns;

pub use table::Kind;
use table::Table;

/// A loaded object with its programs and maps; dropping it detaches and frees everything.
pub struct Loaded {
    netns: OwnedFd,
    object: Ebpf,
    tables: HashMap<String, Table>,
}

impl Loaded {
    /// Loads a compiled object and its XDP programs. Maps belong to the namespace behind `netns_fd` where interfaces are in them.
    pub fn new(object: &[u8], netns_fd: RawFd) -> Result<Self, SetupError> {
        // SAFETY: the caller's descriptor is open during the call; what is kept is a duplicate.
        let netns = unsafe { BorrowedFd::borrow_raw(netns_fd) }
            .try_clone_to_owned()
            .map_err(|error| SetupError::from_io(error, "keep network namespace", ""))?;
        let mut object = EbpfLoader::new()
            .load(object)
            .map_err(|error| failed("load XDP object", "", &error))?;
        for (name, program) in object.programs_mut() {
            <&mut Xdp>::try_from(program)
                .and_then(Xdp::load)
                .map_err(|error| failed(&format!("load XDP program {name}"), "", &error))?;
        }
        let tables = object
            .maps()
            .filter_map(|(name, map)| {
                Some(
                    Table::of(map)
                        .transpose()?
                        .map(|table| (name.to_owned(), table)),
                )
            })
            .collect::<io::Result<_>>()
            .map_err(|error| SetupError::from_io(error, "read XDP maps", ""))?;
        Ok(Self {
            netns,
            object,
            tables,
        })
    }

    /// Attaches a program to an interface, in generic mode: on veth it is faster than native mode, and the receiving end needs nothing.
    pub fn attach(&mut self, program: &str, interface: &str) -> Result<(), SetupError> {
        let xdp = program_of(&mut self.object, program)?;
        netns::run_in(Some(self.netns.as_raw_fd()), || {
            xdp.attach(interface, XdpMode::Skb)
                .map(drop)
                .map_err(|error| failed("attach XDP program", interface, &error))
        })
    }

    /// The descriptor of a program, open as long as this is.
    pub fn program_fd(&mut self, program: &str) -> Result<RawFd, SetupError> {
        let xdp = program_of(&mut self.object, program)?;
        let fd = xdp
            .fd()
            .map_err(|error| failed("find XDP program", "", &error))?;
        Ok(fd.as_fd().as_raw_fd())
    }

    /// Makes maps and puts them into a map of maps at these indices; they are called "outer/index" from now on.
    pub fn add_tables(
        &mut self,
        outer: &str,
        indices: &[u32],
        kind: Kind,
    ) -> Result<(), SetupError> {
        let inner = indices
            .iter()
            .map(|_| Table::new(kind))
            .collect::<io::Result<Vec<_>>>()
            .map_err(|error| map_error(error, "create", outer))?;
        self.table(outer)?
            .update_inner(indices, &inner)
            .map_err(|error| map_error(error, "write", outer))?;
        for (index, table) in indices.iter().zip(inner) {
            self.tables.insert(format!("{outer}/{index}"), table);
        }
        Ok(())
    }

    /// Writes entries, each at once. Interfaces in them are those of the namespace.
    pub fn update(&self, name: &str, entries: &[(Vec<u8>, Vec<u8>)]) -> Result<(), SetupError> {
        let table = self.table(name)?;
        netns::run_in(Some(self.netns.as_raw_fd()), || {
            entries
                .iter()
                .try_for_each(|(key, value)| table.update(key, value))
                .map_err(|error| map_error(error, "write", name))
        })
    }

    /// Writes one entry, of a map that names no interfaces of the namespace.
    pub fn put(&self, name: &str, key: &[u8], value: &[u8]) -> Result<(), SetupError> {
        self.table(name)?
            .update(key, value)
            .map_err(|error| map_error(error, "write", name))
    }

    /// The values of keys, None where there is none. A per-CPU map gives one value a possible processor, each filled up to 8 octets.
    pub fn lookup(&self, name: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, SetupError> {
        let table = self.table(name)?;
        keys.iter()
            .map(|key| table.lookup(key))
            .collect::<io::Result<_>>()
            .map_err(|error| map_error(error, "read", name))
    }

    /// Deletes entries; those that are not there are passed over.
    pub fn delete(&self, name: &str, keys: &[Vec<u8>]) -> Result<(), SetupError> {
        let table = self.table(name)?;
        keys.iter()
            .try_for_each(|key| table.delete(key))
            .map_err(|error| map_error(error, "delete from", name))
    }

    /// The keys of a map.
    pub fn keys(&self, name: &str) -> Result<Vec<Vec<u8>>, SetupError> {
        self.table(name)?
            .keys()
            .map_err(|error| map_error(error, "list", name))
    }

    fn table(&self, name: &str) -> Result<&Table, SetupError> {
        self.tables
            .get(name)
            .ok_or_else(|| map_error(io::Error::from_raw_os_error(libc::ENOENT), "find", name))
    }
}

fn program_of<'a>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut Xdp, SetupError> {
    let missing = || io::Error::from_raw_os_error(libc::ENOENT);
    object
        .program_mut(name)
        .and_then(|program| program.try_into().ok())
        .ok_or_else(|| SetupError::from_io(missing(), &format!("find XDP program {name}"), ""))
}

fn map_error(error: io::Error, what: &str, name: &str) -> SetupError {
    SetupError::from_io(error, &format!("{what} XDP map {name}"), "")
}

/// An error of the loader, with the kernel's reason where there is one below it.
fn failed(
    operation: &str,
    interface: &str,
    error: &(dyn std::error::Error + 'static),
) -> SetupError {
    let mut below = Some(error);
    let mut texts = Vec::new();
    let mut code = None;
    while let Some(error) = below {
        texts.push(error.to_string());
        code = code.or_else(|| error.downcast_ref::<io::Error>()?.raw_os_error());
        below = error.source();
    }
    match code {
        Some(code) => SetupError::from_io(io::Error::from_raw_os_error(code), operation, interface),
        None => SetupError::from_io(io::Error::other(texts.join(": ")), operation, interface),
    }
}
