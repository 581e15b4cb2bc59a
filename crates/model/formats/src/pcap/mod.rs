//! Captures of packets, pcap and pcapng, as traffic: who sent how much to whom, and when.
//!
//! A capture is pushed in pieces of any size; only one record per flow stays in memory. Formats:
//! draft-ietf-opsawg-pcap (pcap) and draft-ietf-opsawg-pcapng.

mod addresses;
mod blocks;
mod classic;
mod flows;
mod packet;
mod packets;

pub use addresses::AddressMap;
pub use flows::{CapturedFlow, Extract, Left};
pub use packets::{CapturedFrame, Datagram, Packets, datagram, for_each_packet, is_capture};

use crate::FormatError;
use blocks::Blocks;
use classic::Classic;
use flows::FlowTable;

/// The options for reading a capture.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A longer silence, in picoseconds, ends a flow. With `None`, only a new connection does.
    pub idle_gap_ps: Option<u64>,
    /// The addresses of hosts. With `None`, hosts are numbered as they appear.
    pub addresses: Option<AddressMap>,
}

/// A packet as a capture has it.
struct Captured<'a> {
    /// Picoseconds since 1970.
    time_ps: i128,
    link: u16,
    /// Length on the wire.
    length: u32,
    /// Its captured bytes.
    data: &'a [u8],
}

/// The format of the file.
#[derive(Default)]
enum Format {
    #[default]
    Unknown,
    Classic(Classic),
    Blocks(Blocks),
}

/// Reads the records of a capture.
#[derive(Default)]
struct Reader {
    format: Format,
    /// Records read.
    records: usize,
}

/// Reads a capture.
pub struct Capture {
    packets: Packets,
    flows: FlowTable,
}

/// If a record or packet is larger than this, the file is damaged. Captures have at most 256 KiB of a packet.
const LARGEST: usize = 16 << 20;

impl Capture {
    /// A capture of which nothing has been read.
    pub fn new(options: Options) -> Capture {
        Capture { packets: Packets::default(), flows: FlowTable::new(options) }
    }

    /// Reads the next bytes. Errors name the record: a packet of a pcap, a block of a pcapng, from 1.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), FormatError> {
        let Capture { packets, flows } = self;
        packets.records(bytes, &mut |packet| flows.packet(packet))
    }

    /// The flows of the whole capture, in order of their start.
    pub fn finish(self) -> Result<Extract, FormatError> {
        self.packets.finish()?;
        Ok(self.flows.finish())
    }
}

impl Reader {
    /// Reads one record and the packet in it. Returns its length in bytes, or `None` if it is not complete yet.
    fn record(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&Captured<'_>) -> Result<(), String>,
    ) -> Result<Option<usize>, String> {
        if let Format::Unknown = self.format {
            return self.begin(bytes);
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        self.records += 1;
        let read = match &mut self.format {
            Format::Unknown => None,
            Format::Classic(classic) => classic.packet(bytes)?,
            Format::Blocks(blocks) => blocks.block(bytes)?,
        };
        let Some((length, packet)) = read else {
            self.records -= 1;
            return Ok(None);
        };
        if let Some(packet) = packet {
            if packet.length as usize > LARGEST {
                let length = packet.length;
                return Err(format!("a packet of {length} bytes on the wire: the file is damaged"));
            }
            each(&packet)?;
        }
        Ok(Some(length))
    }

    fn begin(&mut self, bytes: &[u8]) -> Result<Option<usize>, String> {
        let Some(magic) = bytes.first_chunk::<4>() else { return Ok(None) };
        if blocks::MAGIC == *magic {
            self.format = Format::Blocks(Blocks::default());
            return Ok(Some(0));
        }
        let Some(header) = bytes.first_chunk::<{ classic::HEADER }>() else {
            return classic::order(*magic).map(|_| None);
        };
        self.format = Format::Classic(Classic::new(header)?);
        Ok(Some(classic::HEADER))
    }

    /// Ends the file. `left` bytes do not belong to a whole record.
    fn end(&self, left: usize) -> Result<(), FormatError> {
        let wrong = |why: String| Err(FormatError::new(self.records + 1, why));
        if let Format::Unknown = self.format {
            return wrong("the file is empty or too short for a capture".into());
        }
        if left > 0 {
            return wrong(format!("the file ends within this record, after {left} bytes of it"));
        }
        Ok(())
    }
}

/// Whole numbers in the byte order of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u16::from_le_bytes(*bytes),
            Order::Big => u16::from_be_bytes(*bytes),
        })
    }
    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u32::from_le_bytes(*bytes),
            Order::Big => u32::from_be_bytes(*bytes),
        })
    }
}

#[cfg(test)]
mod tests;
