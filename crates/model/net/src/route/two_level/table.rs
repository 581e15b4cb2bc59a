//! A table of prefixes. Some of them refer to a table of suffixes (sections 3.1.3 and 3.1.4).

use crate::id::PortId;
use core::net::Ipv4Addr;
use std::cmp::Reverse;
use std::fmt;

/// The first `len` bits of an address: a left-handed entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// An address with these bits.
    pub address: Ipv4Addr,
    /// The number of bits from the left, 0 to 32.
    pub len: u8,
}

/// The last `len` bits of an address: a right-handed entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suffix {
    /// An address with these bits.
    pub address: Ipv4Addr,
    /// The number of bits from the right, 0 to 32.
    pub len: u8,
}

/// The action of a prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A terminating prefix: this port.
    Port(PortId),
    /// The longest matching suffix gives the port. If none matches, there is no route.
    Suffixes(Vec<(Suffix, PortId)>),
}

/// The routing table of one switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The switch's own subnet, whose packets are switched by the host's number, not routed. Only edge switches have
    /// one.
    pub subnet: Option<Prefix>,
    /// The first level.
    pub prefixes: Vec<(Prefix, Action)>,
}

/// One row of a ternary memory: it matches the addresses whose bits under `mask` are those of `value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcamRow {
    /// The bits to match.
    pub value: u32,
    /// The bits that are compared.
    pub mask: u32,
    /// The port. If there is none, packets are dropped.
    pub port: Option<PortId>,
}

/// The size of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Entries of the first level.
    pub prefixes: usize,
    /// Entries of the second level.
    pub suffixes: usize,
    /// Rows of a ternary memory that has both levels, 32 bits each.
    pub tcam: usize,
}

impl Prefix {
    /// The mask of its bits.
    pub fn mask(&self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.len)).unwrap_or(0)
    }
    /// Whether `address` begins with it.
    pub fn matches(&self, address: Ipv4Addr) -> bool {
        (u32::from(address) ^ u32::from(self.address)) & self.mask() == 0
    }
}

impl Suffix {
    /// The mask of its bits.
    pub fn mask(&self) -> u32 {
        u32::MAX.checked_shr(32 - u32::from(self.len)).unwrap_or(0)
    }
    /// Whether `address` ends with it.
    pub fn matches(&self, address: Ipv4Addr) -> bool {
        (u32::from(address) ^ u32::from(self.address)) & self.mask() == 0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}
impl fmt::Display for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

impl Table {
    /// The port by which a packet for `address` leaves: that of the longest matching prefix. If this
    /// refers to suffixes, it is that of the longest matching suffix. The switch's own subnet is not looked up.
    pub fn lookup(&self, address: Ipv4Addr) -> Option<PortId> {
        let matching = self.prefixes.iter().filter(|(prefix, _)| prefix.matches(address));
        match matching.max_by_key(|(prefix, _)| prefix.len)? {
            (_, Action::Port(port)) => Some(*port),
            (_, Action::Suffixes(suffixes)) => {
                let matching = suffixes.iter().filter(|(suffix, _)| suffix.matches(address));
                matching.max_by_key(|(suffix, _)| suffix.len).map(|(_, port)| *port)
            }
        }
    }

    /// As [`Table::lookup`], but within the switch's own subnet it returns the port of the host.
    pub fn forward(&self, address: Ipv4Addr) -> Option<PortId> {
        let own = self.subnet.is_some_and(|subnet| subnet.matches(address));
        let id = u32::from(address.octets()[3]);
        match id.checked_sub(super::address::FIRST_ID) {
            Some(port) if own => Some(PortId(port as u16)),
            _ if own => None,
            _ => self.lookup(address),
        }
    }

    /// The rows of a ternary memory in which the first match counts: prefixes before suffixes, longer
    /// ones before shorter ones.
    pub fn tcam(&self) -> Vec<TcamRow> {
        let mut prefixes: Vec<&(Prefix, Action)> = self.prefixes.iter().collect();
        prefixes.sort_by_key(|(prefix, _)| Reverse(prefix.len));
        prefixes.into_iter().flat_map(|(prefix, action)| rows(prefix, action)).collect()
    }

    /// The size of the table.
    pub fn sizes(&self) -> Sizes {
        let second = |(_, action): &(Prefix, Action)| match action {
            Action::Port(_) => 0,
            Action::Suffixes(suffixes) => suffixes.len(),
        };
        Sizes {
            prefixes: self.prefixes.len(),
            suffixes: self.prefixes.iter().map(second).sum(),
            tcam: self.tcam().len(),
        }
    }
}

/// The rows of one prefix. A prefix with suffixes needs no separate row, unless a shorter prefix could match
/// addresses that none of its suffixes matches.
fn rows(prefix: &Prefix, action: &Action) -> Vec<TcamRow> {
    let (bits, mask) = (u32::from(prefix.address) & prefix.mask(), prefix.mask());
    let whole = |port| TcamRow { value: bits, mask, port };
    match action {
        Action::Port(port) => vec![whole(Some(*port))],
        Action::Suffixes(suffixes) => {
            let mut longest: Vec<_> = suffixes.iter().collect();
            longest.sort_by_key(|(suffix, _)| Reverse(suffix.len));
            let row = |(suffix, port): &(Suffix, PortId)| {
                let (low, low_mask) = (u32::from(suffix.address) & suffix.mask(), suffix.mask());
                // If prefix and suffix require different values of a bit, no address matches.
                let possible = (bits ^ low) & mask & low_mask == 0;
                let row = TcamRow { value: bits | low, mask: mask | low_mask, port: Some(*port) };
                possible.then_some(row)
            };
            let nothing = (prefix.len > 0).then(|| whole(None));
            longest.into_iter().filter_map(row).chain(nothing).collect()
        }
    }
}

impl fmt::Display for Table {
    /// One line for each entry: the prefix, then the port, or the suffixes behind it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(subnet) = &self.subnet {
            writeln!(f, "  {:<18} switched", subnet.to_string())?;
        }
        for (prefix, action) in &self.prefixes {
            match action {
                Action::Port(port) => writeln!(f, "  {:<18} port {}", prefix.to_string(), port.0)?,
                Action::Suffixes(suffixes) => {
                    writeln!(f, "  {:<18} by suffix:", prefix.to_string())?;
                    for (suffix, port) in suffixes {
                        writeln!(f, "    {:<16} port {}", suffix.to_string(), port.0)?;
                    }
                }
            }
        }
        Ok(())
    }
}
