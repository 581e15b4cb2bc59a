//! Datagrams as bytes. Numbers are big-endian, and bytes named 0 are zero.
//!
//! ```text
//! initiation, 112 bytes:  1, lowest version: u8, highest version: u8, 0, sender: u32,
//!                         Noise: ephemeral key (32), static key (32 + 16), timestamp (8 + 16)
//! response, 64 bytes:     2, version: u8, 0, 0, receiver: u32,
//!                         Noise: ephemeral key (32), (version: u8, 0, 0, 0, sender: u32) (8 + 16)
//! data, 32 bytes more than the message:
//!                         3, 0, 0, 0, receiver: u32, counter: u64, ciphertext (message + 16)
//! ```
//!
//! `sender` and `receiver` are indices: each end has its own numbers for its sessions and handshakes. An initiation
//! names the versions that its sender speaks, and has the layout of the lowest. The response names the version that is
//! used from then on: the greatest that both speak.
//!
//! The prologue of Noise is `slotline-envelope` and the header of the initiation. The header is therefore authenticated,
//! like the content of Noise's messages. The additional data of AES-GCM is the header of a data datagram, and its nonce
//! is four zero bytes and the counter. The keys are those of Noise's split; the first one is for the initiator's data.

use crate::OpenError;

/// The version of the protocol that this program speaks.
pub const VERSION: u8 = 1;
/// Bytes that a data datagram has more than its message.
pub const OVERHEAD: usize = DATA_HEADER + TAG;
/// Bytes of the largest message: a datagram of UDP over IPv4 has at most 65,507.
pub const MAX_MESSAGE: usize = 65_507 - OVERHEAD;
/// Bytes of an initiation.
pub const INITIATION: usize = INITIATION_HEADER + INITIATION_NOISE;
/// Bytes of a response.
pub const RESPONSE: usize = RESPONSE_HEADER + RESPONSE_NOISE;

pub(crate) const INITIATION_HEADER: usize = 8;
pub(crate) const INITIATION_NOISE: usize = 32 + 32 + TAG + 8 + TAG;
pub(crate) const RESPONSE_HEADER: usize = 8;
pub(crate) const RESPONSE_PAYLOAD: usize = 8;
pub(crate) const RESPONSE_NOISE: usize = 32 + RESPONSE_PAYLOAD + TAG;
pub(crate) const DATA_HEADER: usize = 16;
pub(crate) const TAG: usize = 16;

const TYPE_INITIATION: u8 = 1;
const TYPE_RESPONSE: u8 = 2;
const TYPE_DATA: u8 = 3;

/// A datagram whose form is right. Nothing in it is authenticated yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Initiation(Initiation<'a>),
    Response(Response<'a>),
    Data { receiver: u32, counter: u64 },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Initiation<'a> {
    pub header: &'a [u8; INITIATION_HEADER],
    pub sender: u32,
    pub noise: &'a [u8; INITIATION_NOISE],
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response<'a> {
    pub receiver: u32,
    pub noise: &'a [u8; RESPONSE_NOISE],
}

pub(crate) fn initiation_header(sender: u32) -> [u8; INITIATION_HEADER] {
    let [a, b, c, d] = sender.to_be_bytes();
    [TYPE_INITIATION, VERSION, VERSION, 0, a, b, c, d]
}

pub(crate) fn response_header(receiver: u32) -> [u8; RESPONSE_HEADER] {
    let [a, b, c, d] = receiver.to_be_bytes();
    [TYPE_RESPONSE, VERSION, 0, 0, a, b, c, d]
}

/// What Noise carries in a response.
pub(crate) fn response_payload(sender: u32) -> [u8; RESPONSE_PAYLOAD] {
    let [a, b, c, d] = sender.to_be_bytes();
    [VERSION, 0, 0, 0, a, b, c, d]
}

/// The index that the sender of a response has chosen.
pub(crate) fn parse_response_payload(payload: &[u8; RESPONSE_PAYLOAD]) -> Option<u32> {
    match *payload {
        [VERSION, 0, 0, 0, a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
        _ => None,
    }
}

pub(crate) fn data_header(receiver: u32, counter: u64) -> [u8; DATA_HEADER] {
    let mut header = [0; DATA_HEADER];
    header[0] = TYPE_DATA;
    header[4..8].copy_from_slice(&receiver.to_be_bytes());
    header[8..].copy_from_slice(&counter.to_be_bytes());
    header
}

/// What a datagram is.
pub(crate) fn parse(datagram: &[u8]) -> Result<Frame<'_>, OpenError> {
    match datagram.first() {
        Some(&TYPE_DATA) => data(datagram),
        Some(&TYPE_INITIATION) => initiation(datagram).map(Frame::Initiation),
        Some(&TYPE_RESPONSE) => response(datagram).map(Frame::Response),
        Some(_) => Err(OpenError::Malformed("its type is not 1, 2 or 3")),
        None => Err(OpenError::Malformed("it is empty")),
    }
}

fn data(datagram: &[u8]) -> Result<Frame<'_>, OpenError> {
    if datagram.len() < OVERHEAD {
        return Err(OpenError::Malformed("data has at least 32 bytes"));
    }
    let header = datagram.first_chunk::<DATA_HEADER>().expect("a header is shorter");
    let [_, 0, 0, 0, a, b, c, d, counter @ ..] = *header else {
        return Err(RESERVED);
    };
    let (receiver, counter) = (u32::from_be_bytes([a, b, c, d]), u64::from_be_bytes(counter));
    Ok(Frame::Data { receiver, counter })
}

fn initiation(datagram: &[u8]) -> Result<Initiation<'_>, OpenError> {
    let length = OpenError::Malformed("an initiation has 112 bytes");
    let Some((header, noise)) = datagram.split_first_chunk::<INITIATION_HEADER>() else {
        return Err(length);
    };
    let [_, lowest, highest, zero, sender @ ..] = *header;
    check_versions(lowest, highest)?;
    let Ok(noise) = noise.try_into() else {
        return Err(length);
    };
    if zero != 0 {
        return Err(RESERVED);
    }
    Ok(Initiation { header, sender: u32::from_be_bytes(sender), noise })
}

fn response(datagram: &[u8]) -> Result<Response<'_>, OpenError> {
    let length = OpenError::Malformed("a response has 64 bytes");
    let Some((header, noise)) = datagram.split_first_chunk::<RESPONSE_HEADER>() else {
        return Err(length);
    };
    let [_, version, first, second, receiver @ ..] = *header;
    check_versions(version, version)?;
    let Ok(noise) = noise.try_into() else {
        return Err(length);
    };
    if [first, second] != [0, 0] {
        return Err(RESERVED);
    }
    Ok(Response { receiver: u32::from_be_bytes(receiver), noise })
}

const RESERVED: OpenError = OpenError::Malformed("bytes that must be zero are not");

fn check_versions(lowest: u8, highest: u8) -> Result<(), OpenError> {
    if lowest == 0 || highest < lowest {
        return Err(OpenError::Malformed("versions begin with 1, and the lowest comes first"));
    }
    if (lowest..=highest).contains(&VERSION) {
        return Ok(());
    }
    Err(OpenError::Version { lowest, highest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_header(header: &[u8], len: usize) -> Vec<u8> {
        let mut datagram = header.to_vec();
        datagram.resize(len, 0xee);
        datagram
    }

    #[test]
    fn headers_are_as_documented() {
        assert_eq!(initiation_header(0x0102_0304), [1, 1, 1, 0, 1, 2, 3, 4]);
        assert_eq!(response_header(0x0102_0304), [2, 1, 0, 0, 1, 2, 3, 4]);
        assert_eq!(response_payload(0x0102_0304), [1, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(parse_response_payload(&[1, 0, 0, 0, 1, 2, 3, 4]), Some(0x0102_0304));
        assert_eq!(parse_response_payload(&[2, 0, 0, 0, 1, 2, 3, 4]), None);
        assert_eq!(
            data_header(0x0102_0304, 0x1112_1314_1516_1718),
            [3, 0, 0, 0, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]
        );
        assert_eq!((INITIATION, RESPONSE, OVERHEAD), (112, 64, 32));
    }

    #[test]
    fn frames_are_parsed() {
        let datagram = with_header(&[1, 1, 1, 0, 1, 2, 3, 4], 112);
        let Ok(Frame::Initiation(initiation)) = parse(&datagram) else { panic!() };
        assert_eq!((initiation.sender, initiation.noise), (0x0102_0304, &[0xee; 104]));
        let datagram = with_header(&[2, 1, 0, 0, 1, 2, 3, 4], 64);
        let Ok(Frame::Response(response)) = parse(&datagram) else { panic!() };
        assert_eq!((response.receiver, response.noise), (0x0102_0304, &[0xee; 56]));
        let datagram = with_header(&data_header(9, 1 << 40), 32);
        assert_eq!(parse(&datagram), Ok(Frame::Data { receiver: 9, counter: 1 << 40 }));
    }

    #[test]
    fn versions_are_negotiated() {
        let initiation = |lowest, highest, len| {
            let datagram = with_header(&[1, lowest, highest, 0, 0, 0, 0, 0], len);
            parse(&datagram).map(|_| ())
        };
        assert_eq!(initiation(1, 7, 112), Ok(()));
        assert_eq!(initiation(2, 7, 200), Err(OpenError::Version { lowest: 2, highest: 7 }));
        assert!(matches!(initiation(0, 7, 112), Err(OpenError::Malformed(_))));
        assert!(matches!(initiation(2, 1, 112), Err(OpenError::Malformed(_))));
        let error = OpenError::Version { lowest: 2, highest: 7 }.to_string();
        assert_eq!(
            error,
            "the peer speaks versions 2 to 7 of the protocol, and this program speaks 1"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |datagram: &[u8]| match parse(datagram) {
            Err(OpenError::Malformed(what)) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(wrong(&[]), "it is empty");
        assert_eq!(wrong(&[4; 100]), "its type is not 1, 2 or 3");
        assert_eq!(wrong(&[3; 31]), "data has at least 32 bytes");
        assert_eq!(wrong(&[3; 32]), "bytes that must be zero are not");
        assert_eq!(wrong(&[1; 8]), "an initiation has 112 bytes");
        assert_eq!(wrong(&[2; 3]), "a response has 64 bytes");
        assert_eq!(wrong(&with_header(&response_header(1), 65)), "a response has 64 bytes");
    }
}
