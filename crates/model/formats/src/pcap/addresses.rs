//! The addresses of hosts.

use crate::FormatError;
use core::cmp::Reverse;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

/// Hosts by address and by prefix. The traffic of an address may be left out deliberately.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddressMap {
    /// By family and length, the longest first, then by the first address.
    prefixes: BTreeMap<(bool, Reverse<u32>), BTreeMap<u128, Owner>>,
}

/// Who has the addresses of a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    /// No one: their traffic is left out.
    None,
    /// One host has them all.
    One(u32),
    /// Hosts with consecutive numbers have one each, beginning with this number.
    From(u32),
}

impl AddressMap {
    /// Reads lines `address host`, where `address` may be a prefix such as 10.0.1.0/24. `host` is the number of the host
    /// that has all these addresses; `8+` if they belong to hosts 8, 9, 10 and so on; or `-` if their traffic is left
    /// out. The longest prefix applies. `#` starts a comment line. Several addresses may have the same host.
    pub fn parse(text: &str) -> Result<AddressMap, FormatError> {
        let mut map = AddressMap::default();
        for (at, line) in text.lines().enumerate() {
            let wrong = |why: String| FormatError::new(at + 1, why);
            let tokens: Vec<&str> = line.split_whitespace().collect();
            let (address, host) = match tokens[..] {
                [] => continue,
                [comment, ..] if comment.starts_with('#') => continue,
                [address, host] => (address, host),
                _ => return Err(wrong(format!("`{}`: expected `address host`", line.trim()))),
            };
            let (key, first) = prefix(address).map_err(wrong)?;
            let owner = owner(host).map_err(wrong)?;
            if map.prefixes.entry(key).or_default().insert(first, owner).is_some() {
                return Err(wrong(format!("{address} is given twice")));
            }
        }
        Ok(map)
    }

    /// The host with `address`, or `None` if the address is left out.
    pub(crate) fn host(&self, address: IpAddr) -> Result<Option<u32>, String> {
        let (is_v6, bits) = bits(address);
        let of_family = self.prefixes.range((is_v6, Reverse(u32::MAX))..=(is_v6, Reverse(0)));
        for ((_, Reverse(length)), firsts) in of_family {
            let first = bits & mask(is_v6, *length);
            match firsts.get(&first) {
                None => {}
                Some(Owner::None) => return Ok(None),
                Some(Owner::One(host)) => return Ok(Some(*host)),
                Some(Owner::From(host)) => {
                    let number =
                        u32::try_from(bits - first).ok().and_then(|at| host.checked_add(at));
                    let number =
                        number.ok_or_else(|| format!("{address}: its prefix is too large"))?;
                    return Ok(Some(number));
                }
            }
        }
        Err(format!(
            "{address} is not in the file of addresses: give it or a prefix of it a host, or - to leave it out"
        ))
    }
}

/// Family, length and first address of a prefix.
fn prefix(text: &str) -> Result<((bool, Reverse<u32>), u128), String> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let address: IpAddr =
        address.parse().map_err(|_| format!("`{address}` is not an IPv4 or IPv6 address"))?;
    let (is_v6, bits) = bits(address);
    let most = if is_v6 { 128 } else { 32 };
    let length = length.map_or(Ok(most), |length| {
        let length = length.parse().ok().filter(|length: &u32| *length <= most);
        length.ok_or_else(|| format!("`{text}`: expected a length of 0 to {most} behind the slash"))
    })?;
    let first = bits & mask(is_v6, length);
    if first != bits {
        let (first, family) = (first, is_v6);
        return Err(format!(
            "`{text}`: the first address of this prefix is {}",
            address_of(family, first)
        ));
    }
    Ok(((is_v6, Reverse(length)), first))
}

fn owner(text: &str) -> Result<Owner, String> {
    let number = |text: &str| text.parse::<u32>().ok();
    let owner = match (text, text.strip_suffix('+')) {
        ("-", _) => Some(Owner::None),
        (_, Some(first)) => number(first).map(Owner::From),
        _ => number(text).map(Owner::One),
    };
    owner.ok_or_else(|| {
        format!(
            "host `{text}`: expected its number, 8+ for hosts 8, 9, 10 and so on, or - to leave it out"
        )
    })
}

fn bits(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(address) => (false, address.to_bits().into()),
        IpAddr::V6(address) => (true, address.to_bits()),
    }
}

fn address_of(is_v6: bool, bits: u128) -> IpAddr {
    if is_v6 { Ipv6Addr::from_bits(bits).into() } else { Ipv4Addr::from_bits(bits as u32).into() }
}

fn mask(is_v6: bool, length: u32) -> u128 {
    let width = if is_v6 { 128 } else { 32 };
    let ones = u128::MAX.checked_shl(width - length).unwrap_or(0);
    if is_v6 { ones } else { ones & u128::from(u32::MAX) }
}
