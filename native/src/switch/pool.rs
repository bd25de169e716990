//! Where the bytes of waiting frames are kept.

/// Equal buffers, handed out by number.
pub struct Pool {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    free: Vec<u32>,
    slot_bytes: usize,
}

impl Pool {
    /// `slots` buffers of `slot_bytes`; more are made when these run out.
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        let mut pool = Self {
            bytes: Vec::new(),
            lengths: Vec::new(),
            free: Vec::new(),
            slot_bytes,
        };
        pool.grow(slots);
        pool
    }

    /// Bytes of a buffer.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Takes a buffer and lets `fill` write it; `fill` returns how many bytes it wrote.
    pub fn take<F: FnOnce(&mut [u8]) -> usize>(&mut self, fill: F) -> u32 {
        if self.free.is_empty() {
            self.grow(self.lengths.len().max(64));
        }
        let Some(handle) = self.free.pop() else {
            unreachable!("the pool has just grown");
        };
        let start = handle as usize * self.slot_bytes;
        let written = fill(&mut self.bytes[start..start + self.slot_bytes]);
        self.lengths[handle as usize] = written as u32;
        handle
    }

    /// What was written into a buffer.
    pub fn get(&self, handle: u32) -> &[u8] {
        let start = handle as usize * self.slot_bytes;
        &self.bytes[start..start + self.lengths[handle as usize] as usize]
    }

    /// Gives a buffer back.
    pub fn give_back(&mut self, handle: u32) {
        self.free.push(handle);
    }

    fn grow(&mut self, slots: usize) {
        let first = self.lengths.len();
        self.lengths.resize(first + slots, 0);
        self.bytes.resize((first + slots) * self.slot_bytes, 0);
        // Reversed, so that low numbers are used first and stay in the cache.
        self.free
            .extend((first as u32..(first + slots) as u32).rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_distinct_and_come_back() {
        let mut pool = Pool::new(1, 8);
        let write = |byte: u8| {
            move |out: &mut [u8]| {
                out[..3].fill(byte);
                3
            }
        };
        let first = pool.take(write(1));
        let second = pool.take(write(2));
        assert_eq!(pool.get(first), [1, 1, 1]);
        assert_eq!(pool.get(second), [2, 2, 2]);
        pool.give_back(first);
        assert_eq!(pool.take(write(3)), first);
        assert_eq!(pool.get(second), [2, 2, 2]);
    }
}
