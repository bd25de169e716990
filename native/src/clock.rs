//! What time is it, in nanoseconds, by which clock.

fn read(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the call, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// CLOCK_REALTIME [ns since 1970]: the clock of the kernel's packet timestamps.
#[inline]
pub fn realtime_ns() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// CLOCK_MONOTONIC [ns]: never stepped, so schedules are kept by it.
#[inline]
pub fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Both clocks at one moment, to see later whether the real-time clock was stepped.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// CLOCK_REALTIME [ns].
    pub realtime_ns: i64,
    /// CLOCK_MONOTONIC [ns].
    pub monotonic_ns: i64,
}

impl Moment {
    /// Now. Of three readings the one taken in the shortest time is kept, so that a preemption
    /// between the two clocks is not mistaken for a step.
    pub fn now() -> Self {
        let mut best: Option<(i64, Self)> = None;
        for _ in 0..3 {
            let before = monotonic_ns();
            let realtime = realtime_ns();
            let after = monotonic_ns();
            let width = after - before;
            if best.is_none_or(|(narrowest, _)| width < narrowest) {
                let moment = Self {
                    realtime_ns: realtime,
                    monotonic_ns: before + width / 2,
                };
                best = Some((width, moment));
            }
        }
        best.map_or(
            Self {
                realtime_ns: 0,
                monotonic_ns: 0,
            },
            |(_, moment)| moment,
        )
    }

    /// How far CLOCK_REALTIME moved against CLOCK_MONOTONIC since `earlier` [ns].
    pub fn step_since(&self, earlier: &Self) -> i64 {
        (self.realtime_ns - earlier.realtime_ns) - (self.monotonic_ns - earlier.monotonic_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stepped_clock_shows() {
        let start = Moment {
            realtime_ns: 1_000,
            monotonic_ns: 50,
        };
        let end = Moment {
            realtime_ns: 2_500,
            monotonic_ns: 1_050,
        };
        assert_eq!(end.step_since(&start), 500);
    }
}
