//! What a router knows of one LSP.

use std::net::Ipv4Addr;

use rackproof_rsvp::{IntServ, Lsp, Message, Object, Session, Style, Subobject};

use super::config::Hop;

/// States that are kept without a refresh (RFC 2205, 3.7).
const KEEP: i64 = 3;
const NS_PER_MS: i64 = 1_000_000;
/// Refresh period where TIME_VALUES says none [ms].
const REFRESH_MS: u32 = 30_000;

/// One instance of an LSP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub endpoint: Ipv4Addr,
    pub tunnel_id: u16,
    pub extended_tunnel_id: u32,
    pub sender: Ipv4Addr,
    pub lsp_id: u16,
}

impl Key {
    pub fn new(session: &Session, lsp: &Lsp) -> Self {
        Self {
            endpoint: session.endpoint,
            tunnel_id: session.tunnel_id,
            extended_tunnel_id: session.extended_tunnel_id,
            sender: lsp.sender,
            lsp_id: lsp.lsp_id,
        }
    }

    /// Of a message with SENDER_TEMPLATE.
    pub fn of_sender(message: &Message) -> Option<Self> {
        Some(Self::new(message.session()?, message.sender_template()?))
    }

    /// 0 to 1, always the same for an instance.
    pub fn instance_share(&self) -> f64 {
        share(&self.bytes())
    }

    /// 0 to 1, the same for all instances of an LSP.
    pub fn lsp_share(&self) -> f64 {
        share(&self.bytes()[..14])
    }

    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.endpoint.octets());
        bytes[4..6].copy_from_slice(&self.tunnel_id.to_be_bytes());
        bytes[6..10].copy_from_slice(&self.extended_tunnel_id.to_be_bytes());
        bytes[10..14].copy_from_slice(&self.sender.octets());
        bytes[14..].copy_from_slice(&self.lsp_id.to_be_bytes());
        bytes
    }
}

/// FNV-1a, its bits mixed by the end of MurmurHash3, as a share.
fn share(bytes: &[u8]) -> f64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ fnv >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

/// How often a state is refreshed, and until when it lives.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    pub refresh_ms: u32,
    pub seen_ns: i64,
}

impl Life {
    /// Of a message that came at `now_ns`.
    pub fn new(message: &Message, now_ns: i64) -> Self {
        let period = message.objects.iter().find_map(|object| match object {
            Object::TimeValues(values) if values.refresh_ms > 0 => Some(values.refresh_ms),
            _ => None,
        });
        Self {
            refresh_ms: period.unwrap_or(REFRESH_MS),
            seen_ns: now_ns,
        }
    }

    /// (K + 0.5) * 1.5 * R after the last refresh (RFC 2205, 3.7).
    pub fn until_ns(&self) -> i64 {
        self.seen_ns + i64::from(self.refresh_ms) * NS_PER_MS * (2 * KEEP + 1) * 3 / 4
    }

    /// Whether a message that comes now is sent again rather than a refresh, which comes after R/2 at the earliest.
    pub fn is_repeated(&self, now_ns: i64) -> bool {
        now_ns - self.seen_ns < i64::from(self.refresh_ms) * NS_PER_MS / 2
    }
}

/// What RESV says of one LSP.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub label: u32,
    pub style: Style,
    pub flowspec: Option<IntServ>,
    pub record_route: Option<Vec<Subobject>>,
    /// Objects that are passed on unknown.
    pub others: Vec<Object>,
}

/// A reservation.
#[derive(Clone, Debug)]
pub struct Reservation {
    pub wanted: Wanted,
    /// RESV_CONFIRM, until it has been passed on.
    pub confirm: Option<Ipv4Addr>,
    pub life: Life,
    /// The label that is given upstream.
    pub label: u32,
    pub is_programmed: bool,
}

/// A path, and its reservation where there is one.
#[derive(Clone, Debug)]
pub struct State {
    /// Tells it from others of the same key.
    pub number: u64,
    pub session: Session,
    pub lsp: Lsp,
    /// PATH as it came, without what is between neighbours.
    pub received: Vec<Object>,
    pub upstream: Hop,
    /// Logical interface handle of the PATH, which RESV gives back.
    pub handle: u32,
    pub downstream: Hop,
    /// PATH as it is sent on.
    pub onward: Vec<Object>,
    /// TTL that it is sent on with.
    pub ttl: u8,
    /// Whether labels are to be recorded.
    pub records_labels: bool,
    pub life: Life,
    pub reservation: Option<Reservation>,
}
