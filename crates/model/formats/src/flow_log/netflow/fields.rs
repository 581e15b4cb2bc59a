//! Fields of records: NetFlow 9 (RFC 3954, section 8) and IPFIX (registry of IANA) have the same numbers.

use super::super::{LogRecord, Sent};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A field of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub id: u16,
    /// The enterprise that defines it, or 0 for the registry.
    pub enterprise: u32,
    /// Its length in bytes, or [`VARIABLE`].
    pub length: u16,
}

/// The length of a field whose records have its length.
pub(super) const VARIABLE: u16 = 0xffff;
/// The enterprise number of fields for the reverse direction (RFC 5103).
const REVERSE: u32 = 29_305;

/// When a flow began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Begin {
    /// Picoseconds since 1970.
    At(i128),
    /// Milliseconds since the exporter started.
    SinceBoot(u32),
    /// Microseconds before the message was exported.
    Before(u64),
}

/// The clock of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    /// When the message was exported, in picoseconds since 1970.
    pub now_ps: i128,
    /// Milliseconds since the exporter started, at that moment.
    pub uptime: Option<u32>,
}

/// The values of a record that are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Values {
    src: Option<IpAddr>,
    dst: Option<IpAddr>,
    bytes: Option<u64>,
    packets: Option<u64>,
    back_bytes: Option<u64>,
    back_packets: Option<u64>,
    protocol: Option<u8>,
    begin: Option<Begin>,
    /// One of so many packets is sampled.
    pub sampled: Option<u64>,
    /// When the exporter started, in picoseconds since 1970.
    pub boot_ps: Option<i128>,
}

const MS: i128 = 1_000_000_000;

impl Values {
    /// Uses a field. Fields that are not needed are ignored.
    pub fn add(&mut self, field: Field, bytes: &[u8]) {
        match (field.enterprise, field.id) {
            (0, id) => self.registered(id, bytes),
            (REVERSE, 1 | 85) => self.back_bytes = number(bytes),
            (REVERSE, 2 | 86) => self.back_packets = number(bytes),
            _ => {}
        }
    }

    fn registered(&mut self, id: u16, bytes: &[u8]) {
        match id {
            8 | 27 => self.src = address(bytes).or(self.src),
            12 | 28 => self.dst = address(bytes).or(self.dst),
            // The bytes of the flow so far, and in NetFlow those that leave; octets of the connection's initiator.
            1 | 85 | 231 => self.bytes = number(bytes).or(self.bytes),
            23 if self.bytes.is_none_or(|bytes| bytes == 0) => self.bytes = number(bytes),
            2 | 86 | 298 => self.packets = number(bytes).or(self.packets),
            24 if self.packets.is_none_or(|packets| packets == 0) => self.packets = number(bytes),
            232 => self.back_bytes = number(bytes),
            299 => self.back_packets = number(bytes),
            4 => self.protocol = number(bytes).and_then(|number| u8::try_from(number).ok()),
            34 | 50 | 305 => self.sampled = number(bytes),
            160 => self.boot_ps = number(bytes).map(|ms| i128::from(ms) * MS),
            _ => self.begin = begin(id, bytes).or(self.begin),
        }
    }

    /// The record of a flow, or `None` if it has no address, size or start.
    pub fn record(&self, clock: Clock, boot_ps: Option<i128>) -> Option<LogRecord> {
        let start_ps = match self.begin? {
            Begin::At(ps) => ps,
            Begin::Before(us) => clock.now_ps - i128::from(us) * 1_000_000,
            Begin::SinceBoot(first) => match (clock.uptime, self.boot_ps.or(boot_ps)) {
                (Some(uptime), _) => since_boot(clock.now_ps, uptime, first),
                (None, boot) => boot? + i128::from(first) * MS,
            },
        };
        let back = self.back_bytes.map(|bytes| Sent { bytes, packets: self.back_packets });
        Some(LogRecord {
            src: self.src?,
            dst: self.dst?,
            protocol: self.protocol,
            start_ps,
            there: Sent { bytes: self.bytes?, packets: self.packets },
            back,
        })
    }
}

/// The moment at which an exporter's uptime was `then`. It is `now_ps` at the uptime `uptime`, which returns to 0 after
/// 2^32 milliseconds.
pub(super) fn since_boot(now_ps: i128, uptime: u32, then: u32) -> i128 {
    let ago = uptime.wrapping_sub(then).cast_signed();
    now_ps - i128::from(ago) * MS
}

fn begin(id: u16, bytes: &[u8]) -> Option<Begin> {
    let value = || number(bytes);
    Some(match id {
        22 => Begin::SinceBoot(u32::try_from(value()?).ok()?),
        150 => Begin::At(i128::from(value()?) * 1_000 * MS),
        152 => Begin::At(i128::from(value()?) * MS),
        154 | 156 => Begin::At(ntp(bytes)?),
        158 => Begin::Before(value()?),
        _ => return None,
    })
}

/// A time in the format of NTP (RFC 7011, section 6.1.9): seconds since 1900, and a fraction of 32 bits.
fn ntp(bytes: &[u8]) -> Option<i128> {
    const SECONDS_TO_1970: i128 = 2_208_988_800;
    let [seconds, fraction] = <[u8; 8]>::try_from(bytes).ok().map(|bytes| {
        let [a, b, c, d, e, f, g, h] = bytes;
        [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes)
    })?;
    let fraction_ps = (i128::from(fraction) * 1_000 * MS) >> 32;
    Some((i128::from(seconds) - SECONDS_TO_1970) * 1_000 * MS + fraction_ps)
}

/// A whole number of up to eight bytes. Exporters may leave out leading zeros (RFC 7011, section 6.2).
fn number(bytes: &[u8]) -> Option<u64> {
    let fits = (1..=8).contains(&bytes.len());
    fits.then(|| bytes.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let address: IpAddr = match bytes.len() {
        4 => Ipv4Addr::from(*bytes.first_chunk::<4>()?).into(),
        16 => Ipv6Addr::from(*bytes.first_chunk::<16>()?).into(),
        _ => return None,
    };
    // Some records have both kinds of addresses, of which one is zero.
    (!address.is_unspecified()).then(|| address.to_canonical())
}
