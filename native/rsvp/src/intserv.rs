//! How much traffic: FLOWSPEC, SENDER_TSPEC and ADSPEC, which are lists of services with parameters (RFC 2210, 3; RFC 2215).

use crate::error::Expected;
use crate::wire::{Decoded, Encoded, Reader, Write, at_most, whole_words};

/// Numbers of services.
pub mod service {
    /// Default or global parameters (RFC 2215, 2).
    pub const GENERAL: u8 = 1;
    /// Guaranteed service (RFC 2212).
    pub const GUARANTEED: u8 = 2;
    /// Controlled load (RFC 2211).
    pub const CONTROLLED_LOAD: u8 = 5;
}

/// The content of a FLOWSPEC, a SENDER_TSPEC or an ADSPEC.
#[derive(Clone, Debug, PartialEq)]
pub struct IntServ {
    /// Version of the format (0) in the upper four bits, the others zero when sent.
    pub version: u16,
    /// Services in their order.
    pub services: Vec<Service>,
}

impl IntServ {
    /// A token bucket for one service: [`service::GENERAL`] in a SENDER_TSPEC, [`service::CONTROLLED_LOAD`] in a FLOWSPEC.
    pub fn from_bucket(number: u8, bucket: TokenBucket) -> Self {
        let value = ParameterValue::TokenBucket(bucket);
        let parameters = vec![Parameter { flags: 0, value }];
        let services = vec![Service {
            number,
            flags: 0,
            parameters,
        }];
        Self {
            version: 0,
            services,
        }
    }

    /// The first token bucket of any service.
    pub fn bucket(&self) -> Option<&TokenBucket> {
        let mut parameters = self.services.iter().flat_map(|service| &service.parameters);
        parameters.find_map(|parameter| match &parameter.value {
            ParameterValue::TokenBucket(bucket) => Some(bucket),
            _ => None,
        })
    }

    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        let (version, words) = (body.u16()?, usize::from(body.u16()?));
        if words * 4 != body.len() {
            let expected = Expected::Exactly((body.len() / 4) as u32);
            return Err(body.error(2, "number of words", expected, words));
        }
        let mut services = Vec::new();
        while !body.is_empty() {
            services.push(Service::read(&mut body)?);
        }
        Ok(Self { version, services })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        out.u16(self.version);
        counted(out, |out| {
            self.services
                .iter()
                .try_for_each(|service| service.write(out))
        })
    }
}

/// Parameters of one service (RFC 2210, 3.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// One of [`service`].
    pub number: u8,
    /// [`Self::BREAK`], the others zero when sent.
    pub flags: u8,
    /// Parameters in their order.
    pub parameters: Vec<Parameter>,
}

impl Service {
    /// Flag in an ADSPEC: a node on the path does not have this service.
    pub const BREAK: u8 = 0x80;

    fn read(body: &mut Reader) -> Decoded<Self> {
        let (number, flags) = (body.u8()?, body.u8()?);
        let words = usize::from(body.u16()?);
        let mut content = body.split(words * 4, "service")?;
        let mut parameters = Vec::new();
        while !content.is_empty() {
            parameters.push(Parameter::read(&mut content)?);
        }
        Ok(Self {
            number,
            flags,
            parameters,
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Encoded {
        out.extend_from_slice(&[self.number, self.flags]);
        counted(out, |out| {
            self.parameters
                .iter()
                .try_for_each(|parameter| parameter.write(out))
        })
    }
}

/// One parameter (RFC 2210, 3.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// [`Self::INVALID`], the others zero when sent.
    pub flags: u8,
    /// Which one, and what it says.
    pub value: ParameterValue,
}

/// What a parameter says; its number is in brackets.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// Nodes with integrated services (4).
    HopCount(u32),
    /// Path bandwidth estimate in bytes/s (6).
    PathBandwidth(f32),
    /// Minimum path latency in us; all ones: not known (8).
    MinimumLatency(u32),
    /// Composed path MTU in bytes (10).
    PathMtu(u32),
    /// Token bucket TSpec (127).
    TokenBucket(TokenBucket),
    /// RSpec of guaranteed service (130).
    Rspec {
        /// Rate in bytes/s.
        rate: f32,
        /// Slack term in us.
        slack: u32,
    },
    /// Any other.
    Unknown {
        /// Number of the parameter.
        id: u8,
        /// Its content, whole 32-bit words.
        data: Vec<u8>,
    },
}

/// Token bucket TSpec (RFC 2215, 3.6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    /// Token bucket rate r in bytes/s.
    pub rate: f32,
    /// Token bucket size b in bytes.
    pub size: f32,
    /// Peak data rate p in bytes/s.
    pub peak_rate: f32,
    /// Minimum policed unit m in bytes.
    pub minimum_policed_unit: u32,
    /// Maximum packet size M in bytes.
    pub maximum_packet_size: u32,
}

impl Parameter {
    /// Flag: the value is not valid.
    pub const INVALID: u8 = 0x80;

    fn read(body: &mut Reader) -> Decoded<Self> {
        let (id, flags) = (body.u8()?, body.u8()?);
        let words = body.u16()?;
        let mut content = body.split(usize::from(words) * 4, "parameter")?;
        let value = match (id, words) {
            (4, 1) => ParameterValue::HopCount(content.u32()?),
            (6, 1) => ParameterValue::PathBandwidth(content.f32()?),
            (8, 1) => ParameterValue::MinimumLatency(content.u32()?),
            (10, 1) => ParameterValue::PathMtu(content.u32()?),
            (127, 5) => ParameterValue::TokenBucket(TokenBucket {
                rate: content.f32()?,
                size: content.f32()?,
                peak_rate: content.f32()?,
                minimum_policed_unit: content.u32()?,
                maximum_packet_size: content.u32()?,
            }),
            (130, 2) => ParameterValue::Rspec {
                rate: content.f32()?,
                slack: content.u32()?,
            },
            _ => ParameterValue::Unknown {
                id,
                data: content.rest(),
            },
        };
        Ok(Self { flags, value })
    }

    fn write(&self, out: &mut Vec<u8>) -> Encoded {
        out.extend_from_slice(&[self.value.id(), self.flags]);
        counted(out, |out| {
            match &self.value {
                ParameterValue::HopCount(word)
                | ParameterValue::MinimumLatency(word)
                | ParameterValue::PathMtu(word) => {
                    out.u32(*word);
                }
                ParameterValue::PathBandwidth(rate) => out.f32(*rate),
                ParameterValue::TokenBucket(bucket) => {
                    out.f32(bucket.rate);
                    out.f32(bucket.size);
                    out.f32(bucket.peak_rate);
                    out.u32(bucket.minimum_policed_unit);
                    out.u32(bucket.maximum_packet_size);
                }
                ParameterValue::Rspec { rate, slack } => {
                    out.f32(*rate);
                    out.u32(*slack);
                }
                ParameterValue::Unknown { data, .. } => out.extend_from_slice(data),
            }
            Ok(())
        })
    }
}

impl ParameterValue {
    /// Number of the parameter.
    pub fn id(&self) -> u8 {
        match self {
            Self::HopCount(_) => 4,
            Self::PathBandwidth(_) => 6,
            Self::MinimumLatency(_) => 8,
            Self::PathMtu(_) => 10,
            Self::TokenBucket(_) => 127,
            Self::Rspec { .. } => 130,
            Self::Unknown { id, .. } => *id,
        }
    }
}

/// Writes the number of 32-bit words that `content` writes, and them.
fn counted(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>) -> Encoded) -> Encoded {
    let start = out.len();
    out.u16(0);
    content(out)?;
    let length = out.len() - start - 2;
    whole_words("service", length)?;
    at_most(
        "service",
        "number of words",
        length / 4,
        u32::from(u16::MAX),
    )?;
    out[start..start + 2].copy_from_slice(&((length / 4) as u16).to_be_bytes());
    Ok(())
}
