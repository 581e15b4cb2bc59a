//! The addresses of hosts.

use crate::FormatError;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Hosts by address. The traffic of an address may be left out deliberately.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddressMap {
    hosts: BTreeMap<IpAddr, Option<u32>>,
}

impl AddressMap {
    /// Reads lines `address host`, where `host` is its number, or `-` for an address whose traffic is
    /// left out; `#` starts a comment line. Several addresses may have the same host.
    pub fn parse(text: &str) -> Result<AddressMap, FormatError> {
        let mut hosts = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let wrong = |why: String| FormatError::new(at + 1, why);
            let tokens: Vec<&str> = line.split_whitespace().collect();
            let (address, host) = match tokens[..] {
                [] => continue,
                [comment, ..] if comment.starts_with('#') => continue,
                [address, host] => (address, host),
                _ => return Err(wrong(format!("`{}`: expected `address host`", line.trim()))),
            };
            let address: IpAddr = address
                .parse()
                .map_err(|_| wrong(format!("`{address}` is not an IPv4 or IPv6 address")))?;
            let host = match host {
                "-" => None,
                host => Some(host.parse().map_err(|_| {
                    wrong(format!("host `{host}`: expected its number, or - to leave it out"))
                })?),
            };
            if hosts.insert(address, host).is_some() {
                return Err(wrong(format!("{address} is given twice")));
            }
        }
        Ok(AddressMap { hosts })
    }

    /// The host with `address`, or `None` if the address is left out.
    pub(super) fn host(&self, address: IpAddr) -> Result<Option<u32>, String> {
        let host = self.hosts.get(&address).copied();
        host.ok_or_else(|| {
            format!(
                "{address} is not in the file of addresses: give it a host, or - to leave it out"
            )
        })
    }
}
