//! Frames of the network: transit, and what is for customers here.

use super::counts::Reason;
use super::output::ENCAPSULATION_BYTES;
use super::pass::{B_TAG, C_TAG, I_TAG, OAM, Outcome, Pass, TAGGED_BYTES, is_group, is_oam_group};
use super::spec::Address;
use super::tables::{Place, Service};

/// Use customer address, in the first octet of the I-TAG's information.
const UCA: u8 = 0x08;

impl Pass<'_> {
    /// 253, or Table 3 for what is addressed to this element.
    pub fn take_from_network(&mut self) -> Outcome {
        let tables = self.tables;
        if self.word(12) != B_TAG {
            return Err(Reason::NotXcf);
        }
        if self.address(6) == tables.address {
            return Err(Reason::Loop);
        }
        let (b_da, kind) = (self.address(0), self.word(16));
        let b_vlan = self.word(14) & 0xfff;
        let uses_customer_address =
            kind == I_TAG && self.frame.len() >= ENCAPSULATION_BYTES && self.frame[18] & UCA != 0;
        if is_oam_group(b_da) || kind == OAM || uses_customer_address {
            if b_da == tables.address || is_oam_group(b_da) {
                self.counts.oam_local();
                return Ok(());
            }
            self.counts.oam_forwarded();
            return self.route(b_da, b_vlan, None);
        }
        if kind != I_TAG {
            return Err(Reason::NotXcf);
        }
        if self.frame.len() < ENCAPSULATION_BYTES + TAGGED_BYTES {
            return Err(Reason::Malformed);
        }
        let is_ours = b_da == tables.address;
        if !is_ours && !is_group(b_da) {
            return self.route(b_da, b_vlan, None);
        }
        let service = tables.services.get(&(self.long(18) & 0xff_ffff));
        if let Some(service) = service {
            self.hit(service.popped);
        }
        if is_ours {
            return self.decapsulate(service.ok_or(Reason::NoService)?, b_vlan);
        }
        let copied = service.is_some_and(|service| self.copy_here(service, b_da, b_vlan));
        match self.route(b_da, b_vlan, None) {
            Err(Reason::NoRoute) if copied => Ok(()),
            outcome => outcome,
        }
    }

    /// t,4 or t,5: a frame for this element.
    fn decapsulate(&mut self, service: &Service, b_vlan: u16) -> Outcome {
        if b_vlan != service.b_vlan {
            return Err(Reason::BVlan);
        }
        if self.word(ENCAPSULATION_BYTES + 12) != C_TAG {
            return Err(Reason::NoCTag);
        }
        let c_vlan = self.word(ENCAPSULATION_BYTES + 14) & 0xfff;
        let destination = self.address(ENCAPSULATION_BYTES);
        if is_group(destination) {
            return if self.replicate(service, c_vlan, ENCAPSULATION_BYTES) {
                Ok(())
            } else {
                Err(Reason::CVlan)
            };
        }
        match service.stations.get(&destination) {
            Some((Place::Here(port), entry)) => {
                self.hit(*entry);
                self.deliver(service, *port, c_vlan, ENCAPSULATION_BYTES)
            }
            _ => Err(Reason::NoStation),
        }
    }

    /// The local copies of a group's frame; whether it has any receiver here.
    fn copy_here(&mut self, service: &Service, b_da: Address, b_vlan: u16) -> bool {
        let is_ours = service.b_vlan == b_vlan
            && service.group.is_some_and(|(address, _)| address == b_da)
            && self.word(ENCAPSULATION_BYTES + 12) == C_TAG;
        let c_vlan = self.word(ENCAPSULATION_BYTES + 14) & 0xfff;
        is_ours && self.replicate(service, c_vlan, ENCAPSULATION_BYTES)
    }
}
