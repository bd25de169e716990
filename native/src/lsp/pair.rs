//! A pair of LERs as others use it: started, asked, stopped.

use std::os::fd::{OwnedFd, RawFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::engine::Engine;
use super::flaps::Phases;
use super::messages::Name;
use super::sockets::Port;
use super::spec::{Flaps, Spec};
use super::telling::State;
use super::thread::{Core, Request};
use crate::clock::{Moment, realtime_ns};
use crate::error::SetupError;
use crate::socket::{PortSpec, Together};
use crate::stalls::Stalls;
use crate::wake::WakeUp;
use crate::worker::{Placement, Worker, lock};

/// How long the thread may take to answer, where others take its processor as well.
const ANSWER: Duration = Duration::from_secs(20);
/// How long it may take to end: its last tears, and some more.
const END: Duration = Duration::from_secs(20);

/// Where a pair of LERs is, and what it does.
pub struct PairSpec {
    /// Open descriptor of the network namespace of both interfaces; None for the caller's.
    pub netns_fd: Option<RawFd>,
    /// Interface of the ingress, and of the egress.
    pub interfaces: [String; 2],
    /// What is signalled.
    pub spec: Spec,
    /// Most records at a time.
    pub capacity: usize,
    /// Where its thread runs.
    pub placement: Placement,
}

/// What a pair did, as far as no engine knows it.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // see LerReport in the stub
pub struct Report {
    pub counters: std::collections::BTreeMap<String, u64>,
    pub ring_drops: u64,
    pub send_errors: u64,
    pub overflow: u64,
    pub lateness_ns: [i64; 3],
    pub clock_step_ns: i64,
    pub stalled_ns: i64,
    pub stalls: Vec<(i64, i64)>,
}

/// What the thread begins with.
type Beginning = (Core, Vec<Port>, Receiver<Request>);

/// See the module.
pub struct LerPair {
    placement: Placement,
    ready: Mutex<Option<Beginning>>,
    requests: Sender<Request>,
    wake: Arc<WakeUp>,
    worker: Worker<Arc<Mutex<Core>>>,
    taken: Mutex<bool>,
}

impl Drop for LerPair {
    fn drop(&mut self) {
        self.worker.request_stop();
        self.wake.signal();
    }
}

impl LerPair {
    /// Opens the sockets; nothing is received yet.
    pub fn new(spec: PairSpec) -> Result<Self, SetupError> {
        let port = |interface: &String| PortSpec {
            interface: interface.clone(),
            netns_fd: spec.netns_fd,
        };
        let opened: Vec<Port> = spec
            .interfaces
            .iter()
            .map(|interface| Port::open(&port(interface)))
            .collect::<Result<_, _>>()?;
        let start = Moment::now();
        let seconds = (start.realtime_ns / 1_000_000_000) as u32;
        let macs = [opened[0].mac, opened[1].mac];
        let core = Core {
            engine: Engine::new(spec.spec, macs, seconds, spec.capacity)?,
            ring_drops: 0,
            send_errors: 0,
            stalls: Stalls::default(),
            start,
        };
        let (requests, asked) = mpsc::channel();
        Ok(Self {
            placement: spec.placement,
            ready: Mutex::new(Some((core, opened, asked))),
            requests,
            wake: Arc::new(WakeUp::new()?),
            worker: Worker::default(),
            taken: Mutex::new(false),
        })
    }

    /// Lets frames in, then starts the thread; None if it was started before.
    pub fn start(&self) -> Option<Result<(), SetupError>> {
        let (mut core, mut ports, asked) = lock(&self.ready).take()?;
        for port in &ports {
            if let Err(error) = port.socket.bind_for_receiving() {
                return Some(Err(error));
            }
        }
        let wake = Arc::clone(&self.wake);
        let started = self.worker.start("rp-lsp", self.placement, move |stop| {
            core.run(&mut ports, stop, &asked, &wake);
            let sockets = Together(ports.into_iter().map(|port| port.socket).collect());
            (Arc::new(Mutex::new(core)), sockets)
        });
        Some(started.map_err(|e| SetupError::from_io(e, "start thread of LERs", "")))
    }

    /// Ends the thread; whether it did in time.
    pub fn stop(&self) -> bool {
        self.worker.request_stop();
        self.wake.signal();
        self.worker.wait(END)
    }

    /// LSPs of an earlier run that are to be torn down.
    pub fn tear_left(&self, names: Vec<Name>) -> bool {
        if let Some((core, ..)) = lock(&self.ready).as_mut() {
            core.engine.tear_left(&names, realtime_ns());
            return true;
        }
        self.ask(move |core| core.engine.tear_left(&names, realtime_ns()))
            .is_some()
    }

    /// How the LSPs stand; None before the start.
    pub fn state(&self) -> Option<State> {
        self.ask(|core| core.engine.state())
    }

    /// Begins phases; false while others are under way. Err says what is wrong with them, None that it does not run.
    pub fn flap(&self, flaps: Flaps) -> Option<Result<bool, String>> {
        if self.worker.finished() {
            return None;
        }
        self.ask(move |core| {
            let now = realtime_ns();
            Phases::new(&flaps, now).map(|phases| core.engine.flap(phases, now))
        })
    }

    /// Ends phases.
    pub fn halt(&self) {
        self.ask(|core| core.engine.halt());
    }

    /// Whether phases are under way.
    pub fn is_flapping(&self) -> bool {
        !self.worker.finished() && self.ask(|core| core.engine.is_flapping()).unwrap_or(false)
    }

    /// Tears all LSPs down.
    pub fn tear(&self) {
        self.ask(|core| core.engine.tear_all(realtime_ns()));
    }

    /// LSPs that devices may still have.
    pub fn standing(&self) -> Vec<Name> {
        self.ask(|core| core.engine.standing()).unwrap_or_default()
    }

    /// The records' memory and for how much there was no room; None before the start, or where the last ones were taken.
    pub fn take_records(&self) -> Option<Result<(OwnedFd, u64), SetupError>> {
        if self.worker.finished() && std::mem::replace(&mut *lock(&self.taken), true) {
            return None;
        }
        let taken = self.ask(|core| core.engine.log().take())?;
        Some(taken.and_then(|(records, overflow)| {
            let fd = records.into_fd();
            let fd = fd.map_err(|e| SetupError::from_io(e, "cut records", ""))?;
            Ok((fd, overflow))
        }))
    }

    /// What it did; None before the start.
    pub fn report(&self) -> Option<Report> {
        self.ask(|core| {
            let lateness = core.engine.lateness();
            let lateness_ns = [0.5, 0.99, 1.0].map(|share| lateness.quantile_ns(share));
            Report {
                counters: core.engine.counters(),
                ring_drops: core.ring_drops,
                send_errors: core.send_errors,
                overflow: core.engine.log().overflow(),
                lateness_ns,
                clock_step_ns: Moment::now().step_since(&core.start),
                stalled_ns: core.stalls.total_ns,
                stalls: core.stalls.listed.clone(),
            }
        })
    }

    /// Lets the thread do something, or does it where the thread has ended.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Core) -> T + Send + 'static,
    ) -> Option<T> {
        if !self.worker.started() {
            return None;
        }
        if let Some(core) = self.worker.outcome() {
            return Some(work(&mut lock(&core)));
        }
        let (answer, answered) = mpsc::channel();
        // An asker who has gone is told nothing.
        let request = move |core: &mut Core| drop(answer.send(work(core)));
        self.requests.send(Box::new(request)).ok()?;
        self.wake.signal();
        answered.recv_timeout(ANSWER).ok()
    }
}
