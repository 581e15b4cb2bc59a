//! The destination and the length of IP packets, the packets into which they are split, and segments of TCP.

use slotline_net::rng::mix64;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The destination and the length of the IP packet at the start of `bytes`; `None` for anything else.
pub fn destination(bytes: &[u8]) -> Option<(IpAddr, u16)> {
    let word = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    match bytes.first()? >> 4 {
        4 => {
            let address: [u8; 4] = *bytes.get(16..)?.first_chunk()?;
            Some((Ipv4Addr::from(address).into(), word(2)?))
        }
        6 => {
            let address: [u8; 16] = *bytes.get(24..)?.first_chunk()?;
            Some((Ipv6Addr::from(address).into(), word(4)?.saturating_add(40)))
        }
        _ => None,
    }
}

const TCP: u8 = 6;

/// The packets of at most `mtu` bytes into which the IP packet of `length` bytes at the start of `bytes` is split, by the
/// card if TCP has joined segments, or as fragments: their number, and the headers that each of them has, in bytes.
pub fn split(bytes: &[u8], length: u16, mtu: u32) -> (u32, u32) {
    let six = bytes.first().is_some_and(|byte| byte >> 4 == 6);
    let at = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let ip = if six { 40 } else { u32::from(at(0) & 15) * 4 };
    let (header, payload) = match if six { at(6) } else { at(9) } {
        TCP => {
            let header = ip + u32::from(at(ip as usize + 12) >> 4) * 4;
            (header, mtu.saturating_sub(header))
        }
        // A fragment has a multiple of 8 bytes, and in IPv6 another header.
        _ => {
            let header = if six { 48 } else { ip };
            (header, mtu.saturating_sub(header) & !7)
        }
    };
    match u32::from(length) {
        length if length <= mtu || payload == 0 => (1, header),
        length => (length.saturating_sub(header).div_ceil(payload), header),
    }
}

/// A number of the TCP segment with data at the start of `bytes`, of an IP packet of `length` bytes: by its ports and its
/// sequence number, so a segment that is sent again has the same one. `None` for anything else.
pub fn segment(bytes: &[u8], length: u16) -> Option<u32> {
    let six = bytes.first()? >> 4 == 6;
    let protocol = *bytes.get(if six { 6 } else { 9 })?;
    let at = if six { 40 } else { usize::from(bytes[0] & 15) * 4 };
    let header = usize::from(bytes.get(at + 12)? >> 4) * 4;
    // A later fragment has no ports.
    let first = six || u16::from_be_bytes([bytes[6], bytes[7]]) & 0x1fff == 0;
    let name = u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
    (protocol == TCP && first && usize::from(length) > at + header).then(|| mix64(name) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_versions_are_read() {
        let mut four = vec![0; 20];
        (four[0], four[2], four[3]) = (0x45, 5, 220);
        four[16..].copy_from_slice(&[10, 1, 0, 2]);
        assert_eq!(destination(&four), Some((IpAddr::from([10, 1, 0, 2]), 1_500)));
        let mut six = vec![0; 40];
        (six[0], six[5], six[39]) = (0x60, 60, 1);
        assert_eq!(destination(&six), Some((Ipv6Addr::LOCALHOST.into(), 100)));
        assert_eq!(destination(&four[..19]), None);
        assert_eq!(destination(&six[..39]), None);
    }

    #[test]
    fn long_packets_are_split_as_the_kernel_does() {
        let mut packet = vec![0; 96];
        (packet[0], packet[9], packet[32]) = (0x45, TCP, 0x80);
        assert_eq!(split(&packet, 1_500, 1_500), (1, 52));
        assert_eq!(split(&packet, 8 * 1_448 + 52, 1_500), (8, 52));
        assert_eq!(split(&packet, 8 * 1_448 + 53, 1_500), (9, 52));
        packet[9] = 17;
        assert_eq!(split(&packet, 2_981, 1_500), (3, 20), "1,480 bytes in each fragment");
        (packet[0], packet[6], packet[52]) = (0x60, TCP, 0x50);
        assert_eq!(split(&packet, 2 * 1_440 + 60, 1_500), (2, 60));
        assert_eq!(split(&[], 9_000, 20), (563, 0), "16 bytes in each fragment");
    }

    #[test]
    fn segments_have_numbers() {
        let mut packet = vec![0; 96];
        (packet[0], packet[9], packet[32], packet[27]) = (0x45, TCP, 0x80, 7);
        let first = segment(&packet, 1_500);
        assert!(first.is_some() && segment(&packet, 53) == first, "by its first byte");
        assert_eq!(segment(&packet, 52), None, "an acknowledgement without data");
        packet[27] = 8;
        assert_ne!(segment(&packet, 1_500), first);
        packet[7] = 1;
        assert_eq!(segment(&packet, 1_500), None, "a fragment");
        (packet[7], packet[9]) = (0, 17);
        assert_eq!(segment(&packet, 1_500), None, "a datagram");
        let mut six = vec![0; 96];
        (six[0], six[6], six[52]) = (0x60, TCP, 0x50);
        assert!(segment(&six, 61).is_some() && segment(&six, 60).is_none());
    }

    proptest! {
        #[test]
        fn random_bytes_cause_no_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..60), length: u16, mtu in 0u32..10_000,
        ) {
            destination(&bytes);
            segment(&bytes, length);
            prop_assert!(split(&bytes, length, mtu).0 > 0);
        }
    }
}
