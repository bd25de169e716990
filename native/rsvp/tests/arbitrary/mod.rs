//! Packets of every shape that the types allow, from a seed.

mod objects;

use rackproof_rsvp::*;

/// SplitMix64: numbers that a seed repeats.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    pub fn bool(&mut self) -> bool {
        self.word() & 1 == 1
    }

    pub fn u8(&mut self) -> u8 {
        self.word() as u8
    }

    pub fn u16(&mut self) -> u16 {
        self.word() as u16
    }

    pub fn u24(&mut self) -> u32 {
        self.u32() >> 8
    }

    pub fn u32(&mut self) -> u32 {
        self.word() as u32
    }

    /// Any float that equals itself.
    pub fn f32(&mut self) -> f32 {
        let float = f32::from_bits(self.u32());
        if float.is_nan() { f32::INFINITY } else { float }
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.u8()).collect()
    }

    pub fn list<T>(&mut self, most: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }
}

const TYPES: [MessageType; 11] = [
    MessageType::Path,
    MessageType::Resv,
    MessageType::PathErr,
    MessageType::ResvErr,
    MessageType::PathTear,
    MessageType::ResvTear,
    MessageType::ResvConf,
    MessageType::Ack,
    MessageType::Srefresh,
    MessageType::Hello,
    MessageType::Other(21),
];

fn header(numbers: &mut Numbers) -> Header {
    Header {
        flags: numbers.u8() & 0x0f,
        checksum: if numbers.bool() {
            Checksum::Sent
        } else {
            Checksum::NotSent
        },
        ttl: numbers.u8(),
        reserved: numbers.u8(),
    }
}

fn message(numbers: &mut Numbers) -> Message {
    Message {
        header: header(numbers),
        kind: TYPES[numbers.below(TYPES.len())],
        objects: numbers.list(16, objects::object),
    }
}

/// A message, or one time in four a bundle.
pub fn packet(numbers: &mut Numbers) -> Packet {
    if numbers.below(4) > 0 {
        return Packet::Message(message(numbers));
    }
    let mut messages = numbers.list(3, message);
    messages.push(message(numbers));
    Packet::Bundle(Bundle {
        header: header(numbers),
        messages,
    })
}
