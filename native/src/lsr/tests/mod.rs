//! The control plane as messages in and messages out.

mod defects;
mod fixture;
mod refresh;
mod refused;
mod signalling;
