//! A writer that puts messages into a buffer of the caller.

use super::siphash;
use super::{CODE, GRANT, Grant, HEADER, Header, Key, LONGEST, RECORD, TOTAL, Total, VERSION};

/// Writes one message: a header, records, and the code at the end. Entries that do not fit are not written, and
/// the caller is informed.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Where the message begins.
    start: usize,
    /// Bytes that the message may have.
    longest: usize,
    /// Where the count of the open record of totals is.
    open: usize,
    /// How many totals the open record has.
    count: u16,
}

impl<'a> Writer<'a> {
    /// Begins a message that replaces the content of `out`.
    pub fn new(out: &'a mut Vec<u8>, header: &Header) -> Writer<'a> {
        Writer::with_room(out, header, LONGEST)
    }
    /// Begins a message of at most `longest` bytes that replaces the content of `out`.
    pub fn with_room(out: &'a mut Vec<u8>, header: &Header, longest: usize) -> Writer<'a> {
        out.clear();
        Writer::behind(out, header, longest)
    }
    /// Begins a message of at most `longest` bytes at the end of `out`.
    pub(crate) fn behind(out: &'a mut Vec<u8>, header: &Header, longest: usize) -> Writer<'a> {
        out.reserve(longest);
        let mut fields = [0; HEADER];
        fields[0] = VERSION;
        fields[4..8].copy_from_slice(&header.source.to_be_bytes());
        fields[8..12].copy_from_slice(&header.destination.to_be_bytes());
        let Header { from, to, number, acks, .. } = *header;
        let words = [from, to, number, acks.highest, acks.before];
        for (at, word) in fields[12..].as_chunks_mut().0.iter_mut().zip(words) {
            *at = word.to_be_bytes();
        }
        let start = out.len();
        out.extend_from_slice(&fields);
        Writer { out, start, longest, open: 0, count: 0 }
    }
    /// Bytes written so far.
    fn len(&self) -> usize {
        self.out.len() - self.start
    }
    /// Bytes that are left for records.
    pub fn room(&self) -> usize {
        self.longest.saturating_sub(CODE + self.len())
    }
    /// Whether there is room for one more total in the record begun last.
    pub fn has_room(&self) -> bool {
        self.room() >= TOTAL
    }
    /// Whether there is no record yet.
    pub fn is_empty(&self) -> bool {
        self.len() == HEADER
    }
    /// Writes a reset, the only record of its message.
    pub fn reset(&mut self) {
        self.begin(1, 0);
    }
    /// Writes a record that asks for an answer. Returns false if there is no room.
    pub fn alive(&mut self) -> bool {
        self.begin(5, 0)
    }
    /// Begins a record of demand. Returns false if there is no room for it and one total.
    pub fn demand(&mut self) -> bool {
        self.begin(2, TOTAL)
    }
    /// Begins a report. Returns false if there is no room for it and one total.
    pub fn report(&mut self) -> bool {
        self.begin(4, TOTAL)
    }
    fn begin(&mut self, kind: u8, more: usize) -> bool {
        let fits = self.room() >= RECORD + more;
        if fits {
            self.close();
            self.open = self.out.len() + 2;
            self.out.extend_from_slice(&[kind, 0, 0, 0]);
        }
        fits
    }
    /// Writes an entry of the demand or report begun last. Returns false if there is no room.
    #[inline]
    pub fn total(&mut self, total: Total) -> bool {
        let fits = self.has_room();
        if fits {
            self.out.extend_from_slice(&total.bytes());
            self.count += 1;
        }
        fits
    }
    /// Writes a record of as many of these grants as there is room for. Returns their number.
    pub fn grants(&mut self, base: u64, grants: impl ExactSizeIterator<Item = Grant>) -> usize {
        let most = self.room().saturating_sub(RECORD + 8) / GRANT;
        let count = most.min(grants.len());
        if count > 0 {
            self.close();
            self.out.extend_from_slice(&[3, 0, (count >> 8) as u8, count as u8]);
            self.out.extend_from_slice(&base.to_be_bytes());
            let start = self.out.len();
            self.out.resize(start + count * GRANT, 0);
            for (place, grant) in self.out[start..].as_chunks_mut().0.iter_mut().zip(grants) {
                grant.put(place);
            }
        }
        count
    }
    fn close(&mut self) {
        if self.count > 0 {
            self.out[self.open..][..2].copy_from_slice(&self.count.to_be_bytes());
            self.count = 0;
        }
    }
    /// Ends the message with its code under `key`.
    pub fn finish(self, key: &Key) {
        let message = self.finish_open();
        let (signed, _) = message.split_at(message.len() - CODE);
        seal(message, siphash(key, signed));
    }
    /// Ends the message with room for its code. Returns all of its bytes.
    pub(crate) fn finish_open(mut self) -> &'a mut [u8] {
        self.close();
        self.out.extend_from_slice(&[0; CODE]);
        let length = self.len() as u16;
        let message = &mut self.out[self.start..];
        message[2..4].copy_from_slice(&length.to_be_bytes());
        message
    }
}

/// Puts the code at the end of a message.
pub(crate) fn seal(message: &mut [u8], code: u64) {
    if let Some(end) = message.last_chunk_mut() {
        *end = code.to_be_bytes();
    }
}
