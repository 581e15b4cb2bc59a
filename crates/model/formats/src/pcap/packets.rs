//! The packets of a capture, one by one.

use super::packet::{Content, content};
use super::{Captured, Reader, blocks, classic};
use crate::FormatError;
use core::net::IpAddr;

/// A packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedFrame<'a> {
    /// Picoseconds since 1970.
    pub time_ps: i128,
    /// Its link type, by the registry of tcpdump.org; 1 is Ethernet.
    pub link: u16,
    /// Its length on the wire, as the capture says.
    pub length: u32,
    /// Its captured bytes.
    pub data: &'a [u8],
}

/// Reads a capture that comes in pieces, packet by packet.
#[derive(Default)]
pub struct Packets {
    reader: Reader,
    /// Bytes that are not a whole record yet.
    rest: Vec<u8>,
}

impl Packets {
    /// Reads the next bytes, and calls `each` for every packet. Errors name the record: a packet of a pcap, a block of a
    /// pcapng, from 1.
    ///
    /// # Errors
    /// The capture is not understood, or `each` ends the reading.
    pub fn push(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&CapturedFrame<'_>) -> Result<(), String>,
    ) -> Result<(), FormatError> {
        self.records(bytes, &mut |packet| each(&frame(packet)))
    }

    /// As [`Packets::push`].
    pub(super) fn records(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&Captured<'_>) -> Result<(), String>,
    ) -> Result<(), FormatError> {
        self.rest.extend_from_slice(bytes);
        let rest = std::mem::take(&mut self.rest);
        let mut from = 0;
        let done = loop {
            match self.reader.record(&rest[from..], each) {
                Ok(Some(length)) => from += length,
                Ok(None) => break Ok(()),
                Err(why) => break Err(FormatError::new(self.reader.records.max(1), why)),
            }
        };
        self.rest = rest[from..].to_vec();
        done
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// It ends within a record.
    pub fn finish(self) -> Result<(), FormatError> {
        self.reader.end(self.rest.len())
    }
}

fn frame<'a>(packet: &Captured<'a>) -> CapturedFrame<'a> {
    let Captured { time_ps, link, length, data } = *packet;
    CapturedFrame { time_ps, link, length, data }
}

/// Whether a file that starts so is a capture.
pub fn is_capture(start: [u8; 4]) -> bool {
    start == blocks::MAGIC || classic::order(start).is_ok()
}

/// A UDP datagram that was captured as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// Its sender.
    pub src: IpAddr,
    /// Its content.
    pub payload: &'a [u8],
}

/// The UDP datagram in a packet, if there is one and if all of it was captured.
///
/// # Errors
/// The link type is not supported.
pub fn datagram<'a>(packet: &CapturedFrame<'a>) -> Result<Option<Datagram<'a>>, String> {
    let Content::Segment(segment) = content(packet.link, packet.length, packet.data)? else {
        return Ok(None);
    };
    let payload = packet.data.len().checked_sub(segment.captured);
    let payload = payload.and_then(|at| packet.data.get(at..)?.get(..segment.payload as usize));
    let src = segment.key.src;
    Ok(payload.filter(|_| segment.key.udp).map(|payload| Datagram { src, payload }))
}

/// Calls `each` for every packet of a whole capture, pcap or pcapng. Errors name the record, from 1;
/// `each` may end the reading with an error of its own.
pub fn for_each_packet(
    file: &[u8],
    mut each: impl FnMut(&CapturedFrame<'_>) -> Result<(), String>,
) -> Result<(), FormatError> {
    let mut reader = Reader::default();
    let mut from = 0;
    loop {
        let read = reader.record(&file[from..], &mut |packet| each(&frame(packet)));
        match read {
            Ok(Some(length)) => from += length,
            Ok(None) => return reader.end(file.len() - from),
            Err(why) => return Err(FormatError::new(reader.records.max(1), why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng_writer::{Interface, PcapngWriter};

    #[test]
    fn packets_come_back_as_they_were_written() {
        let port = [Interface { name: "a".into(), rate_bps: 1_000_000_000 }];
        let mut writer = PcapngWriter::new(Vec::new(), &port, 64).unwrap();
        for n in 0..5u8 {
            writer.packet(0, 1_000 * u64::from(n), &[n; 80], 80 + u32::from(n)).unwrap();
        }
        let file = writer.finish().unwrap();
        let mut seen = Vec::new();
        for_each_packet(&file, |packet| {
            seen.push((packet.time_ps, packet.link, packet.length, packet.data.to_vec()));
            Ok(())
        })
        .unwrap();
        let want: Vec<_> = (0..5u8)
            .map(|n| (1_000_000 * i128::from(n), 1, 80 + u32::from(n), vec![n; 64]))
            .collect();
        assert_eq!(seen, want);
        let cut = for_each_packet(&file[..file.len() - 3], |_| Ok(()));
        assert!(cut.unwrap_err().to_string().contains("ends within"));
        let own = for_each_packet(&file, |_| Err("enough".into()));
        assert!(own.unwrap_err().to_string().contains("enough"));
    }
}
