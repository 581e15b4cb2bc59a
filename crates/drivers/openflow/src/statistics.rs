//! What switches count and have: entries and ports (section 7.3.5).

use crate::action::{Instruction, decode_instructions};
use crate::matching::{self, Field};
use crate::reader::{DecodeError, Reader, Write, set_length};
use crate::{ALL_TABLES, ANY_GROUP, ANY_PORT};

/// Which entries are meant (`ofp_flow_stats_request`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowFilter {
    /// The table, or [`ALL_TABLES`].
    pub table: u8,
    /// The value of the cookie, in the bits of the mask.
    pub cookie: u64,
    /// The bits of the cookie that count.
    pub cookie_mask: u64,
    /// What entries must match at least.
    pub fields: Vec<Field>,
}

impl FlowFilter {
    /// The entries whose cookies have the value `cookie` in the bits of `mask`; all with a mask of 0.
    pub fn cookie(cookie: u64, mask: u64) -> FlowFilter {
        FlowFilter { table: ALL_TABLES, cookie, cookie_mask: mask, fields: Vec::new() }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.u8(self.table);
        out.zeros(3);
        out.u32(ANY_PORT);
        out.u32(ANY_GROUP);
        out.zeros(4);
        out.u64(self.cookie);
        out.u64(self.cookie_mask);
        matching::encode(&self.fields, out);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<FlowFilter, DecodeError> {
        let table = reader.u8()?;
        reader.skip(15)?;
        let (cookie, cookie_mask) = (reader.u64()?, reader.u64()?);
        Ok(FlowFilter { table, cookie, cookie_mask, fields: matching::decode(reader)? })
    }
}

/// The state of an entry (`ofp_flow_stats`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowStats {
    /// Its table.
    pub table: u8,
    /// How long it has been there, in nanoseconds.
    pub age_ns: u64,
    /// Its priority.
    pub priority: u16,
    /// Seconds without a packet after which it is removed; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which it is removed; 0 for never.
    pub hard_timeout: u16,
    /// `OFPFF_…`.
    pub flags: u16,
    /// The number that the controller gave it.
    pub cookie: u64,
    /// Packets that it matched.
    pub packets: u64,
    /// Bytes of these packets, from the beginning of Ethernet's header on.
    pub bytes: u64,
    /// What it matches.
    pub fields: Vec<Field>,
    /// What it does.
    pub instructions: Vec<Instruction>,
}

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

impl FlowStats {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(0);
        out.u8(self.table);
        out.zeros(1);
        out.u32((self.age_ns / SECOND) as u32);
        out.u32((self.age_ns % SECOND) as u32);
        out.u16(self.priority);
        out.u16(self.idle_timeout);
        out.u16(self.hard_timeout);
        out.u16(self.flags);
        out.zeros(4);
        out.u64(self.cookie);
        out.u64(self.packets);
        out.u64(self.bytes);
        matching::encode(&self.fields, out);
        self.instructions.iter().for_each(|instruction| instruction.encode(out));
        set_length(out, start, start);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<FlowStats, DecodeError> {
        let length = reader.u16()?;
        let mut entry = reader.rest_of("ofp_flow_stats", length, 2, 56)?;
        let table = entry.u8()?;
        entry.skip(1)?;
        let age_ns = age(&mut entry)?;
        let [priority, idle_timeout] = [entry.u16()?, entry.u16()?];
        let [hard_timeout, flags] = [entry.u16()?, entry.u16()?];
        entry.skip(4)?;
        let [cookie, packets, bytes] = [entry.u64()?, entry.u64()?, entry.u64()?];
        let fields = matching::decode(&mut entry)?;
        let instructions = decode_instructions(&mut entry)?;
        Ok(FlowStats {
            table,
            age_ns,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie,
            packets,
            bytes,
            fields,
            instructions,
        })
    }
}

/// Seconds and nanoseconds. Both have 32 bits, so the sum fits.
fn age(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    Ok(u64::from(reader.u32()?) * SECOND + u64::from(reader.u32()?))
}

/// The counts of a port (`ofp_port_stats`). A count that the switch does not have is 2⁶⁴ − 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    /// The port.
    pub port: u32,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Received packets that were dropped.
    pub rx_dropped: u64,
    /// Packets that were dropped instead of sent.
    pub tx_dropped: u64,
    /// Errors: receiving, sending, frames, overruns, checksums, collisions.
    pub errors: [u64; 6],
    /// How long the port has been there, in nanoseconds.
    pub age_ns: u64,
}

impl PortStats {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.u32(self.port);
        out.zeros(4);
        for count in [self.rx_packets, self.tx_packets, self.rx_bytes, self.tx_bytes] {
            out.u64(count);
        }
        out.u64(self.rx_dropped);
        out.u64(self.tx_dropped);
        self.errors.iter().for_each(|count| out.u64(*count));
        out.u32((self.age_ns / SECOND) as u32);
        out.u32((self.age_ns % SECOND) as u32);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<PortStats, DecodeError> {
        let mut entry = reader.part("ofp_port_stats", 112)?;
        let port = entry.u32()?;
        entry.skip(4)?;
        let mut counts = [0; 12];
        for count in &mut counts {
            *count = entry.u64()?;
        }
        let [rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped, errors @ ..] =
            counts;
        let age_ns = age(&mut entry)?;
        Ok(PortStats {
            port,
            rx_packets,
            tx_packets,
            rx_bytes,
            tx_bytes,
            rx_dropped,
            tx_dropped,
            errors,
            age_ns,
        })
    }
}

/// A port (`ofp_port`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Its number.
    pub port: u32,
    /// Its address.
    pub address: [u8; 6],
    /// Its name: at most 15 bytes.
    pub name: String,
    /// `OFPPC_…`.
    pub config: u32,
    /// `OFPPS_…`.
    pub state: u32,
    /// Features and speeds: current, advertised, supported and of the far end; the current and the highest in kbit/s.
    pub speeds: [u32; 6],
}

impl Port {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.u32(self.port);
        out.zeros(4);
        out.extend(self.address);
        out.zeros(2);
        let end = out.len() + 16;
        out.extend(self.name.bytes().take(15));
        out.resize(end, 0);
        out.u32(self.config);
        out.u32(self.state);
        self.speeds.iter().for_each(|speed| out.u32(*speed));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Port, DecodeError> {
        let mut entry = reader.part("ofp_port", 64)?;
        let port = entry.u32()?;
        entry.skip(4)?;
        let mut address = [0; 6];
        address.copy_from_slice(entry.take(6)?);
        entry.skip(2)?;
        let name = entry.take(16)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..end]).into_owned();
        let (config, state) = (entry.u32()?, entry.u32()?);
        let mut speeds = [0; 6];
        for speed in &mut speeds {
            *speed = entry.u32()?;
        }
        Ok(Port { port, address, name, config, state, speeds })
    }
}
