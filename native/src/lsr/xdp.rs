//! The label table in XDP (orchestrator/bench/lsr/lsr.bpf.c): its maps, entry by entry.

use std::os::fd::RawFd;

use super::plane::Port;
use super::table::{Adjacency, COUNTED};
use crate::arp::Mac;
use crate::error::SetupError;
use crate::xdp::Loaded;

/// No label.
const NONE: u32 = u32::MAX;
const PROGRAM: &str = "lsr";
const LABELS: &str = "labels";

/// The program on all ports of a router.
pub struct XdpPlane {
    loaded: Loaded,
    ports: Vec<Port>,
}

impl XdpPlane {
    /// Loads the program and attaches it.
    pub fn open(object: &[u8], netns_fd: RawFd, ports: &[Port]) -> Result<Self, SetupError> {
        let mut loaded = Loaded::new(object, netns_fd)?;
        for port in ports {
            let mut station = [0; 8];
            station[..6].copy_from_slice(&port.mac);
            loaded.put("stations", &port.ifindex.to_ne_bytes(), &station)?;
            loaded.attach(PROGRAM, &port.name)?;
        }
        Ok(Self {
            loaded,
            ports: ports.to_vec(),
        })
    }

    pub fn program(&self, label: u32, entry: Option<Adjacency>) -> Result<(), SetupError> {
        let key = label.to_ne_bytes();
        match entry {
            None => self.loaded.delete(LABELS, &[key.to_vec()]),
            Some(entry) => {
                let ifindex = self.ports[entry.port].ifindex;
                let mut value = [0; 24];
                value[..4].copy_from_slice(&entry.out.unwrap_or(NONE).to_ne_bytes());
                value[4..8].copy_from_slice(&entry.push.unwrap_or(NONE).to_ne_bytes());
                value[8..12].copy_from_slice(&ifindex.to_ne_bytes());
                value[12..18].copy_from_slice(&entry.destination);
                value[18..].copy_from_slice(&entry.source);
                self.loaded.put(LABELS, &key, &value)
            }
        }
    }

    pub fn entry(&self, label: u32) -> Result<Option<Adjacency>, SetupError> {
        let values = self
            .loaded
            .lookup(LABELS, &[label.to_ne_bytes().to_vec()])?;
        Ok(values
            .into_iter()
            .flatten()
            .next()
            .and_then(|value| self.read(&value)))
    }

    pub fn entries(&self) -> Result<usize, SetupError> {
        Ok(self.loaded.keys(LABELS)?.len())
    }

    pub fn counted(&self) -> Result<[u64; COUNTED.len()], SetupError> {
        let keys: Vec<Vec<u8>> = (0..COUNTED.len() as u32)
            .map(|key| key.to_ne_bytes().to_vec())
            .collect();
        let mut counted = [0; COUNTED.len()];
        for (count, value) in counted
            .iter_mut()
            .zip(self.loaded.lookup("counters", &keys)?)
        {
            // One number for each processor.
            let value = value.unwrap_or_default();
            let numbers = value.chunks_exact(8).filter_map(|one| one.try_into().ok());
            *count = numbers.map(u64::from_ne_bytes).sum();
        }
        Ok(counted)
    }

    fn read(&self, value: &[u8]) -> Option<Adjacency> {
        let out = u32::from_ne_bytes(value.get(..4)?.try_into().ok()?);
        let push = u32::from_ne_bytes(value.get(4..8)?.try_into().ok()?);
        let ifindex = i32::from_ne_bytes(value.get(8..12)?.try_into().ok()?);
        let destination: Mac = value.get(12..18)?.try_into().ok()?;
        let source: Mac = value.get(18..24)?.try_into().ok()?;
        Some(Adjacency {
            port: self.ports.iter().position(|port| port.ifindex == ifindex)?,
            source,
            destination,
            out: (out != NONE).then_some(out),
            push: (push != NONE).then_some(push),
        })
    }
}
