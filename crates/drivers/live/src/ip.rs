//! The destination and the length of IP packets.

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

    proptest! {
        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            destination(&bytes);
        }
    }
}
