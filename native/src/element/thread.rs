//! How one thread serves all elements: frames by turns, requests in between, and a rest when nothing comes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use super::ElementReport;
use super::device::Device;
use super::pipeline::Pipeline;
use crate::clock::monotonic_ns;
use crate::forwarding;

/// Idle time before the thread sleeps [ns]: long enough for the next frame of a busy link, as waking costs tens of microseconds.
const SPIN_NS: i64 = 200_000;

/// What the thread is asked between two frames; elements go by numbers.
pub enum Request {
    Add(Box<Device>, Sender<usize>),
    Change(usize, Box<Pipeline>, Sender<bool>),
    Report(usize, Sender<Option<ElementReport>>),
    Remove(usize, Sender<Option<Box<Device>>>),
}

/// Elements by number, and the number of the next one.
#[derive(Default)]
struct Elements {
    devices: BTreeMap<usize, Box<Device>>,
    next: usize,
}

/// Serves until `stop` is true; the elements that are left.
pub fn run(stop: &AtomicBool, asked: &Receiver<Request>) -> Vec<Device> {
    let mut elements = Elements::default();
    let mut busy_ns = monotonic_ns();
    while !stop.load(Ordering::Relaxed) {
        let mut is_busy = false;
        for device in elements.devices.values_mut() {
            is_busy |= device.turn();
        }
        while let Ok(request) = asked.try_recv() {
            elements.answer(request);
        }
        let now = monotonic_ns();
        if is_busy {
            busy_ns = now;
        } else if now - busy_ns > SPIN_NS {
            forwarding::sleep_for_any(elements.devices.values().map(|device| device.ingress()));
        } else {
            // Who emulates the links may share the processor, and has the next frame.
            std::thread::yield_now();
        }
    }
    elements
        .devices
        .into_values()
        .map(|device| *device)
        .collect()
}

impl Elements {
    /// An asker who has gone is told nothing.
    #[cold]
    fn answer(&mut self, request: Request) {
        match request {
            Request::Add(device, answer) => {
                self.devices.insert(self.next, device);
                let _ = answer.send(self.next);
                self.next += 1;
            }
            Request::Change(number, pipeline, answer) => {
                let device = self.devices.get_mut(&number);
                let _ = answer.send(device.map(|device| device.change(*pipeline)).is_some());
            }
            Request::Report(number, answer) => {
                let device = self.devices.get_mut(&number);
                let _ = answer.send(device.map(|device| device.report()));
            }
            Request::Remove(number, answer) => {
                let _ = answer.send(self.devices.remove(&number));
            }
        }
    }
}
