//! Where a message ends.

use super::v5;

/// The version in the first two bytes.
pub(super) const V5: u16 = 5;
pub(super) const V9: u16 = 9;
pub(super) const IPFIX: u16 = 10;

/// The length of the header of NetFlow 9 (RFC 3954, section 5.1) and of IPFIX (RFC 7011, section 3.1).
pub(super) const V9_HEADER: usize = 20;
pub(super) const IPFIX_HEADER: usize = 16;
/// The length of the header of a set.
pub(super) const SET_HEADER: usize = 4;

/// The longest message: datagrams are not longer.
const LONGEST: usize = 1 << 16;

/// What is known of a message's length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Length {
    Whole(usize),
    Incomplete,
}

pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// The length of the message at the beginning of `bytes`. `at_end`: whether no further bytes follow.
pub(super) fn length(bytes: &[u8], at_end: bool) -> Result<Length, String> {
    let Some(version) = be16(bytes, 0) else { return Ok(Length::Incomplete) };
    let length = match version {
        V5 => be16(bytes, 2).map(|count| v5::HEADER + usize::from(count) * v5::RECORD),
        V9 => return end_of_v9(bytes, at_end),
        IPFIX => be16(bytes, 2).map(usize::from),
        version => {
            return Err(format!(
                "version {version} is not read: expected NetFlow 5 or 9, or IPFIX (10)"
            ));
        }
    };
    match length {
        Some(length) if version == IPFIX && length < IPFIX_HEADER => {
            Err(format!("a message of {length} bytes: its header has {IPFIX_HEADER}"))
        }
        Some(length) if length <= bytes.len() => Ok(Length::Whole(length)),
        _ => Ok(Length::Incomplete),
    }
}

/// The end of a message of NetFlow 9, whose header does not have its length. It ends where a version follows instead of
/// the number of a set: no set has the number 5, 9 or 10.
fn end_of_v9(bytes: &[u8], at_end: bool) -> Result<Length, String> {
    let mut at = V9_HEADER;
    loop {
        match be16(bytes, at) {
            _ if at > LONGEST => return Err(format!("a message of more than {LONGEST} bytes")),
            None if at_end && at == bytes.len() => return Ok(Length::Whole(at)),
            None => return Ok(Length::Incomplete),
            Some(V5 | V9 | IPFIX) => return Ok(Length::Whole(at)),
            Some(_) => {}
        }
        let Some(length) = be16(bytes, at + 2) else { return Ok(Length::Incomplete) };
        if usize::from(length) < SET_HEADER {
            return Err(format!("a set of {length} bytes: its header has {SET_HEADER}"));
        }
        at += usize::from(length);
    }
}

/// Whether a datagram is one message.
pub(super) fn is_whole(datagram: &[u8]) -> bool {
    length(datagram, true) == Ok(Length::Whole(datagram.len()))
}
