//! Permits: which packet an endpoint may send, in which slot and on which path.

use slotline_fastpass::Choice;

/// The permission to send one packet: source, destination, slot and path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permit(pub(crate) u64);

/// Values of the path field that are no path. A path has a number below 4,096, as the path selector has at
/// most 4,096 paths.
const LOCAL: u64 = 0xffff;
const UNPLACED: u64 = 0xfffe;

impl Permit {
    pub(crate) fn new(src: u16, dst: u16, slot: u8, choice: Choice) -> Permit {
        let choice = match choice {
            Choice::Local => LOCAL,
            Choice::Unplaced => UNPLACED,
            Choice::Over(path) => path.into(),
        };
        Permit(choice << 48 | u64::from(slot) << 32 | u64::from(src) << 16 | u64::from(dst))
    }
    /// The permit as a word. From the top: 16 bits each of path, slot, source and destination.
    pub fn to_word(self) -> u64 {
        self.0
    }
    /// The sending endpoint.
    pub fn src(self) -> u16 {
        (self.0 >> 16) as u16
    }
    /// The receiving endpoint.
    pub fn dst(self) -> u16 {
        self.0 as u16
    }
    /// The slot of the batch, from 0 to 63.
    pub fn slot(self) -> u8 {
        (self.0 >> 32) as u8
    }
    /// The path. An unplaced packet has no path and must not be sent. The pipeline requests its slot
    /// again as long as the port has not ended.
    pub fn choice(self) -> Choice {
        match self.0 >> 48 {
            LOCAL => Choice::Local,
            UNPLACED => Choice::Unplaced,
            path => Choice::Over(path as u16),
        }
    }
}

/// The permits of a batch for the endpoints of one port.
#[derive(Clone, Copy, Debug)]
pub struct Permits<'a> {
    pub(crate) words: &'a [u64],
}

impl<'a> Permits<'a> {
    /// The permits in the order of slots.
    pub fn iter(self) -> impl Iterator<Item = Permit> + 'a {
        self.words.iter().map(|&word| Permit(word))
    }
    /// The permits as words ([`Permit::to_word`]).
    pub fn words(self) -> &'a [u64] {
        self.words
    }
}
