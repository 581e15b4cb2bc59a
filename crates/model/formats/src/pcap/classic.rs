//! The classic format: a header, then packets.

use super::{Captured, LARGEST, Order};

/// Length of the file's header.
pub(super) const HEADER: usize = 24;
/// Length of a packet's header.
const RECORD: usize = 16;

/// A pcap file whose header has been read.
pub(super) struct Classic {
    order: Order,
    /// The unit in which fractions of a second are given, in picoseconds.
    unit: u32,
    link: u16,
}

/// The byte order and the unit of time of a file that begins with `magic`.
pub(super) fn order(magic: [u8; 4]) -> Result<(Order, u32), String> {
    match magic {
        [0xd4, 0xc3, 0xb2, 0xa1] => Ok((Order::Little, 1_000_000)),
        [0xa1, 0xb2, 0xc3, 0xd4] => Ok((Order::Big, 1_000_000)),
        [0x4d, 0x3c, 0xb2, 0xa1] => Ok((Order::Little, 1_000)),
        [0xa1, 0xb2, 0x3c, 0x4d] => Ok((Order::Big, 1_000)),
        _ => Err(format!(
            "neither pcap nor pcapng: the file begins with the bytes {:02x} {:02x} {:02x} {:02x}",
            magic[0], magic[1], magic[2], magic[3]
        )),
    }
}

impl Classic {
    pub fn new(header: &[u8; HEADER]) -> Result<Classic, String> {
        let (order, unit) = order([header[0], header[1], header[2], header[3]])?;
        let major = order.u16(header, 4).unwrap_or_default();
        if major != 2 {
            return Err(format!("pcap version {major}: expected 2"));
        }
        // The upper bits say how long frame check sequences are; see FCS in the draft.
        let link = order.u16(header, if order == Order::Little { 20 } else { 22 });
        Ok(Classic { order, unit, link: link.unwrap_or_default() })
    }

    /// Reads the packet at the beginning of `bytes`. Returns its length in the file and the packet.
    pub fn packet<'a>(
        &self,
        bytes: &'a [u8],
    ) -> Result<Option<(usize, Option<Captured<'a>>)>, String> {
        let word = |at| self.order.u32(bytes, at);
        let (Some(seconds), Some(fraction), Some(captured), Some(length)) =
            (word(0), word(4), word(8), word(12))
        else {
            return Ok(None);
        };
        let size = RECORD + captured as usize;
        if size > LARGEST {
            return Err(format!("a packet of {captured} bytes: the file is damaged"));
        }
        if u64::from(fraction) * u64::from(self.unit) >= 1_000_000_000_000 {
            return Err(format!("a time of {fraction} parts of a second: the file is damaged"));
        }
        let Some(data) = bytes.get(RECORD..size) else { return Ok(None) };
        let time_ps =
            i128::from(seconds) * 1_000_000_000_000 + i128::from(fraction) * i128::from(self.unit);
        Ok(Some((size, Some(Captured { time_ps, link: self.link, length, data }))))
    }
}
