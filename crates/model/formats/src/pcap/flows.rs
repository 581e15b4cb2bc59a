//! From packets to flows.

use super::packet::{Content, Key, Segment, content};
use super::{Captured, Options};
use core::net::IpAddr;
use std::collections::BTreeMap;

/// The data that one host sent to another on one connection, in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedFlow {
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// Payload bytes, at least 1, without retransmissions of TCP.
    pub bytes: u64,
    /// When its first payload was captured, in picoseconds after the first payload of all flows.
    pub start_ps: u64,
    /// Whether it was UDP.
    pub udp: bool,
}

/// The numbers of packets that are in no flow, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Left {
    /// Neither TCP nor UDP over IP.
    pub other: u64,
    /// Later fragments of TCP segments: their ports are not known.
    pub fragments: u64,
    /// Too few of their bytes were captured to see their ports.
    pub short: u64,
    /// To or from addresses that are left out.
    pub unwanted: u64,
    /// From a host to itself.
    pub own: u64,
}

/// The traffic in a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extract {
    /// Flows, in order of their start.
    pub flows: Vec<CapturedFlow>,
    /// The address of each host, if hosts are numbered as they appear.
    pub hosts: Vec<IpAddr>,
    /// Packets that are in no flow.
    pub left: Left,
}

impl Extract {
    /// Notes about the capture, which the user should know.
    pub fn notes(&self) -> Vec<String> {
        let Left { other, fragments, short, unwanted, own } = self.left;
        let left = [
            (other, "neither TCP nor UDP"),
            (fragments, "later fragments of TCP segments"),
            (short, "too few bytes captured"),
            (unwanted, "to or from addresses left out"),
            (own, "from a host to itself"),
        ];
        let udp = self.flows.iter().filter(|flow| flow.udp).count();
        let mut notes: Vec<String> = left
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} packets are in no flow: {why}"))
            .collect();
        if udp > 0 {
            notes.push(format!("{udp} flows were UDP: they are sent by the scheme's transport"));
        }
        if let (Some(first), Some(last)) = (self.hosts.first(), self.hosts.last()) {
            let last_number = self.hosts.len() - 1;
            notes.push(format!(
                "{} hosts, numbered as they appear: host 0 is {first}, host {last_number} is {last}",
                self.hosts.len()
            ));
        }
        notes
    }
}

/// A flow that may continue.
struct Open {
    src: u32,
    dst: u32,
    bytes: u64,
    first_ps: i128,
    last_ps: i128,
    /// TCP: the sequence number after the last byte counted.
    next: Option<u32>,
}

pub(super) struct FlowTable {
    options: Options,
    hosts: BTreeMap<IpAddr, u32>,
    open: BTreeMap<Key, Open>,
    /// The flows that have ended, with their start since 1970 in picoseconds.
    done: Vec<(i128, CapturedFlow)>,
    left: Left,
}

impl FlowTable {
    pub fn new(options: Options) -> FlowTable {
        let (hosts, open) = (BTreeMap::new(), BTreeMap::new());
        FlowTable { options, hosts, open, done: Vec::new(), left: Left::default() }
    }

    pub fn packet(&mut self, packet: &Captured<'_>) -> Result<(), String> {
        let count = match content(packet.link, packet.length, packet.data)? {
            Content::Segment(segment) => return self.segment(&segment, packet.time_ps),
            Content::Counted => return Ok(()),
            Content::Other => &mut self.left.other,
            Content::Fragment => &mut self.left.fragments,
            Content::Short => &mut self.left.short,
        };
        *count += 1;
        Ok(())
    }

    fn segment(&mut self, segment: &Segment, now: i128) -> Result<(), String> {
        if matches!(segment.tcp, Some((_, true))) {
            self.close(&segment.key);
            self.close(&segment.key.back());
        }
        if segment.payload == 0 {
            return Ok(());
        }
        let gap = self.options.idle_gap_ps.map_or(i128::MAX, i128::from);
        if self.open.get(&segment.key).is_some_and(|open| now.saturating_sub(open.last_ps) > gap) {
            self.close(&segment.key);
        }
        if let Some(open) = self.open.get_mut(&segment.key) {
            open.bytes += u64::from(fresh(&mut open.next, segment));
            open.last_ps = open.last_ps.max(now);
            return Ok(());
        }
        let Some((src, dst)) = self.ends(&segment.key)? else { return Ok(()) };
        let mut open = Open { src, dst, bytes: 0, first_ps: now, last_ps: now, next: None };
        open.bytes = fresh(&mut open.next, segment).into();
        self.open.insert(segment.key, open);
        Ok(())
    }

    /// The hosts at both ends, if their flow is not left out.
    fn ends(&mut self, key: &Key) -> Result<Option<(u32, u32)>, String> {
        let ends = match &self.options.addresses {
            Some(map) => map.host(key.src)?.zip(map.host(key.dst)?),
            None => Some((self.number(key.src), self.number(key.dst))),
        };
        match ends {
            None => self.left.unwanted += 1,
            Some((src, dst)) if src == dst => self.left.own += 1,
            ends => return Ok(ends),
        }
        Ok(None)
    }

    fn number(&mut self, address: IpAddr) -> u32 {
        let next = self.hosts.len() as u32;
        *self.hosts.entry(address).or_insert(next)
    }

    fn close(&mut self, key: &Key) {
        if let Some(open) = self.open.remove(key) {
            self.done.push(closed(key, &open));
        }
    }

    pub fn finish(mut self) -> Extract {
        let open = std::mem::take(&mut self.open);
        self.done.extend(open.iter().map(|(key, open)| closed(key, open)));
        self.done.sort_by_key(|(start, flow)| (*start, flow.src, flow.dst, flow.bytes));
        let first = self.done.first().map_or(0, |(start, _)| *start);
        let since = |start: i128| u64::try_from(start - first).unwrap_or(u64::MAX);
        let flows =
            self.done.iter().map(|(at, flow)| CapturedFlow { start_ps: since(*at), ..*flow });
        let mut hosts: Vec<(u32, IpAddr)> = self.hosts.iter().map(|(a, n)| (*n, *a)).collect();
        hosts.sort_unstable();
        let hosts = hosts.into_iter().map(|(_, address)| address).collect();
        Extract { flows: flows.collect(), hosts, left: self.left }
    }
}

fn closed(key: &Key, open: &Open) -> (i128, CapturedFlow) {
    let Open { src, dst, bytes, first_ps, .. } = *open;
    (first_ps, CapturedFlow { src, dst, bytes, start_ps: 0, udp: key.udp })
}

/// The number of payload bytes that were not seen before.
fn fresh(next: &mut Option<u32>, segment: &Segment) -> u32 {
    let Some((sequence, _)) = segment.tcp else { return segment.payload };
    let end = sequence.wrapping_add(segment.payload);
    // Sequence numbers are compared modulo 2 to the power of 32 (RFC 9293, section 3.4).
    let ahead = next.map_or(segment.payload, |next| {
        let ahead = end.wrapping_sub(next);
        if ahead < 1 << 31 { ahead } else { 0 }
    });
    if ahead > 0 {
        *next = Some(end);
    }
    ahead.min(segment.payload)
}
