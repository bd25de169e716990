//! What waits at a port for the next call to the kernel.

use super::StreamSpec;
use super::stream::Stream;
use crate::arrivals::Arrivals;
use crate::batch::{BATCH_FRAMES, Batch};
use crate::clock::realtime_ns;
use crate::frame::FCS_BYTES;
use crate::ring::TxRing;
use crate::socket::PacketSocket;

/// A frame that waits.
pub struct Queued {
    /// Index of its stream.
    pub stream: usize,
    /// Its length, FCS included.
    pub frame_bytes: u32,
    /// When it was to be sent [ns].
    pub due_ns: i64,
}

/// A port at work.
pub struct Port {
    /// Its socket.
    pub fd: i32,
    /// The frames that wait, as the kernel wants them ...
    pub batch: Batch,
    /// ... and as we count them.
    pub queued: Vec<Queued>,
    /// Where nothing at this port is scheduled.
    pub ring: Option<TxRing>,
    /// Its streams that send flat out ...
    pub flat_out: Vec<usize>,
    /// ... and whose turn it is.
    pub next_flat_out: usize,
}

impl Port {
    /// Port `index` with its share of `streams`.
    pub fn new(index: usize, socket: &PacketSocket, streams: &[StreamSpec]) -> Self {
        let (flat_out, scheduled): (Vec<usize>, Vec<usize>) = (0..streams.len())
            .filter(|stream| streams[*stream].port == index)
            .partition(|stream| streams[*stream].arrivals == Arrivals::FlatOut);
        let largest = streams
            .iter()
            .filter(|stream| stream.port == index)
            .flat_map(|stream| stream.frame_sizes.iter().map(|(bytes, _)| *bytes))
            .max()
            .unwrap_or(0) as usize;
        let ring_suits = scheduled.is_empty() && !flat_out.is_empty();
        Self {
            fd: socket.raw_fd(),
            batch: Batch::new(largest),
            queued: Vec::with_capacity(BATCH_FRAMES),
            // Without a ring it is merely slower.
            ring: ring_suits
                .then(|| TxRing::new(socket, largest).ok())
                .flatten(),
            flat_out,
            next_flat_out: 0,
        }
    }

    /// Appends the next frame of a stream to the batch, which must not be full.
    #[inline]
    pub fn queue(&mut self, stream: &mut Stream, index: usize, due_ns: i64) {
        let frame_bytes = stream.sizes.next_bytes();
        stream.write_sequence();
        stream.sequence = stream.sequence.wrapping_add(1);
        self.batch
            .push(&stream.head, (frame_bytes - FCS_BYTES) as usize);
        self.queued.push(Queued {
            stream: index,
            frame_bytes,
            due_ns,
        });
    }

    /// Writes the time into the frames from `first` on, just before they are sent.
    #[inline]
    pub fn stamp(&mut self, streams: &[Stream], first: usize) {
        let tx_ns = realtime_ns().to_be_bytes();
        for index in first..self.batch.len() {
            let at = streams[self.queued[index].stream].time_at();
            self.batch.slot_mut(index)[at..at + 8].copy_from_slice(&tx_ns);
        }
    }
}
