//! What waits in a queue, and what is dropped at its tail.

use std::collections::VecDeque;

/// A frame, as far as scheduling looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where its bytes are; the scheduler only passes it on.
    pub handle: u32,
    /// Length on the wire, tag and FCS included.
    pub frame_bytes: u32,
    /// Priority of the VLAN tag; above 7 (untagged) counts as 0.
    pub pcp: u8,
    /// Number of the port it came in at, from 0.
    pub ingress: u16,
}

/// A first-in-first-out queue of bounded length. The frame in transmission has left it.
#[derive(Debug)]
pub struct Queue {
    frames: VecDeque<Frame>,
    limit: usize,
}

impl Queue {
    /// A queue for `limit` frames.
    pub fn new(limit: usize) -> Self {
        Self {
            frames: VecDeque::with_capacity(limit),
            limit,
        }
    }

    /// Appends a frame; false (and the frame is dropped) if the queue is full.
    pub fn push(&mut self, frame: Frame) -> bool {
        let room = self.frames.len() < self.limit;
        if room {
            self.frames.push_back(frame);
        }
        room
    }

    /// Removes the oldest frame.
    pub fn pop(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    /// Length of the oldest frame [bytes].
    pub fn head_bytes(&self) -> Option<u32> {
        self.frames.front().map(|frame| frame.frame_bytes)
    }

    /// How many frames wait.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether more than half of the room is taken.
    pub fn more_than_half_full(&self) -> bool {
        2 * self.frames.len() > self.limit
    }
}
