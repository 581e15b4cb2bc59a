//! The notes of nodes that a run keeps.

use crate::journal::Recorder;
use slotline_net::id::HostId;
use slotline_net::node::Note;
use slotline_net::time::Time;
use std::collections::BTreeSet;

/// The number of first notes that a run keeps in any case.
pub const FIRST_NOTES: usize = 1_000_000;

/// The notes of the nodes of a shard, in order of time, then of host. Under Fastpass there is one for each packet, so that
/// after the first ones only those are kept that may explain a followed flow.
pub(crate) struct Notes {
    pub list: Vec<(Time, Note)>,
    /// The number of notes of earlier windows.
    sorted: usize,
    first: usize,
    /// The number of notes at which some are forgotten.
    room: usize,
}

impl Default for Notes {
    fn default() -> Notes {
        Notes::keeping(FIRST_NOTES)
    }
}

impl Notes {
    fn keeping(first: usize) -> Notes {
        Notes { list: Vec::new(), sorted: 0, first, room: first + first / 2 }
    }

    /// Sorts the notes of a window, whose nodes were called one after the other. All later notes are of later times.
    #[inline]
    pub fn end_window(&mut self, recorder: Option<&Recorder>) {
        if self.sorted < self.list.len() {
            self.sort(recorder);
        }
    }

    #[inline(never)]
    fn sort(&mut self, recorder: Option<&Recorder>) {
        self.list[self.sorted..].sort_by_key(order);
        if self.list.len() >= self.room
            && let Some((now, _)) = self.list.last()
            && let Some(pairs) = recorder.and_then(|recorder| recorder.pairs(*now))
        {
            self.forget(&pairs);
        }
        self.sorted = self.list.len();
    }

    /// Forgets permissions of pairs of hosts other than these, but not the first notes, and not the first later permission of
    /// a pair, because it ends the one before.
    #[cold]
    fn forget(&mut self, kept: &BTreeSet<(HostId, HostId)>) {
        let (mut at, mut ended) = (0, BTreeSet::new());
        self.list.retain(|(_, note)| {
            at += 1;
            match *note {
                Note::Permitted { host, dst, .. } if at > self.first => {
                    kept.contains(&(host, dst)) || ended.insert((host, dst))
                }
                _ => true,
            }
        });
        self.room = self.list.len() + self.first / 2;
    }
}

/// The notes of all shards in order.
pub(crate) fn in_order(mut notes: Vec<(Time, Note)>) -> Vec<(Time, Note)> {
    // Those of each shard are already in order, which makes this fast.
    notes.sort_by_key(order);
    notes
}

fn order((time, note): &(Time, Note)) -> (Time, HostId) {
    (*time, note.host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_permissions_of_other_pairs_are_forgotten() {
        let mut notes = Notes::keeping(4);
        let pair = |n: u32| (HostId(n % 3), HostId(9));
        let permitted = |n: u32| {
            let (host, dst) = pair(n);
            Note::Permitted { host, dst, until: Time::MAX, rate: None }
        };
        notes.list = (0..12).map(|n| (Time::ps(n.into()), permitted(n))).collect();
        notes.list.push((Time::ps(12), Note::Withdrawn { host: HostId(0), dst: HostId(9) }));
        notes.forget(&BTreeSet::from([pair(1)]));
        let times: Vec<u64> = notes.list.iter().map(|(time, _)| time.as_ps()).collect();
        assert_eq!(times, [0, 1, 2, 3, 4, 5, 6, 7, 10, 12]);
    }
}
