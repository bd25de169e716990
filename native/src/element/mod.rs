//! Packet forwarding elements of 5G-Crosshaul in user space: the pipeline of rackproof.model.xcf between real ports.

mod counts;
mod customer;
mod device;
#[cfg(test)]
mod fixture;
mod network;
pub mod output;
mod pass;
pub mod pipeline;
pub mod spec;
mod tables;
#[cfg(test)]
mod tests;
mod thread;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::error::SetupError;
use crate::socket::Together;
use crate::worker::{Placement, Worker, lock};

use device::Device;
use pipeline::Pipeline;
use thread::Request;

/// How long the thread may take to answer, where others take its processor as well.
const ANSWER: Duration = Duration::from_secs(20);

/// An element and where it stands.
pub struct ElementSpec {
    /// Open descriptor of its network namespace; None for the caller's.
    pub netns_fd: Option<i32>,
    /// Its ports, among them those that the tables name.
    pub ports: Vec<String>,
    /// Its tables.
    pub pipeline: Pipeline,
}

/// What an element did since its start.
#[derive(Clone, Debug, Default)]
pub struct ElementReport {
    /// What its tables counted, by name.
    pub counters: BTreeMap<String, u64>,
    /// Frames that the ring had no room for.
    pub ring_drops: u64,
    /// Frames that an interface refused.
    pub errors: u64,
}

/// One thread for many elements: as many threads as elements would take the processors from each other.
pub struct Forwarder {
    requests: Sender<Request>,
    worker: Worker<()>,
}

impl Forwarder {
    /// Starts the thread, with no elements.
    pub fn start(placement: Placement) -> Result<Self, SetupError> {
        let (requests, asked) = mpsc::channel();
        let worker = Worker::default();
        worker
            .start("rp-elements", placement, move |stop| {
                let devices = thread::run(stop, &asked);
                let sockets = devices.into_iter().flat_map(Device::into_sockets);
                ((), Together(sockets.collect()))
            })
            .map_err(|e| SetupError::from_io(e, "start thread of elements", ""))?;
        Ok(Self { requests, worker })
    }

    /// The thread's answer; None if it has ended.
    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Option<T> {
        let (answer, answered) = mpsc::channel();
        self.requests.send(request(answer)).ok()?;
        if self.worker.finished() {
            return None;
        }
        answered.recv_timeout(ANSWER).ok()
    }
}

/// Forwards between its ports from its start until it is dropped.
pub struct Element {
    forwarder: Arc<Forwarder>,
    number: usize,
    last: Mutex<Option<ElementReport>>,
}

impl Element {
    /// Opens sockets and ring, and begins to forward. None if the forwarder has ended.
    pub fn start(forwarder: Arc<Forwarder>, spec: ElementSpec) -> Result<Option<Self>, SetupError> {
        let mut device = Device::open(spec)?;
        device.arm()?;
        let number = forwarder.ask(|answer| Request::Add(Box::new(device), answer));
        Ok(number.map(|number| Self {
            forwarder,
            number,
            last: Mutex::new(None),
        }))
    }

    /// Other tables from the next frame on; entries that stay go on counting. Whether it forwards.
    pub fn change(&self, pipeline: Pipeline) -> bool {
        let change = |answer| Request::Change(self.number, Box::new(pipeline), answer);
        self.forwarder.ask(change) == Some(true)
    }

    /// Stops forwarding.
    pub fn stop(&self) {
        let removed = self
            .forwarder
            .ask(|answer| Request::Remove(self.number, answer));
        if let Some(mut device) = removed.flatten() {
            *lock(&self.last) = Some(device.report());
            drop(Together(device.into_sockets()));
        }
    }

    /// What it did so far, or until it was stopped; None if the forwarder has ended.
    pub fn report(&self) -> Option<ElementReport> {
        let last = lock(&self.last).clone();
        last.or_else(|| {
            let report = |answer| Request::Report(self.number, answer);
            self.forwarder.ask(report).flatten()
        })
    }
}

impl Drop for Element {
    fn drop(&mut self) {
        self.stop();
    }
}
