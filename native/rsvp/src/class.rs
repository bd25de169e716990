//! Class numbers of objects, by the names that the RFCs give them, and what a node does that does not know one.

macro_rules! classes {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(
            #[doc = concat!("Class number of ", stringify!($name), ".")]
            pub const $name: u8 = $number;
        )*

        /// The name of a class; "unknown object" where it is none of these.
        pub const fn class_name(class: u8) -> &'static str {
            match class {
                $($number => stringify!($name),)*
                _ => "unknown object",
            }
        }
    };
}

classes! {
    SESSION = 1, RSVP_HOP = 3, INTEGRITY = 4, TIME_VALUES = 5, ERROR_SPEC = 6, SCOPE = 7, STYLE = 8, FLOWSPEC = 9, FILTER_SPEC = 10,
    SENDER_TEMPLATE = 11, SENDER_TSPEC = 12, ADSPEC = 13, POLICY_DATA = 14, RESV_CONFIRM = 15, LABEL = 16, LABEL_REQUEST = 19,
    EXPLICIT_ROUTE = 20, RECORD_ROUTE = 21, HELLO = 22, MESSAGE_ID = 23, MESSAGE_ID_ACK = 24, MESSAGE_ID_LIST = 25, DETOUR = 63,
    RESTART_CAP = 131, CAPABILITY = 134, FAST_REROUTE = 205, SESSION_ATTRIBUTE = 207,
}

/// What a node does with an object whose class it does not know (RFC 2205, 3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassRule {
    /// 0bbbbbbb: refuse the message, with error 13.
    Reject,
    /// 10bbbbbb: leave the object out, without an error.
    Ignore,
    /// 11bbbbbb: pass the object on as it is, without an error.
    Forward,
}

impl ClassRule {
    /// The rule of a class number.
    pub const fn of(class: u8) -> Self {
        match class {
            0..=127 => Self::Reject,
            128..=191 => Self::Ignore,
            192..=255 => Self::Forward,
        }
    }
}
