//! ARP for one emulated address on Ethernet (RFC 826): answers, questions, and whose hardware address is known.

use std::collections::HashMap;
use std::net::Ipv4Addr;

/// A hardware address.
pub type Mac = [u8; 6];

/// The EtherType of ARP.
pub const ETHERTYPE: u16 = 0x0806;

const BROADCAST: Mac = [0xff; 6];
/// EtherType; hardware Ethernet, protocol IPv4, lengths 6 and 4.
const ETHERNET_IPV4: [u8; 8] = [0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 6, 4];
const REQUEST: u16 = 1;
const REPLY: u16 = 2;
const FRAME_BYTES: usize = 42;

/// One address, and who its neighbours are.
#[derive(Clone, Debug)]
pub struct Arp {
    address: Ipv4Addr,
    mac: Mac,
    neighbours: HashMap<Ipv4Addr, Mac>,
}

impl Arp {
    /// Answers for `address` with `mac`; knows nobody.
    pub fn new(address: Ipv4Addr, mac: Mac) -> Self {
        Self {
            address,
            mac,
            neighbours: HashMap::new(),
        }
    }

    /// Takes a frame from its destination address on, any frame; the reply to send. Who asks for this address, or answers it, is known after that.
    pub fn receive(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let frame: &[u8; FRAME_BYTES] = frame.get(..FRAME_BYTES)?.try_into().ok()?;
        let [sender, target] = [28, 38].map(|at| ipv4(frame, at));
        if frame[12..20] != ETHERNET_IPV4 || target != self.address {
            return None;
        }
        let mac: Mac = frame[22..28].try_into().ok()?;
        // A probe for a duplicate address comes from nobody (RFC 5227, 2.1.1).
        if !sender.is_unspecified() {
            self.neighbours.insert(sender, mac);
        }
        let operation = u16::from_be_bytes([frame[20], frame[21]]);
        (operation == REQUEST).then(|| self.frame(mac, REPLY, mac, sender))
    }

    /// The hardware address of a neighbour, if it is known.
    pub fn mac_of(&self, address: Ipv4Addr) -> Option<Mac> {
        self.neighbours.get(&address).copied()
    }

    /// The question who has `address`.
    pub fn request(&self, address: Ipv4Addr) -> Vec<u8> {
        self.frame(BROADCAST, REQUEST, [0; 6], address)
    }

    fn frame(&self, to: Mac, operation: u16, target_mac: Mac, target: Ipv4Addr) -> Vec<u8> {
        let mut frame = Vec::with_capacity(FRAME_BYTES);
        frame.extend_from_slice(&to);
        frame.extend_from_slice(&self.mac);
        frame.extend_from_slice(&ETHERNET_IPV4);
        frame.extend_from_slice(&operation.to_be_bytes());
        frame.extend_from_slice(&self.mac);
        frame.extend_from_slice(&self.address.octets());
        frame.extend_from_slice(&target_mac);
        frame.extend_from_slice(&target.octets());
        frame
    }
}

fn ipv4(frame: &[u8; FRAME_BYTES], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Ipv4Addr = Ipv4Addr::new(10, 83, 0, 2);
    const THERE: Ipv4Addr = Ipv4Addr::new(10, 83, 0, 1);
    const OURS: Mac = [2, 0, 0, 0, 0, 1];
    const THEIRS: Mac = [2, 0, 0, 0, 0, 2];

    #[test]
    fn a_question_and_its_answer_make_both_known() {
        let (mut here, mut there) = (Arp::new(HERE, OURS), Arp::new(THERE, THEIRS));
        let question = here.request(THERE);
        assert_eq!(question[..6], BROADCAST);
        let answer = there.receive(&question).unwrap();
        assert_eq!(answer[..14], [&OURS[..], &THEIRS, &[8, 6]].concat());
        assert_eq!(here.receive(&answer), None);
        assert_eq!(here.mac_of(THERE), Some(THEIRS));
        assert_eq!(there.mac_of(HERE), Some(OURS));
    }

    #[test]
    fn a_padded_frame_is_understood() {
        let mut question = Arp::new(HERE, OURS).request(THERE);
        question.resize(60, 0);
        assert!(Arp::new(THERE, THEIRS).receive(&question).is_some());
    }

    #[test]
    fn others_are_not_answered_and_nothing_is_learnt() {
        let mut there = Arp::new(THERE, THEIRS);
        let other = Arp::new(HERE, OURS).request(Ipv4Addr::new(10, 83, 0, 3));
        assert_eq!(there.receive(&other), None);
        let question = Arp::new(HERE, OURS).request(THERE);
        assert_eq!(there.receive(&question[..41]), None);
        let mut ipv6 = question;
        ipv6[13] = 0xdd;
        assert_eq!(there.receive(&ipv6), None);
        assert_eq!(there.mac_of(HERE), None);
    }

    #[test]
    fn a_probe_for_a_duplicate_is_answered_and_not_learnt() {
        let mut there = Arp::new(THERE, THEIRS);
        let probe = Arp::new(Ipv4Addr::UNSPECIFIED, OURS).request(THERE);
        assert!(there.receive(&probe).is_some());
        assert_eq!(there.mac_of(Ipv4Addr::UNSPECIFIED), None);
    }
}
