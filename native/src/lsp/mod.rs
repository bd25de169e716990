//! The ingress and the egress LER of LSPs by RSVP-TE, emulated on two interfaces. The engine is a machine of states; a thread gives it time
//! and frames.

mod answers;
mod egress;
pub mod engine;
mod flaps;
mod hello;
mod identifiers;
mod ingress;
mod intake;
mod link;
pub mod log;
pub mod messages;
mod pace;
pub mod pair;
mod probing;
mod refresh;
mod sockets;
pub mod spec;
mod state;
pub mod telling;
mod thread;

pub use flaps::Phases;

/// The end where LSPs begin.
pub const INGRESS: usize = 0;
/// The end where they end.
pub const EGRESS: usize = 1;

#[cfg(test)]
mod tests;
