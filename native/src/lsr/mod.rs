//! Software label switching routers: RSVP-TE with a service-time model, and a label table in XDP or in user space.
//!
//! [`router`] is the control plane without sockets, [`table`] what is done with a labelled frame.

pub mod config;
mod counts;
mod device;
mod errors;
mod filter;
mod labels;
mod links;
mod native;
mod neighbour;
mod path;
mod plane;
mod receive;
mod refresh;
mod resv;
mod route;
pub mod router;
mod server;
pub mod spec;
mod state;
pub mod table;
#[cfg(test)]
mod tests;
mod thread;
mod work;
mod xdp;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::arp::Mac;
use crate::error::SetupError;
use crate::socket::Together;
use crate::worker::{Placement, Worker, lock};

use device::Device;
use spec::{Mpls, Options};
use thread::{Bell, Request};

/// How long the thread may take to answer, where others take its processor as well.
const ANSWER: Duration = Duration::from_secs(20);

/// What forwards labelled frames.
pub enum Forwarding {
    /// The compiled XDP object.
    Xdp(Vec<u8>),
    /// The thread itself.
    Native,
}

/// A router and where it stands.
pub struct RouterSpec {
    /// Open descriptor of its network namespace.
    pub netns_fd: i32,
    /// Names and hardware addresses of its ports.
    pub ports: Vec<(String, Mac)>,
    /// Its configuration.
    pub mpls: Mpls,
    /// What it is like.
    pub options: Options,
    /// What forwards.
    pub forwarding: Forwarding,
}

/// What a router did since its start.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What it counted, by name.
    pub counters: BTreeMap<String, u64>,
    /// Labels whose entry in what forwards is another than it should be.
    pub differences: Vec<u32>,
    /// Labels that what forwards has entries for.
    pub labels: usize,
}

/// One thread for many routers; it sleeps when there is nothing to do.
pub struct Routers {
    requests: Sender<Request>,
    bell: Arc<Bell>,
    worker: Worker<()>,
}

impl Routers {
    /// Starts the thread, with no routers.
    pub fn start(placement: Placement) -> Result<Self, SetupError> {
        let (requests, asked) = mpsc::channel();
        let bell = Arc::new(Bell::new()?);
        let worker = Worker::default();
        let heard = Arc::clone(&bell);
        worker
            .start("rp-routers", placement, move |stop| {
                let devices = thread::run(stop, &asked, &heard);
                let sockets = devices.into_iter().flat_map(Device::into_sockets);
                ((), Together(sockets.collect()))
            })
            .map_err(|e| SetupError::from_io(e, "start thread of routers", ""))?;
        Ok(Self {
            requests,
            bell,
            worker,
        })
    }

    /// The thread's answer; None if it has ended.
    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Option<T> {
        let (answer, answered) = mpsc::channel();
        self.requests.send(request(answer)).ok()?;
        self.bell.ring();
        if self.worker.finished() {
            return None;
        }
        answered.recv_timeout(ANSWER).ok()
    }
}

impl Drop for Routers {
    fn drop(&mut self) {
        self.worker.request_stop();
        self.bell.ring();
    }
}

/// Speaks RSVP-TE and forwards between its ports from its start until it is dropped.
pub struct Lsr {
    routers: Arc<Routers>,
    number: usize,
    last: Mutex<Option<Report>>,
}

impl Lsr {
    /// Opens sockets and begins. None if the thread has ended.
    pub fn start(routers: Arc<Routers>, spec: RouterSpec) -> Result<Option<Self>, SetupError> {
        let device = Device::open(spec)?;
        let number = routers.ask(|answer| Request::Add(Box::new(device), answer));
        Ok(number.map(|number| Self {
            routers,
            number,
            last: Mutex::new(None),
        }))
    }

    /// Another configuration; what does not differ stays. None if the thread has ended.
    pub fn change(&self, mpls: Mpls) -> Option<Result<(), SetupError>> {
        let change = |answer| Request::Change(self.number, Box::new(mpls), answer);
        self.routers.ask(change).flatten()
    }

    /// Ends it, and with it all that it told its neighbours: their states of it live until they expire.
    pub fn stop(&self) {
        let report = self.report();
        let removed = self
            .routers
            .ask(|answer| Request::Remove(self.number, answer));
        if let Some(device) = removed.flatten() {
            *lock(&self.last) = report.and_then(Result::ok);
            drop(Together(device.into_sockets()));
        }
    }

    /// What it did so far, or until it was stopped; None if the thread has ended.
    pub fn report(&self) -> Option<Result<Report, SetupError>> {
        let last = lock(&self.last).clone();
        last.map(Ok).or_else(|| {
            let report = |answer| Request::Report(self.number, answer);
            self.routers.ask(report).flatten()
        })
    }
}

impl Drop for Lsr {
    fn drop(&mut self) {
        self.stop();
    }
}
