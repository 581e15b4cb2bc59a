//! What a machine tells arbiters about its neighbours: the cables at its ports, by LLDP.
//!
//! A report has all cables of a machine, on pages of one message each:
//!
//! ```text
//! report: u64, page: u8, pages: u8, then for each cable
//! machine at the far end: u32, own port, port there; a port is its length: u8, and its name in UTF-8
//! ```

use crate::channel::{Channel, Peer};
use crate::clock::Local;
use crate::message::Message;
use crate::running::unique;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The longest name of a port, in bytes.
pub const LONGEST_NAME: usize = 64;
/// The most bytes of cables on a page, so that a message fits into a packet.
const PAGE: usize = 1_000;
/// The most pages of a report: room for 240 cables with the longest names, and for more than a thousand usual ones.
pub const MOST_PAGES: u8 = 32;
/// The interval at which a report is repeated. Messages may be lost, and arbiters may start again.
const REPEAT: Duration = Duration::from_secs(1);

/// A cable of a machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OwnCable {
    /// The machine's own port.
    pub port: String,
    /// The number of the machine at the far end.
    pub machine: u32,
    /// The port there.
    pub far: String,
}

/// A page of a report, as it is in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page<'a> {
    /// The number of the report, which another report has not.
    pub report: u64,
    /// The number of the page.
    pub page: u8,
    /// The number of pages of the report.
    pub pages: u8,
    /// The cables as bytes, which are valid.
    cables: &'a [u8],
}

impl<'a> Page<'a> {
    /// Reads a page; `None` if `bytes` are none.
    pub fn parse(bytes: &'a [u8]) -> Option<Page<'a>> {
        let (report, rest) = bytes.split_first_chunk()?;
        let (&[page, pages], cables) = rest.split_first_chunk()?;
        let report = u64::from_be_bytes(*report);
        let valid = page < pages && pages <= MOST_PAGES && cables.len() <= PAGE;
        let mut rest = cables;
        while valid && !rest.is_empty() {
            rest = cable(rest)?.1;
        }
        valid.then_some(Page { report, page, pages, cables })
    }
    /// Appends the page to `out`.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend(self.report.to_be_bytes());
        out.extend([self.page, self.pages]);
        out.extend(self.cables);
    }
    /// The cables on the page.
    pub fn cables(&self) -> Vec<OwnCable> {
        let mut rest = self.cables;
        std::iter::from_fn(|| {
            let (cable, after) = cable(rest)?;
            rest = after;
            Some(cable)
        })
        .collect()
    }
}

/// The first cable of some bytes, and the bytes after it.
fn cable(bytes: &[u8]) -> Option<(OwnCable, &[u8])> {
    let (machine, rest) = bytes.split_first_chunk()?;
    let (port, rest) = name(rest)?;
    let (far, rest) = name(rest)?;
    let (machine, port, far) = (u32::from_be_bytes(*machine), port.to_owned(), far.to_owned());
    Some((OwnCable { port, machine, far }, rest))
}

fn name(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(length.into())?;
    let name = str::from_utf8(name).ok()?;
    is_name(name).then_some((name, rest))
}

/// Whether a text can be the name of a port. It appears in logs and in the status.
fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len()) && !text.contains(char::is_control)
}

/// The pages of a report as bytes, each without its head. Cables whose ports have no usable name are left out, and so are those
/// for which there is no room.
fn pages(cables: &[OwnCable]) -> Vec<Vec<u8>> {
    let mut pages = vec![Vec::new()];
    for OwnCable { port, machine, far } in cables {
        if !is_name(port) || !is_name(far) {
            continue;
        }
        let [port, far] = [port, far].map(|name| [&[name.len() as u8], name.as_bytes()].concat());
        let bytes = [&machine.to_be_bytes()[..], &port, &far].concat();
        match pages.last_mut() {
            Some(last) if last.len() + bytes.len() <= PAGE => last.extend(bytes),
            _ => pages.push(bytes),
        }
    }
    pages.truncate(MOST_PAGES.into());
    pages
}

/// The messages of a report.
#[cfg(test)]
pub(crate) fn pages_of(report: u64, cables: &[OwnCable]) -> Vec<Vec<u8>> {
    let pages = pages(cables);
    let count = pages.len() as u8;
    let message = |(page, cables): (u8, &Vec<u8>)| {
        let mut bytes = Vec::new();
        Message::Neighbours(Page { report, page, pages: count, cables }).emit(&mut bytes);
        bytes
    };
    (0..).zip(&pages).map(message).collect()
}

/// The cables of this machine as they were when it was last looked; none before that.
#[derive(Debug, Default)]
pub struct Heard(Mutex<Option<Vec<OwnCable>>>);

impl Heard {
    /// The cables.
    pub fn now(&self) -> Option<Vec<OwnCable>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Notes them.
    pub fn replace(&self, cables: Vec<OwnCable>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cables);
    }
}

/// The reports of a machine to all arbiters.
#[derive(Debug, Default)]
pub struct Reports {
    number: u64,
    cables: Option<Vec<OwnCable>>,
    next: Local,
}

impl Reports {
    /// Sends a report if the cables have changed, or if it is time to repeat it. Returns the time until it looks again.
    pub fn attend(
        &mut self,
        heard: &Heard,
        channel: &mut Channel,
        arbiters: &[Peer],
        now: Local,
    ) -> Duration {
        if now < self.next {
            return self.next.since(now);
        }
        self.next = now.after(REPEAT);
        let latest = heard.now();
        if latest != self.cables {
            (self.number, self.cables) = (unique(), latest);
        }
        let Some(cables) = &self.cables else { return REPEAT };
        let pages = pages(cables);
        let count = pages.len() as u8;
        for (page, cables) in (0..).zip(&pages) {
            let page = Page { report: self.number, page, pages: count, cables };
            for arbiter in arbiters {
                // If it is lost, the next report follows.
                channel.send(arbiter.number, &Message::Neighbours(page), now);
            }
        }
        REPEAT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own((port, machine, far): (String, u32, String)) -> OwnCable {
        OwnCable { port, machine, far }
    }

    #[test]
    fn names_without_use_are_left_out() {
        let long = "p".repeat(LONGEST_NAME + 1);
        let cables = ["", "a\nb", &long].map(|name| own((name.into(), 1, "p".into())));
        assert_eq!(pages(&cables), [Vec::<u8>::new()]);
        let bytes =
            |name: &str| [&[0, 0, 0, 1, name.len() as u8], name.as_bytes(), b"\x01p"].concat();
        let page = |cables: &[u8]| [&[0; 9][..], &[1], cables].concat();
        assert!(Page::parse(&page(&bytes("q"))).is_some());
        for wrong in ["", "a\nb", &long] {
            assert_eq!(Page::parse(&page(&bytes(wrong))), None, "{wrong}");
        }
        assert_eq!(Page::parse(&page(&[0; 7])), None);
        for (at, of) in [(1, 1), (0, 0), (0, MOST_PAGES + 1)] {
            assert_eq!(Page::parse(&[&[0; 8][..], &[at, of]].concat()), None);
        }
    }

    proptest! {
        /// All cables of a report arrive, in order, in messages that fit into a packet.
        #[test]
        fn pages_have_all_cables(cables in prop::collection::vec(("[a-z0-9/]{1,64}", any::<u32>(), "[a-zé ]{1,32}"), 0..80)) {
            let cables: Vec<OwnCable> = cables.into_iter().map(own).collect();
            let pages = pages(&cables);
            let mut back = Vec::new();
            for (page, of) in (0..).zip(&pages) {
                let page = Page { report: 7, page, pages: pages.len() as u8, cables: of };
                let mut bytes = Vec::new();
                page.append(&mut bytes);
                prop_assert!(bytes.len() <= PAGE + 10);
                prop_assert_eq!(Page::parse(&bytes), Some(page));
                back.extend(page.cables());
            }
            prop_assert_eq!(back, cables);
        }
    }
}
