//! How real frames get through the tables: read from one ring for all ports, sent on at once.

use std::collections::VecDeque;

use super::output::Output;
use super::pipeline::Pipeline;
use super::{ElementReport, ElementSpec};
use crate::batch::is_full;
use crate::clock::monotonic_ns;
use crate::egress::{Egress, LEAVING_FRAMES};
use crate::error::SetupError;
use crate::forwarding::{FRAMING_BYTES, RING_SLOTS};
use crate::frame;
use crate::netns;
use crate::pool::Pool;
use crate::ring::{FrameView, RingV2};
use crate::socket::{PacketSocket, PortSpec, interface_index};

/// How long frames that the kernel has no room for are tried again [ns].
const PATIENCE_NS: i64 = 100_000_000;
/// Frames that wait for such room before no more are read.
const WAITING_MAX: usize = 1024;

struct Leaving {
    to_ifindex: i32,
    handle: u32,
}

/// Sockets, buffers and tables of an element.
pub struct Device {
    ring: RingV2,
    ingress: PacketSocket,
    egress: Egress,
    /// Names and interface indices of its ports.
    interfaces: Vec<(String, i32)>,
    /// Interface index of every port of the pipeline.
    ports: Vec<i32>,
    pipeline: Pipeline,
    pool: Pool,
    scratch: Vec<u8>,
    outputs: Vec<Output>,
    leaving: VecDeque<Leaving>,
    blocked_ns: Option<i64>,
    report: ElementReport,
}

impl Device {
    /// Opens everything.
    pub fn open(spec: ElementSpec) -> Result<Self, SetupError> {
        let first = PortSpec {
            interface: spec.ports.first().cloned().unwrap_or_default(),
            netns_fd: spec.netns_fd,
        };
        let egress = Egress::open(&first)?;
        let ingress = PacketSocket::open(&first)?;
        ingress.tune_for_receiving()?;
        let frame_bytes = (ingress.mtu() + FRAMING_BYTES) as usize;
        let interfaces = netns::run_in(spec.netns_fd, || {
            let names = spec.ports.into_iter();
            names
                .map(|name| Ok((name.clone(), interface_index(&name)?)))
                .collect::<Result<Vec<_>, SetupError>>()
        })?;
        let ports = numbered(&spec.pipeline, &interfaces);
        Ok(Self {
            ring: RingV2::new(&ingress, frame_bytes, RING_SLOTS)?,
            ingress,
            egress,
            interfaces,
            ports,
            pipeline: spec.pipeline,
            pool: Pool::new(WAITING_MAX, 4096),
            scratch: vec![0; frame_bytes + 8],
            outputs: Vec::new(),
            leaving: VecDeque::new(),
            blocked_ns: None,
            report: ElementReport::default(),
        })
    }

    /// Lets frames in.
    pub fn arm(&mut self) -> Result<(), SetupError> {
        self.ingress.bind_for_receiving_all()
    }

    /// Takes frames in and hands frames over, not many at a time; whether there was something to do.
    #[inline]
    pub fn turn(&mut self) -> bool {
        let has_read = self.read();
        self.send();
        has_read || !self.leaving.is_empty()
    }

    /// Other tables from the next frame on.
    pub fn change(&mut self, pipeline: Pipeline) {
        self.ports = numbered(&pipeline, &self.interfaces);
        self.pipeline.change(pipeline);
    }

    /// What it did so far.
    pub fn report(&mut self) -> ElementReport {
        // The kernel's count begins anew with every reading.
        self.report.ring_drops += self.ingress.take_ring_drops(false);
        ElementReport {
            counters: self.pipeline.counters(),
            ..self.report.clone()
        }
    }

    /// Where frames come in.
    pub fn ingress(&self) -> &PacketSocket {
        &self.ingress
    }

    /// The sockets, to be closed.
    pub fn into_sockets(self) -> Vec<PacketSocket> {
        vec![self.ingress, self.egress.into_socket()]
    }

    /// Takes frames through the tables; whether there were any.
    #[inline]
    fn read(&mut self) -> bool {
        let mut taken = 0;
        while taken < LEAVING_FRAMES && self.leaving.len() < WAITING_MAX && self.take() {
            taken += 1;
        }
        taken > 0
    }

    #[inline]
    fn take(&mut self) -> bool {
        let Self {
            ring,
            ports,
            pipeline,
            pool,
            scratch,
            outputs,
            leaving,
            ..
        } = self;
        ring.take(|view| {
            let port = ports.iter().position(|ifindex| *ifindex == view.ifindex);
            let Some(length) = whole(&view, scratch) else {
                return;
            };
            let data = &scratch[..length];
            outputs.clear();
            pipeline.forward(port, data, view.time_ns as u64, outputs);
            leaving.extend(outputs.iter().map(|output| Leaving {
                to_ifindex: ports[output.port],
                handle: pool.take(|out| output.write(data, out)),
            }));
        })
    }

    /// Hands over what waits.
    #[inline]
    fn send(&mut self) {
        if self.leaving.is_empty() {
            return;
        }
        let pool = &self.pool;
        let frames = self
            .leaving
            .iter()
            .map(|f| (f.to_ifindex, pool.get(f.handle)));
        let gone = match self.egress.send(frames) {
            Ok((_, gone)) => {
                self.blocked_ns = None;
                gone
            }
            Err(error) if is_full(&error) && self.is_patient() => 0,
            Err(_) => {
                self.report.errors += 1;
                1
            }
        };
        for frame in self.leaving.drain(..gone) {
            self.pool.give_back(frame.handle);
        }
    }

    #[cold]
    fn is_patient(&mut self) -> bool {
        let now = monotonic_ns();
        now - *self.blocked_ns.get_or_insert(now) < PATIENCE_NS
    }
}

/// The frame with its tag in place; None where not all of it is there.
#[inline]
fn whole(view: &FrameView<'_>, out: &mut [u8]) -> Option<usize> {
    let is_whole = view.data.len() == view.length as usize && view.data.len() + 4 <= out.len();
    is_whole.then(|| frame::copy_with_tag(view.data, view.tag, out))
}

/// Interface indices of the pipeline's ports; 0, which no interface has, for one that the element does not have.
fn numbered(pipeline: &Pipeline, interfaces: &[(String, i32)]) -> Vec<i32> {
    let index = |name: &str| interfaces.iter().find(|(known, _)| known == name);
    pipeline
        .ports()
        .map(|name| index(name).map_or(0, |(_, ifindex)| *ifindex))
        .collect()
}
