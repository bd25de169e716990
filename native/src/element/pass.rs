//! One frame on its way through the tables: what all paths share.

use std::collections::HashMap;

use super::counts::{Counts, Reason};
use super::output::{Head, Output};
use super::spec::Address;
use super::tables::{Service, Side, Tables};

/// A frame with a C-TAG.
pub const TAGGED_BYTES: usize = 18;
pub const C_TAG: u16 = 0x8100;
pub const B_TAG: u16 = 0x88a8;
pub const I_TAG: u16 = 0x88e7;
pub const OAM: u16 = 0x8902;
/// Group addresses of connectivity fault management end in 30 to 3f (802.1Q, table 8-20).
const OAM_GROUP: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];

/// Nothing, or why the frame ends here.
pub type Outcome = Result<(), Reason>;

/// One frame on its way through the tables.
pub struct Pass<'a> {
    pub tables: &'a Tables,
    pub counts: &'a mut Counts,
    /// When the bucket of a policed service will be full again, by I-SID, in ticks.
    pub buckets: &'a mut HashMap<u32, u128>,
    /// Number of the port that it came in at; none of the element's ports has one beyond its tables.
    pub ingress: usize,
    pub frame: &'a [u8],
    /// Its length with FCS.
    pub octets: usize,
    pub now_ns: u64,
    pub out: &'a mut Vec<Output>,
}

impl Pass<'_> {
    /// Table 0.
    pub fn receive(&mut self) -> Outcome {
        let port = self.tables.ports.get(self.ingress).ok_or(Reason::Port)?;
        self.hit(port.entry);
        if self.frame.len() < TAGGED_BYTES {
            return Err(Reason::Malformed);
        }
        match port.side {
            Side::Uni => self.take_from_customer(),
            Side::Nni => self.take_from_network(),
        }
    }

    /// t,4: out at a UNI port, where the C-VLAN belongs to the service.
    pub fn deliver(&mut self, service: &Service, port: usize, c_vlan: u16, skip: usize) -> Outcome {
        if !service.is_attached(port, c_vlan) {
            return Err(Reason::CVlan);
        }
        self.leave(port, None, skip);
        Ok(())
    }

    /// t,5: out at all UNI ports of a service with this C-VLAN, but the ingress; whether there are any such ports.
    pub fn replicate(&mut self, service: &Service, c_vlan: u16, skip: usize) -> bool {
        let Some((ports, entry)) = service.attached.get(&c_vlan) else {
            return false;
        };
        self.hit(*entry);
        let ingress = self.ingress;
        for port in ports.iter().filter(|port| **port != ingress) {
            self.leave(*port, None, skip);
        }
        true
    }

    /// 253: out by B-DA and B-VID.
    pub fn route(&mut self, b_da: Address, b_vlan: u16, push: Option<Head>) -> Outcome {
        let (ports, entry) = self
            .tables
            .routes
            .get(&(b_da, b_vlan))
            .ok_or(Reason::NoRoute)?;
        self.hit(*entry);
        if !is_group(b_da) && ports.contains(&self.ingress) {
            return Err(Reason::Back);
        }
        let ingress = self.ingress;
        for port in ports.iter().filter(|port| **port != ingress) {
            self.leave(*port, push, 0);
        }
        Ok(())
    }

    pub fn leave(&mut self, port: usize, push: Option<Head>, skip: usize) {
        self.out.push(Output { port, push, skip });
    }

    #[inline]
    pub fn hit(&mut self, entry: usize) {
        self.counts.hit(entry, self.octets);
    }

    #[inline]
    pub fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.frame[at], self.frame[at + 1]])
    }

    #[inline]
    pub fn long(&self, at: usize) -> u32 {
        u32::from(self.word(at)) << 16 | u32::from(self.word(at + 2))
    }

    #[inline]
    pub fn address(&self, at: usize) -> Address {
        std::array::from_fn(|octet| self.frame[at + octet])
    }
}

/// Whether many are meant.
pub fn is_group(address: Address) -> bool {
    address[0] & 1 != 0
}

/// Whether it is a group address of connectivity fault management.
pub fn is_oam_group(address: Address) -> bool {
    address[..5] == OAM_GROUP && address[5] & 0xf0 == 0x30
}
