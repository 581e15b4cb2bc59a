//! Messages put into a buffer of the caller.

use super::siphash;
use super::{CODE, GRANT, Grant, HEADER, Header, Key, LONGEST, RECORD, TOTAL, Total, VERSION};

/// Writes one message: a header, records, and the code at the end. What does not fit any more is not
/// written, and the caller is told.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Where the open record's count is, which its entries raise.
    open: usize,
    count: u16,
}

impl<'a> Writer<'a> {
    /// Begins a message in `out`, in the place of what is there.
    pub fn new(out: &'a mut Vec<u8>, header: &Header) -> Writer<'a> {
        out.clear();
        out.reserve(LONGEST);
        let mut start = [0; HEADER];
        start[0] = VERSION;
        start[4..8].copy_from_slice(&header.source.to_be_bytes());
        start[8..12].copy_from_slice(&header.destination.to_be_bytes());
        let Header { from, to, number, acks, .. } = *header;
        let words = [from, to, number, acks.highest, acks.before];
        for (at, word) in start[12..].as_chunks_mut().0.iter_mut().zip(words) {
            *at = word.to_be_bytes();
        }
        out.extend_from_slice(&start);
        Writer { out, open: 0, count: 0 }
    }
    /// Bytes that are left for records.
    pub fn room(&self) -> usize {
        (LONGEST - CODE).saturating_sub(self.out.len())
    }
    /// Whether there is no record yet.
    pub fn is_empty(&self) -> bool {
        self.out.len() == HEADER
    }
    /// A record for a message of its own: begin again.
    pub fn reset(&mut self) {
        self.begin(1, &[], 0);
    }
    /// A record that asks for an answer. False: no room.
    pub fn alive(&mut self) -> bool {
        self.begin(5, &[], 0)
    }
    /// Begins a record of demand. False: no room for it and one entry.
    pub fn demand(&mut self) -> bool {
        self.begin(2, &[], TOTAL)
    }
    /// Begins a record of grants. False: no room for it and one entry.
    pub fn grants(&mut self, base: u64) -> bool {
        self.begin(3, &base.to_be_bytes(), GRANT)
    }
    /// Begins a report. False: no room for it and one entry.
    pub fn report(&mut self) -> bool {
        self.begin(4, &[], TOTAL)
    }
    /// An entry of the demand or report begun last. False: no room.
    pub fn total(&mut self, total: Total) -> bool {
        self.entry(&total.bytes())
    }
    /// An entry of the grants begun last. False: no room.
    pub fn grant(&mut self, grant: Grant) -> bool {
        self.entry(&grant.bytes())
    }
    fn begin(&mut self, kind: u8, more: &[u8], entry: usize) -> bool {
        if self.room() < RECORD + more.len() + entry {
            return false;
        }
        self.close();
        self.open = self.out.len() + 2;
        self.out.extend_from_slice(&[kind, 0, 0, 0]);
        self.out.extend_from_slice(more);
        true
    }
    fn entry(&mut self, bytes: &[u8]) -> bool {
        let fits = self.room() >= bytes.len();
        if fits {
            self.out.extend_from_slice(bytes);
            self.count += 1;
        }
        fits
    }
    fn close(&mut self) {
        if self.count > 0 {
            self.out[self.open..][..2].copy_from_slice(&self.count.to_be_bytes());
            self.count = 0;
        }
    }
    /// Ends the message with its code under `key`.
    pub fn finish(mut self, key: &Key) {
        self.close();
        let length = (self.out.len() + CODE) as u16;
        self.out[2..4].copy_from_slice(&length.to_be_bytes());
        let code = siphash(key, self.out);
        self.out.extend_from_slice(&code.to_be_bytes());
    }
}
