//! Messages from a rack's switch to its hosts: the class of path to other hosts, and whether a circuit is announced.
//!
//! The message is the body of an ICMP message, like the notification of TDTCP (Chen et al., SIGCOMM 2022, section 3.2).
//! That one names no destination, because its hosts send to only one rack. Big-endian:
//!
//! ```text
//! first: u32, hosts: u32, circuits: u8, holds: u64
//! ```
//!
//! It is about the hosts `first` to `first + hosts - 1`, like an address prefix. `circuits` is as in packets. `holds`,
//! in ps, is the time until the message takes effect.

use super::{ParseError, Reader};
use crate::frame::Circuits;
use crate::id::HostId;
use crate::time::Time;

/// Ethernet's preamble, header, checksum and gap, IPv4's header, and the type, code and checksum of ICMP.
pub const OVERHEAD: u16 = 62;

/// A message about the paths to some hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathNews {
    /// The first of these hosts.
    pub first: HostId,
    /// The number of these hosts.
    pub hosts: u32,
    /// The class of path that is active, and whether a circuit is announced.
    pub circuits: Circuits,
    /// The time from the message until this takes effect.
    pub holds: Time,
}

impl PathNews {
    /// Whether it is about packets for `host`.
    pub fn is_about(&self, host: HostId) -> bool {
        host.0.checked_sub(self.first.0).is_some_and(|at| at < self.hosts)
    }

    /// As bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(17);
        out.extend(self.first.0.to_be_bytes());
        out.extend(self.hosts.to_be_bytes());
        out.push(self.circuits.bits());
        out.extend(self.holds.as_ps().to_be_bytes());
        out
    }

    /// From bytes.
    ///
    /// # Errors
    /// The bytes are not such a message.
    pub fn parse(bytes: &[u8]) -> Result<PathNews, ParseError> {
        let mut reader = Reader(bytes);
        let (first, hosts) = (HostId(reader.u32()?), reader.u32()?);
        let bits = reader.u8()?;
        let wrong = ParseError::Field { field: "circuits", value: bits.into() };
        let circuits = Circuits::from_bits(bits).ok_or(wrong)?;
        let holds = Time::ps(reader.u64()?);
        reader.end()?;
        Ok(PathNews { first, hosts, circuits, holds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(first: u32, hosts: u32, bits in 0u8..128, ps: u64) {
            let circuits = Circuits::from_bits(bits).unwrap();
            let news = PathNews { first: HostId(first), hosts, circuits, holds: Time::ps(ps) };
            let bytes = news.emit();
            prop_assert_eq!(PathNews::parse(&bytes), Ok(news));
            prop_assert!(PathNews::parse(&bytes[1..]).is_err());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            if let Ok(news) = PathNews::parse(&bytes) {
                prop_assert_eq!(news.emit(), bytes);
            }
        }

        #[test]
        fn it_is_about_the_hosts_it_names(first in 0u32..20, hosts in 0u32..20, host in 0u32..50) {
            let circuits = Circuits::default();
            let news = PathNews { first: HostId(first), hosts, circuits, holds: Time::ZERO };
            prop_assert_eq!(news.is_about(HostId(host)), (first..first + hosts).contains(&host));
        }
    }
}
