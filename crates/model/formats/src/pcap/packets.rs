//! The packets of a capture, one by one.

use super::{Captured, Reader};
use crate::FormatError;

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

/// Calls `each` for every packet of a whole capture, pcap or pcapng. Errors name the record, from 1;
/// `each` may end the reading with an error of its own.
pub fn for_each_packet(
    file: &[u8],
    mut each: impl FnMut(&CapturedFrame<'_>) -> Result<(), String>,
) -> Result<(), FormatError> {
    let mut reader = Reader::default();
    let mut from = 0;
    loop {
        let read = reader.record(&file[from..], &mut |packet: &Captured<'_>| {
            let Captured { time_ps, link, length, data } = *packet;
            each(&CapturedFrame { time_ps, link, length, data })
        });
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
