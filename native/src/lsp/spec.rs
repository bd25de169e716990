//! What a pair of LERs is asked for: rackproof.model.lsp.Signalling and Flaps, field by field, and the same with its values checked.

use std::net::Ipv4Addr;

use rackproof_rsvp::Label;

/// An emulated label edge router.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Ler {
    /// Its address on the link.
    pub address: String,
    /// Address of the device there.
    pub neighbour: String,
    /// What it is called beyond the link.
    pub router_id: String,
}

/// How fast messages leave [1/s], and when one is sent again.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
#[allow(missing_docs)] // see the model
pub struct Pace {
    pub setups_per_s: f64,
    pub teardowns_per_s: f64,
    pub retry_s: f64,
    pub retries: u8,
}

/// Frames that show whether an LSP forwards.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
#[allow(missing_docs)] // see the model
pub struct Probing {
    pub fps: f64,
    pub gap_us: f64,
    pub gap_s: f64,
    pub frame_bytes: u16,
}

/// LSPs from an ingress to an egress.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
#[allow(missing_docs)] // see the model
pub struct Signalling {
    pub ingress: Ler,
    pub egress: Ler,
    pub stable: u32,
    pub flapped: u32,
    pub campaign: u32,
    pub trial: u32,
    pub seed: u64,
    pub routes: Vec<Vec<String>>,
    pub style: String,
    pub labels: String,
    pub bandwidth_bps: f64,
    pub refresh_s: f64,
    pub hello_s: f64,
    pub refresh_reduction: bool,
    pub pace: Pace,
    pub probing: Option<Probing>,
}

/// Phases of a run.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
#[allow(missing_docs)] // see the model
pub struct Flaps {
    pub prior_s: f64,
    pub windows_s: Vec<f64>,
    pub drain_s: f64,
}

/// Addresses of one LER.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Its own on the link.
    pub own: Ipv4Addr,
    /// The device's there.
    pub neighbour: Ipv4Addr,
    /// Its router id.
    pub router_id: Ipv4Addr,
}

/// Times and sizes of probes.
#[derive(Clone, Copy, Debug)]
pub struct Probes {
    /// Over all LSPs together [1/s].
    pub fps: f64,
    /// Between two after a RESV [ns].
    pub gap_ns: i64,
    /// How long after a RESV [ns].
    pub span_ns: i64,
    /// On the wire, FCS included.
    pub frame_bytes: usize,
}

/// A Signalling with checked values; times in ns.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // as above
pub struct Spec {
    pub ingress: Addresses,
    pub egress: Addresses,
    pub stable: u16,
    /// Stable and flapped together.
    pub lsps: u16,
    pub campaign: u32,
    pub trial: u32,
    pub seed: u64,
    pub routes: Vec<Vec<Ipv4Addr>>,
    pub is_shared: bool,
    /// None: the next free one.
    pub label: Option<u32>,
    pub bandwidth_bps: f64,
    pub refresh_ns: i64,
    pub hello_ns: i64,
    pub refresh_reduction: bool,
    pub setup_gap_ns: i64,
    pub teardown_gap_ns: i64,
    pub retry_ns: i64,
    pub retries: u8,
    pub probes: Option<Probes>,
}

/// The smallest frame that a probe fits into: Ethernet, a label, IPv4, UDP, what a probe says, FCS.
const PROBE_BYTES_MIN: u16 = 74;
const LSPS_MAX: u32 = 65_000;

impl Spec {
    /// Checks what is asked for. Err says what is wrong.
    pub fn new(asked: &Signalling) -> Result<Self, String> {
        let lsps = asked.stable.saturating_add(asked.flapped);
        if lsps > LSPS_MAX {
            return Err(format!(
                "stable + flapped must be at most {LSPS_MAX}, got {lsps}"
            ));
        }
        let route = |route: &Vec<String>| route.iter().map(|hop| address(hop)).collect();
        let pace = &asked.pace;
        Ok(Self {
            ingress: addresses(&asked.ingress)?,
            egress: addresses(&asked.egress)?,
            stable: asked.stable as u16,
            lsps: lsps as u16,
            campaign: asked.campaign,
            trial: asked.trial,
            seed: asked.seed,
            routes: asked
                .routes
                .iter()
                .map(route)
                .collect::<Result<_, String>>()?,
            is_shared: one_of("style", &asked.style, &[("FF", false), ("SE", true)])?,
            label: one_of("labels", &asked.labels, &LABEL_MODES)?,
            bandwidth_bps: at_least("bandwidth_bps", asked.bandwidth_bps, 0.0)?,
            refresh_ns: ns("refresh_s", asked.refresh_s, 0.01)?,
            hello_ns: ns("hello_s", asked.hello_s, 0.0)?,
            refresh_reduction: asked.refresh_reduction,
            setup_gap_ns: gap("setups_per_s", pace.setups_per_s)?,
            teardown_gap_ns: gap("teardowns_per_s", pace.teardowns_per_s)?,
            retry_ns: ns("retry_s", pace.retry_s, 0.001)?,
            retries: pace.retries,
            probes: asked.probing.as_ref().map(probes).transpose()?,
        })
    }

    /// The addresses of one end.
    pub fn addresses(&self, end: usize) -> Addresses {
        if end == super::INGRESS {
            self.ingress
        } else {
            self.egress
        }
    }
}

const LABEL_MODES: [(&str, Option<u32>); 3] = [
    ("next-free", None),
    ("implicit-null", Some(Label::IMPLICIT_NULL)),
    ("explicit-null", Some(Label::EXPLICIT_NULL)),
];

/// Seconds as ns, at least `least` s and at most a day.
pub fn ns(name: &str, seconds: f64, least: f64) -> Result<i64, String> {
    let seconds = at_least(name, seconds, least)?;
    if seconds > 86_400.0 {
        return Err(format!("{name} must be at most 86400, got {seconds}"));
    }
    Ok((seconds * 1e9).round() as i64)
}

fn gap(name: &str, per_s: f64) -> Result<i64, String> {
    let per_s = at_least(name, per_s, 0.1)?;
    Ok(((1e9 / per_s).round() as i64).max(1))
}

fn at_least(name: &str, value: f64, least: f64) -> Result<f64, String> {
    if value.is_finite() && value >= least {
        Ok(value)
    } else {
        Err(format!("{name} must be at least {least}, got {value}"))
    }
}

fn one_of<T: Copy>(name: &str, value: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(word, _)| *word == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        format!("{name} must be one of {words:?}, got {value:?}")
    })
}

fn probes(asked: &Probing) -> Result<Probes, String> {
    if asked.frame_bytes < PROBE_BYTES_MIN {
        return Err(format!(
            "frame_bytes of probes must be at least {PROBE_BYTES_MIN}, got {}",
            asked.frame_bytes
        ));
    }
    Ok(Probes {
        fps: at_least("fps", asked.fps, 0.0)?,
        gap_ns: ns("gap_us", asked.gap_us / 1e6, 1e-5)?,
        span_ns: ns("gap_s", asked.gap_s, 0.0)?,
        frame_bytes: usize::from(asked.frame_bytes),
    })
}

fn addresses(ler: &Ler) -> Result<Addresses, String> {
    Ok(Addresses {
        own: address(&ler.address)?,
        neighbour: address(&ler.neighbour)?,
        router_id: address(&ler.router_id)?,
    })
}

fn address(text: &str) -> Result<Ipv4Addr, String> {
    text.parse()
        .map_err(|_| format!("expected an IPv4 address, got {text:?}"))
}
