//! Where the bytes of waiting frames are kept.

/// Slots that are made at once: large enough to come from the system as zeros that cost nothing
/// until they are written.
const CHUNK_SLOTS: usize = 256;

/// Equal buffers, handed out by number. Growing moves nothing.
pub struct Pool {
    chunks: Vec<Box<[u8]>>,
    lengths: Vec<u32>,
    free: Vec<u32>,
    slot_bytes: usize,
}

impl Pool {
    /// At least `slots` buffers of `slot_bytes`; more are made when these run out.
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        let mut pool = Self {
            chunks: Vec::new(),
            lengths: Vec::new(),
            free: Vec::new(),
            slot_bytes,
        };
        for _ in 0..slots.div_ceil(CHUNK_SLOTS) {
            pool.grow();
        }
        pool
    }

    /// Bytes of a buffer.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// How many buffers are handed out.
    pub fn in_use(&self) -> usize {
        self.lengths.len() - self.free.len()
    }

    /// Takes a buffer and lets `fill` write it; `fill` returns how many bytes it wrote.
    pub fn take<F: FnOnce(&mut [u8]) -> usize>(&mut self, fill: F) -> u32 {
        if self.free.is_empty() {
            self.grow();
        }
        let Some(handle) = self.free.pop() else {
            unreachable!("the pool has just grown");
        };
        let (chunk, slot) = self.place(handle);
        let written = fill(&mut self.chunks[chunk][slot..slot + self.slot_bytes]);
        self.lengths[handle as usize] = written as u32;
        handle
    }

    /// What was written into a buffer.
    pub fn get(&self, handle: u32) -> &[u8] {
        let (chunk, slot) = self.place(handle);
        &self.chunks[chunk][slot..slot + self.lengths[handle as usize] as usize]
    }

    /// Gives a buffer back.
    pub fn give_back(&mut self, handle: u32) {
        self.free.push(handle);
    }

    fn place(&self, handle: u32) -> (usize, usize) {
        let handle = handle as usize;
        (handle / CHUNK_SLOTS, handle % CHUNK_SLOTS * self.slot_bytes)
    }

    fn grow(&mut self) {
        let first = self.lengths.len();
        self.lengths.resize(first + CHUNK_SLOTS, 0);
        self.chunks
            .push(vec![0; CHUNK_SLOTS * self.slot_bytes].into_boxed_slice());
        // Reversed, so that low numbers are used first and stay in the cache.
        self.free
            .extend((first as u32..(first + CHUNK_SLOTS) as u32).rev());
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
        assert_eq!(pool.in_use(), 1);
        assert_eq!(pool.take(write(3)), first);
        assert_eq!(pool.get(second), [2, 2, 2]);
        let many: Vec<u32> = (0..600).map(|_| pool.take(write(4))).collect();
        assert!(many.iter().all(|handle| pool.get(*handle) == [4, 4, 4]));
        assert_eq!(pool.in_use(), 602);
        assert_eq!(pool.get(second), [2, 2, 2]);
    }
}
