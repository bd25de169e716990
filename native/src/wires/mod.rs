//! Emulated wires: full-duplex links side by side, each with its rate, on which every frame takes its time.

use crate::path::direction::{DirectionSpec, Drain};
use crate::path::frames::Reading;
use crate::path::{Pair, PathSpec};
use crate::worker::Placement;

/// A wire; both of its directions are alike.
#[derive(Clone, Debug)]
pub struct WireSpec {
    /// Interface at end a.
    pub a: String,
    /// Interface at end b.
    pub b: String,
    /// Bits per second at layer 1.
    pub rate_bps: u64,
    /// Most frames that wait in front of it, beside the one that is under way.
    pub queue_frames: usize,
    /// How long a frame travels after its last bit has left [ns].
    pub delay_ns: i64,
}

impl WireSpec {
    fn direction(&self) -> DirectionSpec {
        DirectionSpec {
            drain: Drain::RateBps(self.rate_bps),
            delay_ns: self.delay_ns,
            buffer_bytes: None,
            // The frame under way counts there as well.
            buffer_packets: Some(self.queue_frames.saturating_add(1)),
            loss: 0.0,
        }
    }

    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        self.direction().problem()
    }
}

/// The links of `wires`; the first is called `first_port` in records, the next ones follow.
pub fn links(
    netns_fd: Option<i32>,
    wires: &[WireSpec],
    first_port: u16,
    yields: bool,
    placement: Placement,
) -> PathSpec {
    let pair = |(wire, number): (&WireSpec, u16)| Pair {
        a: wire.a.clone(),
        b: wire.b.clone(),
        number,
    };
    PathSpec {
        netns_fd,
        pairs: wires.iter().zip(first_port..).map(pair).collect(),
        directions: wires
            .iter()
            .flat_map(|wire| [wire.direction(), wire.direction()])
            .collect(),
        reading: Reading::Frames,
        yields,
        seed: 0,
        placement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::direction::{Direction, Fate};

    fn wire() -> WireSpec {
        WireSpec {
            a: "a".to_owned(),
            b: "b".to_owned(),
            rate_bps: 1_000_000_000,
            queue_frames: 2,
            delay_ns: 10_000,
        }
    }

    #[test]
    fn the_frame_under_way_does_not_wait() {
        let mut direction = Direction::new(&wire().direction(), 0, 0);
        // 1500 bytes and 20 of the wire: 12.16 us each, one after the other, then the delay.
        let fates: Vec<Fate> = (0..4).map(|_| direction.arrive(0, 1520)).collect();
        let expected = [22_160, 34_320, 46_480].map(Fate::Leaves);
        assert_eq!(fates[..3], expected);
        assert_eq!(fates[3], Fate::NoRoom);
        assert_eq!(direction.arrive(12_160, 1520), Fate::Leaves(58_640));
    }

    #[test]
    fn every_wire_has_two_directions_and_a_number() {
        let spec = links(None, &[wire(), wire()], 1000, false, Placement::default());
        assert_eq!(spec.directions.len(), 4);
        assert_eq!(spec.pairs[1].number, 1001);
        assert!(spec.directions.iter().all(|d| d.problem().is_none()));
    }
}
