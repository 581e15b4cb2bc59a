//! Capture files in pcapng (draft-ietf-opsawg-pcapng), little-endian, with time stamps in nanoseconds.

use std::io::{self, Write};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;

/// `if_tsresol`: units of 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
/// `epb_flags`: direction outbound.
const OUTBOUND: u32 = 2;

/// One captured port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Bits per second of its link.
    pub rate_bps: u64,
}

/// Totals of a captured port, for the end of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// When the capture ended, in nanoseconds.
    pub end_ns: u64,
    /// Packets that passed the port.
    pub passed: u64,
    /// The number of these packets that are not in the file.
    pub omitted: u64,
}

/// The two lengths of a frame in a capture, in bytes.
struct Lengths {
    /// Bytes of the frame that the file contains.
    captured: u32,
    /// Bytes of the frame on the wire, without its checksum.
    original: u32,
}

/// Writes one section of Ethernet frames.
pub struct PcapngWriter<W> {
    out: W,
    snap: u32,
    body: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file with these interfaces. Packets refer to them by position. At most `snap` bytes of each frame
    /// are written.
    pub fn new(out: W, interfaces: &[Interface], snap: u32) -> io::Result<PcapngWriter<W>> {
        let mut writer = PcapngWriter { out, snap, body: Vec::new() };
        writer.section()?;
        interfaces.iter().try_for_each(|interface| writer.interface(interface))?;
        Ok(writer)
    }

    fn section(&mut self) -> io::Result<()> {
        self.body.extend(0x1a2b_3c4d_u32.to_le_bytes());
        self.body.extend([1, 0, 0, 0]);
        // The length of the section is not given.
        self.body.extend(u64::MAX.to_le_bytes());
        self.option(4, b"slotline");
        self.end_of_options();
        self.block(SECTION)
    }

    fn interface(&mut self, interface: &Interface) -> io::Result<()> {
        // Link type Ethernet, reserved.
        self.body.extend([1, 0, 0, 0]);
        self.body.extend(self.snap.to_le_bytes());
        self.option(2, interface.name.as_bytes());
        self.option(8, &interface.rate_bps.to_le_bytes());
        self.option(9, &[NANOSECONDS]);
        self.end_of_options();
        self.block(INTERFACE)
    }

    /// Adds a frame that began to leave at `t_ns` and is `length` bytes long without its checksum. Bytes beyond
    /// `bytes` are zero.
    pub fn packet(
        &mut self,
        interface: u32,
        t_ns: u64,
        bytes: &[u8],
        length: u32,
    ) -> io::Result<()> {
        let lengths = Lengths { captured: length.min(self.snap), original: length };
        self.record(interface, t_ns, bytes, lengths, "")
    }

    /// Adds a frame of which only `bytes` are known. An empty comment is left out.
    pub fn cut_packet(
        &mut self,
        interface: u32,
        t_ns: u64,
        bytes: &[u8],
        length: u32,
        comment: &str,
    ) -> io::Result<()> {
        let captured = self.snap.min(bytes.len().try_into().unwrap_or(u32::MAX));
        let lengths = Lengths { captured, original: length };
        self.record(interface, t_ns, bytes, lengths, comment)
    }

    fn record(
        &mut self,
        interface: u32,
        t_ns: u64,
        bytes: &[u8],
        lengths: Lengths,
        comment: &str,
    ) -> io::Result<()> {
        self.body.extend(interface.to_le_bytes());
        self.body.extend(((t_ns >> 32) as u32).to_le_bytes());
        self.body.extend((t_ns as u32).to_le_bytes());
        let Lengths { captured, original } = lengths;
        self.body.extend(captured.to_le_bytes());
        self.body.extend(original.to_le_bytes());
        let given = bytes.len().min(captured as usize);
        self.body.extend(&bytes[..given]);
        self.body.resize(self.body.len() + captured as usize - given, 0);
        self.pad();
        if !comment.is_empty() {
            self.option(1, comment.as_bytes());
        }
        self.option(2, &OUTBOUND.to_le_bytes());
        self.end_of_options();
        self.block(PACKET)
    }

    /// Adds the totals of an interface.
    pub fn statistics(&mut self, interface: u32, totals: Totals) -> io::Result<()> {
        self.body.extend(interface.to_le_bytes());
        let end = [(totals.end_ns >> 32) as u32, totals.end_ns as u32].map(u32::to_le_bytes);
        self.body.extend(end.as_flattened());
        self.option(3, end.as_flattened());
        self.option(4, &totals.passed.to_le_bytes());
        self.option(5, &totals.omitted.to_le_bytes());
        self.end_of_options();
        self.block(STATISTICS)
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = value.len().min(usize::from(u16::MAX));
        self.body.extend(code.to_le_bytes());
        self.body.extend((length as u16).to_le_bytes());
        self.body.extend(&value[..length]);
        self.pad();
    }

    fn end_of_options(&mut self) {
        self.body.extend([0; 4]);
    }

    /// Pads the body to a multiple of four bytes.
    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    /// Writes the body as a block, with its type and length.
    fn block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&length)?;
        self.body.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type and body of each block.
    fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
        let mut found = Vec::new();
        while !file.is_empty() {
            let length = word(file, 4) as usize;
            assert_eq!((length % 4, word(file, length - 4) as usize), (0, length));
            found.push((word(file, 0), &file[8..length - 4]));
            file = &file[length..];
        }
        found
    }

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }

    #[test]
    fn blocks_are_as_the_format_has_them() {
        let ports = ["s0-h0", "s0-h11"]
            .map(|name| Interface { name: name.into(), rate_bps: 10_000_000_000 });
        let mut writer = PcapngWriter::new(Vec::new(), &ports, 64).unwrap();
        writer.packet(1, (7 << 32) + 5, &[1, 2, 3], 61).unwrap();
        writer.packet(0, 9, &[9; 100], 1_514).unwrap();
        let totals = Totals { end_ns: 77, passed: 3, omitted: 1 };
        writer.statistics(0, totals).unwrap();
        let file = writer.finish().unwrap();
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, INTERFACE, PACKET, PACKET, STATISTICS]);
        let padded = blocks[3].1;
        assert_eq!([0, 4, 8, 12, 16].map(|at| word(padded, at)), [1, 7, 5, 61, 61]);
        assert_eq!(padded[20..24], [1, 2, 3, 0]);
        let snapped = blocks[4].1;
        assert_eq!([12, 16].map(|at| word(snapped, at)), [64, 1_514]);
        assert_eq!(snapped.len(), 20 + 64 + 8 + 4);
        assert_eq!(word(blocks[5].1, 8), 77);
    }
}
