//! What leaves an element.

/// What MAC-in-MAC adds to a frame.
pub const ENCAPSULATION_BYTES: usize = 22;
/// The MAC-in-MAC header of a frame.
pub type Head = [u8; ENCAPSULATION_BYTES];

/// A frame that leaves: the octets that are put in front, then what came in without its first `skip` octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Number of the port.
    pub port: usize,
    pub push: Option<Head>,
    pub skip: usize,
}

impl Output {
    /// Writes the frame that came in as `frame`; its length.
    #[inline]
    pub fn write(&self, frame: &[u8], out: &mut [u8]) -> usize {
        let (head, body) = (self.head(), &frame[self.skip..]);
        out[..head.len()].copy_from_slice(head);
        out[head.len()..head.len() + body.len()].copy_from_slice(body);
        head.len() + body.len()
    }

    /// The frame that came in as `frame`.
    pub fn bytes(&self, frame: &[u8]) -> Vec<u8> {
        [self.head(), &frame[self.skip..]].concat()
    }

    fn head(&self) -> &[u8] {
        self.push.as_ref().map_or(&[], |head| head.as_slice())
    }
}
