//! IPv6 beside IPv4: each address of a network of namespaces may have a twin.

use crate::bridge::ip;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The first bits of twins: `fd00::/96`.
const PREFIX: u128 = 0xfd00 << 112;
/// Their number.
const BITS: u32 = 96;

/// The protocols of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Families {
    /// IPv4 alone.
    #[default]
    V4,
    /// Each IPv4 address has an IPv6 [`twin`].
    Both,
}

/// The IPv6 address of the interface that has an IPv4 address.
pub fn twin(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(PREFIX | u128::from(address.to_bits()))
}

/// The prefix of the twins of the addresses in an IPv4 prefix such as `10.80.0.0/24`.
pub fn twin_prefix(prefix: &str) -> Option<String> {
    let (address, bits) = prefix.split_once('/')?;
    let (address, bits): (Ipv4Addr, u32) = (address.parse().ok()?, bits.parse().ok()?);
    Some(format!("{}/{}", twin(address), BITS + bits))
}

impl Families {
    /// Runs `ip` with a line about addresses, and with the same line about their twins.
    pub(crate) fn ip(self, line: &str) -> io::Result<()> {
        ip(line)?;
        match self {
            Families::V4 => Ok(()),
            Families::Both => ip(&mirrored(line)),
        }
    }
}

/// The same line about twins. Addresses are used at once.
fn mirrored(line: &str) -> String {
    let word = |word: &str| match word.parse() {
        Ok(address) => twin(address).to_string(),
        Err(_) => twin_prefix(word).unwrap_or_else(|| word.into()),
    };
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    let at_once = if line.starts_with("address add") { " nodad" } else { "" };
    format!("-6 {}{at_once}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ip_have_twins() {
        let twins = [
            ("address add 10.81.0.2/31 dev up1", "-6 address add fd00::a51:2/127 dev up1 nodad"),
            (
                "route replace default nexthop via 10.81.0.1 nexthop via 10.81.0.3",
                "-6 route replace default nexthop via fd00::a51:1 nexthop via fd00::a51:3",
            ),
            (
                "route add 10.80.3.0/24 via 10.81.0.8",
                "-6 route add fd00::a50:300/120 via fd00::a51:8",
            ),
        ];
        twins.iter().for_each(|(line, twin)| assert_eq!(mirrored(line), *twin));
    }
}
