//! Messages of netlink as bytes: attributes and errors.

/// The bytes of a message's header.
pub(crate) const HEADER: usize = 16;
/// The type of a message that reports an error, or acknowledges a request.
const ERROR: u16 = 2;

/// The number at a place.
pub(crate) fn native16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number at a place.
pub(crate) fn native32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number at a place.
pub(crate) fn native64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The code of an error message; 0 is an acknowledgement.
pub(crate) fn error_of(message: &[u8]) -> Option<i32> {
    (native16(message, 4)? == ERROR).then_some(())?;
    Some(native32(message, HEADER)? as i32)
}

/// The value of the first attribute of a type in a list of attributes.
pub(crate) fn attribute(list: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        let length = usize::from(native16(list, at)?);
        let kind = native16(list, at + 2)? & 0x3fff;
        let value = list.get(at + 4..at + length)?;
        if kind == wanted {
            return Some(value);
        }
        at += length.max(4).next_multiple_of(4);
    }
}
