//! The BPF program that takes the packets of a host on their way out of an interface, and redirects them to another one, from
//! which a process reads them. A packet that the process sends has a mark, and passes.
//!
//! All packets pass unless the process has said lately that it works. Those of a connection for which it has no room are
//! refused, as a queue that is full refuses them: TCP keeps the segment, sends it later, and slows down.

use rustix::time::{ClockId, clock_gettime};
use slotline_rings::bpf::code::{self, Line, function};
use slotline_rings::bpf::{Kind, Map, Program};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// The mark of packets that the process sends. The program removes it.
pub(super) const RELEASED: u32 = 0x5d60_7e01;
/// The number of sets of connections that share their room.
pub(super) const SETS: usize = 1 << SET_BITS;
const SET_BITS: u32 = 10;
/// The bytes of Ethernet's header.
pub(super) const ETHERNET: usize = 14;

/// Packets are taken for this time after the process has last said that it works.
const TRUST: Duration = Duration::from_millis(80);
/// How often it says so.
const BEAT: Duration = Duration::from_millis(5);

/// Fields of the context of a classifier, `struct __sk_buff`.
const LENGTH: i16 = 0;
const MARK: i16 = 8;
const PROTOCOL: i16 = 16;
/// Fields of the map of orders: the time until which packets are taken, the bytes of the shortest frame that is, and for each
/// set of connections whether it has no room.
const UNTIL: i16 = 0;
const SHORTEST: i16 = 8;
const FULL: i16 = 16;
const ORDERS: usize = FULL as usize + SETS;
/// The results of a classifier: the next one decides, and the packet is dropped.
const NEXT: i32 = -1;
const REFUSED: i32 = 2;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: i32 = 6;
const UDP: i32 = 17;
const ICMPV6: i32 = 58;
/// The types of ICMPv6 messages by which hosts find each other.
const NEIGHBOURS: std::ops::RangeInclusive<i32> = 133..=137;
/// The places of fields in a frame.
const VERSION: i32 = 14;
const FRAGMENT: i32 = 20;
const NEXT_HEADER: i32 = 20;
const PROTOCOL_OF_IPV4: i32 = 23;
const TO_IPV4: i32 = 30;
const TO_IPV6: i32 = 38;
const AFTER_IPV6: i32 = 54;
/// By this the numbers of a connection are multiplied, so that each bit changes its set.
const SPREAD: i32 = 0x61c8_8647;
const SPREAD_FROM: u32 = 20;

/// The places of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Fresh,
    Ipv6,
    Held4,
    Held6,
    Differs,
    Other6,
    Ports,
    NoPorts,
    Decide,
    Long,
    Refuse,
    Open,
    Pass,
}

use Line::{At, Do, To};
use Place::{
    Decide, Differs, Fresh, Held4, Held6, Ipv6, Long, NoPorts, Open, Other6, Pass, Ports, Refuse,
};

/// What the program does, and how it is told.
#[derive(Debug)]
pub(super) struct Taker {
    orders: Map,
    passed: Map,
    shown: Vec<u8>,
    /// When it was told last, and whether there is something new.
    told: u64,
    news: bool,
    passing: bool,
}

impl Taker {
    /// No packet is taken before the first [`Taker::tell`].
    pub fn new() -> io::Result<Taker> {
        let (orders, passed) = (Map::of_value(ORDERS as u32)?, Map::of_value(8)?);
        let shown = vec![0; ORDERS];
        Ok(Taker { orders, passed, shown, told: 0, news: true, passing: false })
    }

    /// The program for an interface. What it takes leaves by the interface with the number `by`.
    pub fn program(&self, network: &[String], exempt: &[u16], by: u32) -> io::Result<Program> {
        let lines = self.lines(&prefixes(network)?, exempt, by);
        let long = || io::Error::other("the network has too many prefixes, or too many ports");
        Program::load(Kind::Classifier, &code::assemble(&lines).ok_or_else(long)?)
    }

    /// Lets all packets pass, or not.
    pub fn pass(&mut self, pass: bool) {
        (self.passing, self.news) = (pass, true);
    }

    pub fn passes(&self) -> bool {
        self.passing
    }

    /// The number of packets that have passed although they would have been taken.
    pub fn passed(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        self.passed.get(0, &mut count)?;
        Ok(u64::from_ne_bytes(count))
    }

    /// Lets IP packets of fewer bytes pass.
    pub fn exempt_below(&mut self, bytes: u32) {
        let shortest = u64::from(bytes) + ETHERNET as u64;
        self.shown[SHORTEST as usize..FULL as usize].copy_from_slice(&shortest.to_ne_bytes());
        self.news = true;
    }

    /// Notes whether a set of connections has no room.
    pub fn mark_full(&mut self, set: usize, full: bool) {
        let shown = &mut self.shown[FULL as usize + set];
        self.news |= *shown != u8::from(full);
        *shown = full.into();
    }

    /// Tells the program that this process works, and what is new. Called often.
    pub fn tell(&mut self) -> io::Result<()> {
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        if !self.news && now < self.told + BEAT.as_nanos() as u64 {
            return Ok(());
        }
        let until = if self.passing { 0 } else { now + TRUST.as_nanos() as u64 };
        self.shown[..SHORTEST as usize].copy_from_slice(&until.to_ne_bytes());
        (self.told, self.news) = (now, false);
        self.orders.set(0, &self.shown)
    }

    /// Register 6 is the context. Places follow one another, so each skip leads forwards.
    fn lines(&self, network: &[(IpAddr, u8)], exempt: &[u16], by: u32) -> Vec<Line<Place>> {
        let parts = [own(), kind(), of_ipv4(network), of_ipv6(network), ports(exempt)];
        let mut lines = parts.concat();
        lines.extend(set());
        lines.extend(self.decision(by));
        lines
    }

    /// Register 9 is the set of the connection.
    fn decision(&self, by: u32) -> Vec<Line<Place>> {
        let mut lines: Vec<_> = code::value(8, &self.orders).map(Do).to_vec();
        lines.extend([
            Do(code::load32(1, 6, LENGTH)),
            Do(code::load64(2, 8, SHORTEST)),
            To(Long, code::if_at_least(1, 2, 0)),
            To(Pass, code::skip(0)),
            At(Long),
            Do(code::call(function::NOW)),
            Do(code::load64(1, 8, UNTIL)),
            To(Open, code::if_at_least(0, 1, 0)),
            Do(code::add(8, 9)),
            Do(code::load8(1, 8, FULL)),
            To(Refuse, code::if_not(1, 0, 0)),
            Do(code::set(1, by as i32)),
            Do(code::set(2, 0)),
            Do(code::call(function::SEND_BY)),
            Do(code::exit()),
            At(Refuse),
            Do(code::set(0, REFUSED)),
            Do(code::exit()),
            At(Open),
        ]);
        lines.extend(code::value(1, &self.passed).map(Do));
        lines.extend([
            Do(code::set(2, 1)),
            Do(code::count64(1, 0, 2)),
            At(Pass),
            Do(code::set(0, NEXT)),
            Do(code::exit()),
        ]);
        lines
    }
}

/// A packet of the process passes without its mark.
fn own() -> Vec<Line<Place>> {
    vec![
        Do(code::copy(6, 1)),
        Do(code::load32(7, 6, MARK)),
        To(Fresh, code::if_not32(7, RELEASED, 0)),
        Do(code::set(1, 0)),
        Do(code::store32(6, MARK, 1)),
        To(Pass, code::skip(0)),
        At(Fresh),
    ]
}

/// Frames to a group pass, and those without IP.
fn kind() -> Vec<Line<Place>> {
    vec![
        Do(code::load32(7, 6, PROTOCOL)),
        Do(code::packet8(0)),
        Do(code::and_value(0, 1)),
        To(Pass, code::if_not(0, 0, 0)),
        To(Ipv6, code::if_equal32(7, IPV6.to_be().into(), 0)),
        To(Pass, code::if_not32(7, IPV4.to_be().into(), 0)),
    ]
}

/// Register 8 becomes the last four octets of the destination, 7 the place of the ports.
fn of_ipv4(network: &[(IpAddr, u8)]) -> Vec<Line<Place>> {
    let mut lines = Vec::new();
    for (prefix, bits) in network {
        if let IpAddr::V4(prefix) = prefix {
            lines.extend(compared(&[prefix.to_bits()], *bits, TO_IPV4, Held4));
        }
    }
    let any = !lines.is_empty();
    lines.push(To(Pass, code::skip(0)));
    if any {
        lines.extend(held_ipv4());
    }
    lines
}

fn held_ipv4() -> [Line<Place>; 14] {
    [
        At(Held4),
        Do(code::packet32(TO_IPV4)),
        Do(code::copy(8, 0)),
        Do(code::packet16(FRAGMENT)),
        Do(code::and_value(0, 0x1fff)),
        To(NoPorts, code::if_not(0, 0, 0)),
        Do(code::packet8(VERSION)),
        Do(code::and_value(0, 15)),
        Do(code::left(0, 2)),
        Do(code::copy(7, 0)),
        Do(code::packet8(PROTOCOL_OF_IPV4)),
        To(Ports, code::if_equal(0, TCP, 0)),
        To(Ports, code::if_equal(0, UDP, 0)),
        To(NoPorts, code::skip(0)),
    ]
}

fn of_ipv6(network: &[(IpAddr, u8)]) -> Vec<Line<Place>> {
    let mut lines = Vec::new();
    for (prefix, bits) in network {
        if let IpAddr::V6(prefix) = prefix {
            let bytes = prefix.octets();
            let words = [0, 4, 8, 12].map(|at| {
                u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            });
            lines.extend(compared(&words, *bits, TO_IPV6, Held6));
        }
    }
    let any = !lines.is_empty();
    lines.insert(0, At(Ipv6));
    lines.push(To(Pass, code::skip(0)));
    if any {
        lines.extend(held_ipv6());
    }
    lines
}

fn held_ipv6() -> Vec<Line<Place>> {
    let mut lines = vec![
        At(Held6),
        Do(code::packet32(AFTER_IPV6 - 4)),
        Do(code::copy(8, 0)),
        Do(code::set(7, AFTER_IPV6 - VERSION)),
        Do(code::packet8(NEXT_HEADER)),
        To(Ports, code::if_equal(0, TCP, 0)),
        To(Ports, code::if_equal(0, UDP, 0)),
        To(Other6, code::if_not(0, ICMPV6, 0)),
        Do(code::packet8(AFTER_IPV6)),
    ];
    lines.extend(NEIGHBOURS.map(|kind| To(Pass, code::if_equal(0, kind, 0))));
    lines.extend([At(Other6), To(NoPorts, code::skip(0))]);
    lines
}

/// Register 7 is the protocol. Leads to `held` if the words of the packet from `at` on have the leading bits of `words`.
fn compared(words: &[u32], bits: u8, at: i32, held: Place) -> Vec<Line<Place>> {
    let mut lines = Vec::new();
    for (n, word) in words.iter().enumerate() {
        let bits = u32::from(bits).saturating_sub(32 * n as u32).min(32);
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or_default();
        if mask != 0 {
            lines.extend([
                Do(code::packet32(at + 4 * n as i32)),
                Do(code::and32(0, mask)),
                To(Differs, code::if_not32(0, word & mask, 0)),
            ]);
        }
    }
    // A condition that always holds, as the kernel refuses code that follows a skip and that nothing else leads to.
    lines.extend([To(held, code::if_not32(7, 0, 0)), At(Differs)]);
    lines
}

/// Register 9 becomes the ports, or zero where there are none.
fn ports(exempt: &[u16]) -> Vec<Line<Place>> {
    let mut lines = vec![
        At(Ports),
        Do(code::packet32_from(7, VERSION)),
        Do(code::copy(9, 0)),
        Do(code::copy(7, 0)),
        Do(code::right(7, 16)),
        Do(code::and_value(0, 0xffff)),
    ];
    for port in exempt {
        let port = i32::from(*port);
        lines.extend([To(Pass, code::if_equal(0, port, 0)), To(Pass, code::if_equal(7, port, 0))]);
    }
    lines.extend([To(Decide, code::skip(0)), At(NoPorts), Do(code::set(9, 0)), At(Decide)]);
    lines
}

/// Register 9 becomes the set of the connection, as [`set_of`] says.
fn set() -> [Line<Place>; 5] {
    [
        Do(code::add(9, 8)),
        Do(code::set(1, SPREAD)),
        Do(code::multiply(9, 1)),
        Do(code::right(9, SPREAD_FROM as i32)),
        Do(code::and_value(9, SETS as i32 - 1)),
    ]
}

/// The set of the connection of an IP packet, by its destination and its ports.
pub(super) fn set_of(packet: &[u8]) -> usize {
    let word = |at: usize| packet.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four));
    let byte = |at: usize| packet.get(at).copied().unwrap_or_default();
    let six = byte(0) >> 4 == 6;
    let whole = six || u16::from_be_bytes([byte(6), byte(7)]) & 0x1fff == 0;
    let has_ports = whole && [TCP, UDP].contains(&byte(if six { 6 } else { 9 }).into());
    let (to, ports) = if six { (36, 40) } else { (16, usize::from(byte(0) & 15) * 4) };
    let ports = word(ports).filter(|_| has_ports).unwrap_or_default();
    let sum = u64::from(word(to).unwrap_or_default()) + u64::from(ports);
    (sum.wrapping_mul(SPREAD as u64) >> SPREAD_FROM) as usize % SETS
}

/// Reads prefixes, such as `10.1.0.0/24`.
fn prefixes(network: &[String]) -> io::Result<Vec<(IpAddr, u8)>> {
    let read = |text: &String| {
        let (address, bits) = text.split_once('/')?;
        Some((address.parse().ok()?, bits.parse().ok()?))
    };
    let wrong = |text: &String| io::Error::other(format!("`{text}` is no prefix"));
    network.iter().map(|text| read(text).ok_or_else(|| wrong(text))).collect()
}

#[cfg(test)]
mod tests;
