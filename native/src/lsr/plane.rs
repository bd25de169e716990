//! What forwards labelled frames: the XDP program, or a table in user space.

use std::os::fd::RawFd;

use super::native::Native;
use super::table::{Adjacency, COUNTED};
use super::xdp::XdpPlane;
use crate::arp::Mac;
use crate::error::SetupError;

/// A port of a router.
#[derive(Clone, Debug)]
pub struct Port {
    pub name: String,
    pub ifindex: i32,
    pub mac: Mac,
}

/// Either of the two.
pub enum Plane {
    Xdp(XdpPlane),
    Native(Box<Native>),
}

impl Plane {
    /// Writes an entry, or deletes it, at once.
    pub fn program(&mut self, label: u32, entry: Option<Adjacency>) -> Result<(), SetupError> {
        match self {
            Self::Xdp(plane) => plane.program(label, entry),
            Self::Native(plane) => {
                match entry {
                    Some(entry) => plane.table.entries.insert(label, entry),
                    None => plane.table.entries.remove(&label),
                };
                Ok(())
            }
        }
    }

    /// The entry of a label, as it is in force.
    pub fn entry(&self, label: u32) -> Result<Option<Adjacency>, SetupError> {
        match self {
            Self::Xdp(plane) => plane.entry(label),
            Self::Native(plane) => Ok(plane.table.entries.get(&label).copied()),
        }
    }

    /// How many labels it has entries for.
    pub fn entries(&self) -> Result<usize, SetupError> {
        match self {
            Self::Xdp(plane) => plane.entries(),
            Self::Native(plane) => Ok(plane.table.entries.len()),
        }
    }

    /// Numbers of `COUNTED`, in its order.
    pub fn counted(&self) -> Result<[u64; COUNTED.len()], SetupError> {
        match self {
            Self::Xdp(plane) => plane.counted(),
            Self::Native(plane) => Ok(plane.counted),
        }
    }

    /// The socket that wakes it.
    pub fn wakes_on(&self) -> Option<RawFd> {
        match self {
            Self::Xdp(_) => None,
            Self::Native(plane) => Some(plane.raw_fd()),
        }
    }
}
