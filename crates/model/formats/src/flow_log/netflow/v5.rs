//! NetFlow 5: a header and up to 30 records of a fixed form.

use super::super::{EachRecord, LogRecord, Sent, Unread};
use super::fields::since_boot;
use super::messages::{be16, be32};
use core::net::{IpAddr, Ipv4Addr};

/// Bytes of the header and of a record.
pub(super) const HEADER: usize = 24;
pub(super) const RECORD: usize = 48;

/// Reads a whole message.
pub(super) fn message(
    bytes: &[u8],
    unread: &mut Unread,
    each: &mut EachRecord<'_>,
) -> Result<(), String> {
    let header = (be32(bytes, 4), be32(bytes, 8), be32(bytes, 12), be16(bytes, 22));
    let (Some(uptime), Some(seconds), Some(ns), Some(sampling)) = header else {
        return Err(format!("a message of {} bytes: its header has {HEADER}", bytes.len()));
    };
    unread.sampled = unread.sampled.max((sampling & 0x3fff).into());
    let now_ps = (i128::from(seconds) * 1_000_000_000 + i128::from(ns)) * 1_000;
    for record in bytes[HEADER..].chunks_exact(RECORD) {
        if let Some(record) = read(record, uptime, now_ps) {
            each(&record)?;
        }
    }
    Ok(())
}

fn read(record: &[u8], uptime: u32, now_ps: i128) -> Option<LogRecord> {
    let address = |at| be32(record, at).map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
    let (packets, bytes) = (be32(record, 16)?, be32(record, 20)?);
    Some(LogRecord {
        src: address(0)?,
        dst: address(4)?,
        protocol: record.get(38).copied(),
        start_ps: since_boot(now_ps, uptime, be32(record, 24)?),
        there: Sent { bytes: bytes.into(), packets: Some(packets.into()) },
        back: None,
    })
}
