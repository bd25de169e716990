//! Frames of customers: into the network, or to other stations here.

use super::counts::Reason;
use super::output::{ENCAPSULATION_BYTES, Head};
use super::pass::{B_TAG, C_TAG, I_TAG, OAM, Outcome, Pass, is_group, is_oam_group};
use super::spec::Address;
use super::tables::{Place, Service, TICKS};

/// The longest frame of the network, without FCS: an MTU of 2000 and its header.
const LONGEST_BYTES: usize = 2014;

impl Pass<'_> {
    /// t,1, then t,0, t,2, t,3, and t,4, t,5 or t,7.
    pub fn take_from_customer(&mut self) -> Outcome {
        let (kind, inner) = (self.word(12), self.word(16));
        if is_oam_group(self.address(0)) || kind == OAM || (kind == C_TAG && inner == OAM) {
            self.counts.oam_local();
            return Ok(());
        }
        if kind != C_TAG {
            return Err(Reason::NoCTag);
        }
        let tables = self.tables;
        let c_vlan = self.word(14) & 0xfff;
        let key = (self.ingress, c_vlan);
        let (i_sid, entry) = tables.attachments.get(&key).ok_or(Reason::NoService)?;
        self.hit(*entry);
        let service = tables.services.get(i_sid).ok_or(Reason::NoService)?;
        let b_pcp = self.priority(service);
        self.admit(service)?;
        self.police(service)?;
        let destination = self.address(0);
        if is_group(destination) {
            return self.flood(service, c_vlan, b_pcp);
        }
        let station = service
            .stations
            .get(&destination)
            .ok_or(Reason::NoStation)?;
        self.hit(station.1);
        match &station.0 {
            Place::Here(port) if *port == self.ingress => Err(Reason::Back),
            Place::Here(port) => self.deliver(service, *port, c_vlan, 0),
            Place::Behind(element) => {
                self.fit()?;
                let head = self.encapsulate(service, *element, b_pcp);
                self.route(*element, service.b_vlan, Some(head))
            }
        }
    }

    /// t,0: the priority in the network.
    fn priority(&mut self, service: &Service) -> u8 {
        let pcp = (self.word(14) >> 13) as u8;
        let Some((b_pcp, entry)) = service.priorities[usize::from(pcp)] else {
            return pcp;
        };
        self.hit(entry);
        b_pcp
    }

    /// t,2: access control.
    fn admit(&mut self, service: &Service) -> Outcome {
        let (destination, source, kind) = (self.address(0), self.address(6), self.word(16));
        let decides = service.rules.iter().find(|rule| {
            rule.destination.is_none_or(|asked| asked == destination)
                && rule.source.is_none_or(|asked| asked == source)
                && rule.ethertype.is_none_or(|asked| asked == kind)
        });
        let Some(rule) = decides else { return Ok(()) };
        self.hit(rule.entry);
        if rule.permit {
            Ok(())
        } else {
            Err(Reason::Access)
        }
    }

    /// t,3: policing by the generic cell rate algorithm. A frame that exceeds takes no tokens.
    fn police(&mut self, service: &Service) -> Outcome {
        let Some(policer) = &service.policer else {
            return Ok(());
        };
        let now = u128::from(self.now_ns) * TICKS;
        let bucket = self.buckets.entry(service.i_sid).or_default();
        let full = now.max(*bucket) + policer.rule.duration(self.octets as u64);
        if full > now + policer.rule.duration(policer.rule.burst_bytes) {
            self.counts.exceeded(policer.entry);
            return Err(Reason::Policer);
        }
        *bucket = full;
        self.hit(policer.entry);
        Ok(())
    }

    /// t,5 and t,7: a customer's multicast frame, to the other ports of its service and into the network.
    fn flood(&mut self, service: &Service, c_vlan: u16, b_pcp: u8) -> Outcome {
        let Some((group, entry)) = service.group else {
            self.replicate(service, c_vlan, 0);
            return Ok(());
        };
        self.hit(entry);
        self.fit()?;
        self.replicate(service, c_vlan, 0);
        if !self.tables.routes.contains_key(&(group, service.b_vlan)) {
            return Err(Reason::NoRoute);
        }
        let head = self.encapsulate(service, group, b_pcp);
        self.route(group, service.b_vlan, Some(head))
    }

    /// A frame that would be too long for the network ends here.
    fn fit(&self) -> Outcome {
        if self.frame.len() + ENCAPSULATION_BYTES > LONGEST_BYTES {
            return Err(Reason::TooLong);
        }
        Ok(())
    }

    /// 252: the header of a frame that goes into the network; the customer's frame follows it unchanged.
    fn encapsulate(&mut self, service: &Service, b_da: Address, b_pcp: u8) -> Head {
        self.hit(service.pushed);
        let c_tci = self.word(14);
        let b_tci = u16::from(b_pcp) << 13 | c_tci & 0x1000 | service.b_vlan;
        let i_tci = u32::from(c_tci & 0xf000) << 16 | service.i_sid;
        let mut head = [0; ENCAPSULATION_BYTES];
        head[..6].copy_from_slice(&b_da);
        head[6..12].copy_from_slice(&self.tables.address);
        head[12..14].copy_from_slice(&B_TAG.to_be_bytes());
        head[14..16].copy_from_slice(&b_tci.to_be_bytes());
        head[16..18].copy_from_slice(&I_TAG.to_be_bytes());
        head[18..].copy_from_slice(&i_tci.to_be_bytes());
        head
    }
}
