//! The tables of an element as they are asked for: rackproof.model.xcf.ForwardingElement, field by field.

/// A station's or element's address.
pub type Address = [u8; 6];

/// A UNI port and customer VLAN that belong to a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Attachment {
    /// UNI port.
    pub port: String,
    /// VLAN of its frames.
    pub c_vlan: u16,
}

/// A tenant's service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Service {
    /// Its number in the network, 24 bits.
    pub i_sid: u32,
    /// Whose it is.
    pub tenant: u32,
    /// VLAN that it travels in.
    pub b_vlan: u16,
    /// Where it is attached here.
    pub attachments: Vec<Attachment>,
}

/// Priority in the network of a customer's priority.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Priority {
    /// The service.
    pub i_sid: u32,
    /// Priority of the C-TAG.
    pub pcp: u8,
    /// Priority of the B-TAG.
    pub b_pcp: u8,
}

/// Access control: None matches all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct AccessRule {
    /// The service.
    pub i_sid: u32,
    /// Whether frames that match pass.
    pub permit: bool,
    /// Customer's source address.
    pub source: Option<String>,
    /// Customer's destination address.
    pub destination: Option<String>,
    /// EtherType behind the C-TAG.
    pub ethertype: Option<u16>,
}

/// A token bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Policer {
    /// The service.
    pub i_sid: u32,
    /// What fills it [bit/s].
    pub rate_bps: u64,
    /// What it holds [bytes].
    pub burst_bytes: u64,
}

/// Where a customer's address is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Station {
    /// The service.
    pub i_sid: u32,
    /// Customer's address.
    pub address: String,
    /// UNI port here ...
    pub port: Option<String>,
    /// ... or the address of the element that it is behind.
    pub element: Option<String>,
}

/// Group address of a service's multicast frames.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Group {
    /// The service.
    pub i_sid: u32,
    /// What stands in B-DA.
    pub address: String,
}

/// Where frames of the network leave.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Route {
    /// B-DA.
    pub address: String,
    /// B-VID.
    pub b_vlan: u16,
    /// NNI ports.
    pub ports: Vec<String>,
}

/// All tables of one element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Tables {
    /// What frames are decapsulated for here, and B-SA of what is encapsulated here.
    pub address: String,
    /// Ports to customers.
    pub uni: Vec<String>,
    /// Ports to other elements.
    pub nni: Vec<String>,
    /// t,1 and t,5.
    pub services: Vec<Service>,
    /// t,0.
    pub priorities: Vec<Priority>,
    /// t,2.
    pub access: Vec<AccessRule>,
    /// t,3.
    pub policers: Vec<Policer>,
    /// t,4 and t,7.
    pub stations: Vec<Station>,
    /// t,7.
    pub groups: Vec<Group>,
    /// 253.
    pub routes: Vec<Route>,
}

/// "02:00:00:00:00:01" as bytes. Err says what was found.
pub fn address(text: &str) -> Result<Address, String> {
    let octets: Option<Vec<u8>> = text
        .split(':')
        .map(|octet| u8::from_str_radix(octet, 16).ok())
        .collect();
    octets
        .and_then(|octets| octets.try_into().ok())
        .ok_or_else(|| format!("expected an address like 02:00:00:00:00:01, got {text:?}"))
}
