//! The newer format, pcapng: sections of blocks, each with its own byte order and interfaces.

use super::{Captured, LARGEST, Order};

/// The first bytes of every file: the type of a section header.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;

/// Option codes of an interface.
const END_OF_OPTIONS: u16 = 0;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;

/// An interface at which packets of a section were captured.
#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    /// Units of time in a second.
    resolution: u64,
    /// Seconds to add to each time.
    offset: i64,
}

/// The section being read.
pub(super) struct Blocks {
    order: Order,
    interfaces: Vec<Interface>,
    first: bool,
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks { order: Order::Little, interfaces: Vec::new(), first: true }
    }
}

type Block<'a> = Option<(usize, Option<Captured<'a>>)>;

impl Blocks {
    /// Reads the block at the beginning of `bytes`. Returns its length and the packet in it.
    pub fn block<'a>(&mut self, bytes: &'a [u8]) -> Result<Block<'a>, String> {
        if bytes.len() < 12 {
            return Ok(None);
        }
        if bytes.starts_with(&MAGIC) {
            self.section(bytes)?;
        } else if self.first {
            return Err("expected a section header".into());
        }
        let kind = self.order.u32(bytes, 0).unwrap_or_default();
        let length = self.order.u32(bytes, 4).unwrap_or_default() as usize;
        if length < 12 || !length.is_multiple_of(4) || length > LARGEST {
            return Err(format!("a block of {length} bytes: the file is damaged"));
        }
        let Some(block) = bytes.get(..length) else { return Ok(None) };
        if self.order.u32(block, length - 4) != Some(length as u32) {
            return Err(format!("the block's length, {length}, is not repeated at its end"));
        }
        let body = &block[8..length - 4];
        let packet = match kind {
            INTERFACE => self.interface(body).map(|()| None),
            PACKET => self.packet(body, self.order.u32(body, 0)).map(Some),
            OLD_PACKET => self.packet(body, self.order.u16(body, 0).map(u32::from)).map(Some),
            SIMPLE_PACKET => Err("a simple packet block: its packet has no time".into()),
            // The section header has been read. Other blocks, such as names, statistics and secrets, say
            // nothing about traffic.
            _ => Ok(None),
        };
        packet.map(|packet| Some((length, packet)))
    }

    fn section(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.order = match bytes.get(8..12) {
            Some([0x4d, 0x3c, 0x2b, 0x1a]) => Order::Little,
            Some([0x1a, 0x2b, 0x3c, 0x4d]) => Order::Big,
            _ => return Err("a section header without its byte-order magic".into()),
        };
        if let Some(major) = self.order.u16(bytes, 12).filter(|major| *major != 1) {
            return Err(format!("pcapng version {major}: expected 1"));
        }
        self.first = false;
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), String> {
        let link = self.order.u16(body, 0).filter(|_| body.len() >= 8);
        let link = link.ok_or("an interface block that is too short")?;
        let mut interface = Interface { link, resolution: 1_000_000, offset: 0 };
        let mut options = body.get(8..).unwrap_or_default();
        while let (Some(code), Some(length)) =
            (self.order.u16(options, 0), self.order.u16(options, 2))
        {
            let value = options.get(4..4 + usize::from(length));
            let value = value.ok_or("an option that is longer than its block")?;
            match (code, value) {
                (END_OF_OPTIONS, _) => break,
                (RESOLUTION, [exponent]) => interface.resolution = resolution(*exponent)?,
                (OFFSET, value) => interface.offset = self.offset(value)?,
                _ => {}
            }
            let padded = usize::from(length).next_multiple_of(4);
            options = options.get(4 + padded..).unwrap_or_default();
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn offset(&self, value: &[u8]) -> Result<i64, String> {
        let (Some(first), Some(second)) = (self.order.u32(value, 0), self.order.u32(value, 4))
        else {
            return Err("a time offset that is not 8 bytes".into());
        };
        let (high, low) = if self.order == Order::Big { (first, second) } else { (second, first) };
        Ok((u64::from(high) << 32 | u64::from(low)) as i64)
    }

    /// The packet in an enhanced packet block, or in the older packet block, which has the same layout except
    /// for a shorter interface number.
    fn packet<'a>(&self, body: &'a [u8], interface: Option<u32>) -> Result<Captured<'a>, String> {
        let word = |at| self.order.u32(body, at).ok_or("a packet block that is too short");
        let number = interface.ok_or("a packet block that is too short")?;
        let (high, low, captured, length) = (word(4)?, word(8)?, word(12)?, word(16)?);
        let interface = self.interfaces.get(number as usize);
        let interface = interface
            .ok_or_else(|| format!("a packet of interface {number}, which is not described"))?;
        let data = body.get(20..20 + captured as usize);
        let data =
            data.ok_or_else(|| format!("a packet of {captured} bytes in a shorter block"))?;
        let ticks = u64::from(high) << 32 | u64::from(low);
        let time_ps = i128::from(interface.offset) * 1_000_000_000_000
            + i128::from(ticks) * 1_000_000_000_000 / i128::from(interface.resolution);
        Ok(Captured { time_ps, link: interface.link, length, data })
    }
}

/// The units in a second: a power of two if the highest bit is set, otherwise of ten. The other bits are the
/// exponent.
fn resolution(exponent: u8) -> Result<u64, String> {
    let base: u64 = if exponent & 0x80 == 0 { 10 } else { 2 };
    let units = base.checked_pow(u32::from(exponent & 0x7f));
    units.ok_or_else(|| {
        format!("a resolution of time of {base} to the power of minus {}", exponent & 0x7f)
    })
}
