//! What every stream had sent, and should have sent, at given instants.

use super::Mark;
use super::stream::Stream;

/// Instants that are passed twice: by what is sent, and by what is due.
#[derive(Default)]
pub struct Marks {
    after_ns: Vec<i64>,
    sent: usize,
    due: usize,
}

impl Marks {
    /// Marks at times after the schedule's origin, ascending [ns].
    pub fn new(after_ns: Vec<i64>) -> Self {
        Self {
            after_ns,
            ..Self::default()
        }
    }

    /// The times of all marks, after the origin [ns].
    pub fn after_ns(&self) -> &[i64] {
        &self.after_ns
    }

    /// To be called before anything is sent at a time after the origin.
    #[inline]
    pub fn before_sending(&mut self, time_ns: i64, streams: &mut [Stream]) {
        while self
            .after_ns
            .get(self.sent)
            .is_some_and(|mark| time_ns >= *mark)
        {
            self.sent += 1;
            for stream in &mut *streams {
                stream.marks_sent.push(Mark {
                    frames: stream.frames,
                    octets: stream.octets,
                });
            }
        }
    }

    /// To be called before a frame that is due at a time after the origin is counted as intended.
    #[inline]
    pub fn before_due(&mut self, time_ns: i64, streams: &mut [Stream]) {
        while self
            .after_ns
            .get(self.due)
            .is_some_and(|mark| time_ns >= *mark)
        {
            self.due += 1;
            for stream in &mut *streams {
                stream.marks_due.push(stream.intended);
            }
        }
    }

    /// As `before_due`, for one stream whose schedule is followed alone to its end.
    pub fn before_due_of(&self, time_ns: i64, stream: &mut Stream) {
        while let Some(mark) = self.after_ns.get(stream.marks_due.len()) {
            if time_ns < *mark {
                break;
            }
            stream.marks_due.push(stream.intended);
        }
    }

    /// Fills in the marks that nothing came after.
    pub fn end(&mut self, streams: &mut [Stream]) {
        self.before_sending(i64::MAX, streams);
        for stream in streams {
            if stream.timeline.is_none() {
                // What leaves as fast as possible is intended when it leaves.
                stream.marks_due = stream.marks_sent.iter().map(|mark| mark.frames).collect();
            }
            stream
                .marks_due
                .resize(self.after_ns.len(), stream.intended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::sender::{SenderSpec, StreamSpec};
    use std::time::Duration;

    fn stream(arrivals: Arrivals) -> Stream {
        let spec = StreamSpec {
            stream: 1,
            port: 0,
            header: vec![0; 18],
            frame_sizes: vec![(64, 1.0)],
            rate_fps: 1e3,
            arrivals,
        };
        let sender = SenderSpec {
            ports: Vec::new(),
            streams: Vec::new(),
            campaign: 0,
            trial: 0,
            seed: 0,
            duration: Duration::from_secs(1),
            marks: Vec::new(),
            placement: crate::worker::Placement::default(),
        };
        Stream::new(&spec, &sender)
    }

    #[test]
    fn a_frame_at_a_mark_counts_after_it() {
        let mut marks = Marks::new(vec![0, 100, 200]);
        let mut streams = [stream(Arrivals::Poisson)];
        for (time_ns, late_ns) in [(0, 0), (99, 50), (100, 0), (250, 0)] {
            marks.before_due(time_ns, &mut streams);
            streams[0].intended += 1;
            marks.before_sending(time_ns + late_ns, &mut streams);
            streams[0].count(64);
        }
        marks.end(&mut streams);
        assert_eq!(streams[0].marks_due, [0, 2, 3]);
        let sent: Vec<_> = streams[0]
            .marks_sent
            .iter()
            .map(|m| (m.frames, m.octets))
            .collect();
        // The second frame left 50 ns late, after the mark that it was due before.
        assert_eq!(sent, [(0, 0), (1, 64), (3, 192)]);
    }

    #[test]
    fn what_never_left_was_still_due() {
        let mut marks = Marks::new(vec![0, 100, 200]);
        let mut streams = [stream(Arrivals::Poisson)];
        for time_ns in [10, 110, 150, 190] {
            marks.before_due_of(time_ns, &mut streams[0]);
            streams[0].intended += 1;
        }
        marks.end(&mut streams);
        assert_eq!(streams[0].marks_due, [0, 1, 4]);
        assert!(streams[0].marks_sent.iter().all(|mark| mark.frames == 0));
    }

    #[test]
    fn flat_out_intends_what_it_sends() {
        let mut marks = Marks::new(vec![0, 100]);
        let mut streams = [stream(Arrivals::FlatOut)];
        marks.before_sending(0, &mut streams);
        streams[0].count(64);
        marks.end(&mut streams);
        assert_eq!(streams[0].marks_due, [0, 1]);
    }
}
