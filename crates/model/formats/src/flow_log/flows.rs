//! From records of a log to flows between hosts.

use super::{LogRecord, Sent, Unread};
use crate::pcap::AddressMap;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Who the hosts are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// The hosts by address. With `None`, hosts are numbered as they appear.
    pub addresses: Option<AddressMap>,
    /// Bytes of headers that are subtracted for each packet.
    pub headers: u64,
    /// The moment, in picoseconds since 1970, that is time zero. With `None`, it is the start of the first flow.
    pub epoch_ps: Option<i128>,
}

/// A flow of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedFlow {
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// Bytes, at least 1.
    pub bytes: u64,
    /// When it began, in picoseconds since 1970.
    pub start_ps: i128,
}

/// Turns records into flows.
#[derive(Clone, Debug, Default)]
pub struct FlowLog {
    ends: Ends,
    hosts: BTreeMap<IpAddr, u32>,
    first: Option<IpAddr>,
    last: Option<IpAddr>,
    /// The earliest start of a flow.
    earliest: Option<i128>,
    counts: Counts,
}

/// The numbers of records by what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    other_protocol: u64,
    unwanted: u64,
    own: u64,
    early: u64,
    empty: u64,
    udp: u64,
    both_ways: u64,
    /// Directions whose size is that of whole packets, and whether headers were subtracted.
    without_packets: u64,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl FlowLog {
    /// A log of which no record was read.
    pub fn new(ends: Ends) -> FlowLog {
        FlowLog { ends, ..FlowLog::default() }
    }

    /// The flows of a record, of which there may be two.
    ///
    /// # Errors
    /// An address is not in the file of addresses.
    pub fn flows(&mut self, record: &LogRecord) -> Result<[Option<LoggedFlow>; 2], String> {
        if record.protocol.is_some_and(|protocol| protocol != TCP && protocol != UDP) {
            self.counts.other_protocol += 1;
            return Ok([None; 2]);
        }
        if self.ends.epoch_ps.is_some_and(|epoch| record.start_ps < epoch) {
            self.counts.early += 1;
            return Ok([None; 2]);
        }
        let back = record.back.and_then(|back| self.payload(back));
        let there = self.payload(record.there);
        if there.is_none() && back.is_none() {
            self.counts.empty += 1;
            return Ok([None; 2]);
        }
        let Some((src, dst)) = self.ends_of(record)? else { return Ok([None; 2]) };
        let start_ps = record.start_ps;
        self.earliest = Some(self.earliest.map_or(start_ps, |earliest| earliest.min(start_ps)));
        self.counts.udp += u64::from(record.protocol == Some(UDP));
        self.counts.both_ways += u64::from(there.is_some() && back.is_some());
        let flow = |src, dst, bytes| LoggedFlow { src, dst, bytes, start_ps };
        Ok([there.map(|bytes| flow(src, dst, bytes)), back.map(|bytes| flow(dst, src, bytes))])
    }

    /// The bytes to send, if there are any.
    fn payload(&mut self, sent: Sent) -> Option<u64> {
        if sent.packets.is_none() && sent.bytes > 0 {
            self.counts.without_packets += 1;
        }
        let headers = sent.packets.unwrap_or(0).saturating_mul(self.ends.headers);
        Some(sent.bytes.saturating_sub(headers)).filter(|bytes| *bytes > 0)
    }

    fn ends_of(&mut self, record: &LogRecord) -> Result<Option<(u32, u32)>, String> {
        let ends = match &self.ends.addresses {
            Some(map) => map.host(record.src)?.zip(map.host(record.dst)?),
            None => Some((self.number(record.src)?, self.number(record.dst)?)),
        };
        match ends {
            None => self.counts.unwanted += 1,
            Some((src, dst)) if src == dst => self.counts.own += 1,
            ends => return Ok(ends),
        }
        Ok(None)
    }

    fn number(&mut self, address: IpAddr) -> Result<u32, String> {
        /// More hosts than any network here has.
        const MOST: usize = 1 << 20;
        if let Some(host) = self.hosts.get(&address) {
            return Ok(*host);
        }
        if self.hosts.len() == MOST {
            return Err(format!(
                "more than {MOST} addresses: give a file of addresses with prefixes"
            ));
        }
        let next = self.hosts.len() as u32;
        self.hosts.insert(address, next);
        self.first = self.first.or(Some(address));
        self.last = Some(address);
        Ok(next)
    }

    /// Time zero, in picoseconds since 1970.
    pub fn epoch_ps(&self) -> i128 {
        self.ends.epoch_ps.or(self.earliest).unwrap_or(0)
    }

    /// Notes about the log, which the user should know.
    pub fn notes(&self, unread: &Unread) -> Vec<String> {
        let mut notes = self.left_out(unread);
        let Counts { udp, both_ways, without_packets, .. } = self.counts;
        let counted = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        notes.extend(counted(udp, "flows were UDP: they are sent by the scheme's transport"));
        notes.extend(counted(
            both_ways,
            "records have data in both directions: both flows start when the record does",
        ));
        if self.ends.headers > 0 {
            let text = "flows have no number of packets: no headers are subtracted from their size";
            notes.extend(counted(without_packets, text));
        }
        if unread.sampled > 1 {
            notes.push(format!(
                "the exporter sampled 1 of {} packets: sizes are those of the samples",
                unread.sampled
            ));
        }
        if let (Some(first), Some(last)) = (self.first, self.last) {
            let count = self.hosts.len();
            notes.push(format!(
                "{count} hosts, numbered as they appear: host 0 is {first}, host {} is {last}",
                count - 1
            ));
        }
        notes
    }

    fn left_out(&self, unread: &Unread) -> Vec<String> {
        let Counts { other_protocol, unwanted, own, early, empty, .. } = self.counts;
        let left = [
            (other_protocol, "records are left out: neither TCP nor UDP"),
            (unwanted, "records are left out: to or from addresses left out"),
            (own, "records are left out: from a host to itself"),
            (early, "records are left out: they begin before the epoch"),
            (empty, "records are left out: without data"),
            (unread.incomplete, "records are left out: without an address, a size or a start"),
            (unread.without_template, "sets are left out: their template did not come before them"),
            (unread.other_packets, "packets are left out: no messages of NetFlow 5, 9 or IPFIX"),
        ];
        let note = |(count, why): &(u64, &str)| format!("{count} {why}");
        left.iter().filter(|(count, _)| *count > 0).map(note).collect()
    }
}
