//! What can be wrong with bytes, and with values that are to become bytes.

use std::fmt;

/// What a field should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This number.
    Exactly(u32),
    /// This number or more.
    AtLeast(u32),
    /// This number or less.
    AtMost(u32),
    /// Any other number.
    Not(u32),
    /// A multiple of this number.
    MultipleOf(u32),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(number) => write!(f, "{number}"),
            Self::AtLeast(number) => write!(f, "at least {number}"),
            Self::AtMost(number) => write!(f, "at most {number}"),
            Self::Not(number) => write!(f, "anything but {number}"),
            Self::MultipleOf(number) => write!(f, "a multiple of {number}"),
        }
    }
}

/// Bytes that are no RSVP message: where, what was expected, what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Bytes from the start of what was given to decode.
    pub offset: usize,
    /// The object or header that is wrong.
    pub part: &'static str,
    /// What of it: "length", "checksum", ...
    pub field: &'static str,
    /// What it should have been.
    pub expected: Expected,
    /// What it was.
    pub found: u32,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "byte {}: {} of {}: expected {}, found {}",
            self.offset, self.field, self.part, self.expected, self.found
        )
    }
}

impl std::error::Error for DecodeError {}

/// A value that has no place in its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The object or header that the field is in.
    pub part: &'static str,
    /// The field.
    pub field: &'static str,
    /// What the field takes.
    pub expected: Expected,
    /// What was asked for.
    pub found: usize,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {}: expected {}, got {}",
            self.field, self.part, self.expected, self.found
        )
    }
}

impl std::error::Error for EncodeError {}
