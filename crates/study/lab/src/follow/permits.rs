//! The permissions of hosts to send under a central scheduler, as hosts noted them.

use crate::record::ScheduleRow;
use slotline_net::id::HostId;
use slotline_net::node::Note;
use slotline_net::order::ascending;
use slotline_net::time::Time;
use slotline_net::units::Rate;

type Pair = (HostId, HostId);

/// The permissions of each pair of hosts. There may be one for each packet, so that all are in one list.
#[derive(Default)]
pub(super) struct Permits {
    /// Permissions and circuits, in order of their start.
    rows: Vec<ScheduleRow>,
    /// By row: the number of its pair; [`NO_PAIR`] for circuits, which are between racks and do not restrict hosts.
    pair_of: Vec<u32>,
    /// By sending host: its destinations in order, with the numbers of the pairs.
    numbers: Vec<Vec<(HostId, u32)>>,
    /// By pair: its last row.
    last: Vec<usize>,
    /// The rows of each pair, in order, and where those of a pair begin.
    by_pair: (Vec<u32>, Vec<usize>),
}

const NO_PAIR: u32 = u32::MAX;

impl Permits {
    /// Reads the permissions of a run that ended at `end` from `notes`, which are in order of time.
    pub fn of(notes: &[(Time, Note)], end: u64) -> Permits {
        let mut permits = Permits::default();
        permits.rows.reserve_exact(notes.len());
        permits.pair_of.reserve_exact(notes.len());
        for (time, note) in notes {
            permits.take(time.as_ps(), *note, end);
        }
        permits.by_pair = permits.arranged();
        permits
    }

    fn take(&mut self, now: u64, note: Note, end: u64) {
        match note {
            Note::Permitted { host, dst, until, rate } => {
                let number = self.renew((host, dst), now);
                self.push(number, (host, dst), (now, until.as_ps().min(end)), rate);
            }
            Note::Circuit { host, dst, until } => {
                self.push(NO_PAIR, (host, dst), (now, until.as_ps().min(end)), None);
            }
            Note::Withdrawn { host, dst } => {
                if let Some(number) = self.number((host, dst)) {
                    self.close(number, now);
                }
            }
            Note::Timeslot { .. } => {}
            Note::AllWithdrawn { host, except } => {
                for at in 0..self.numbers.get(host.at()).map_or(0, Vec::len) {
                    let (dst, number) = self.numbers[host.at()][at];
                    if Some(dst) != except {
                        self.close(number, now);
                    }
                }
            }
        }
    }

    fn push(&mut self, pair: u32, ends: Pair, span: (u64, u64), rate: Option<Rate>) {
        let ((src, dst), (from_ps, until_ps)) = (ends, span);
        let rate_bps = rate.map_or(0, |rate| rate.0);
        self.rows.push(ScheduleRow { from_ps, until_ps, src: src.0, dst: dst.0, rate_bps });
        self.pair_of.push(pair);
    }

    /// Ends the last permission of a pair, if it has any. The next row is its last one. Returns its number.
    fn renew(&mut self, (src, dst): Pair, now: u64) -> u32 {
        if self.numbers.len() <= src.at() {
            self.numbers.resize_with(src.at() + 1, Vec::new);
        }
        let (numbers, next) = (&mut self.numbers[src.at()], self.last.len() as u32);
        match numbers.binary_search_by_key(&dst, |(dst, _)| *dst) {
            Ok(at) => {
                let number = numbers[at].1;
                self.close(number, now);
                self.last[number as usize] = self.rows.len();
                number
            }
            Err(at) => {
                numbers.insert(at, (dst, next));
                self.last.push(self.rows.len());
                next
            }
        }
    }

    fn number(&self, (src, dst): Pair) -> Option<u32> {
        let numbers = self.numbers.get(src.at())?;
        let at = numbers.binary_search_by_key(&dst, |(dst, _)| *dst).ok()?;
        Some(numbers[at].1)
    }

    /// Ends the last permission of a pair at `now` at the latest.
    fn close(&mut self, number: u32, now: u64) {
        let row = &mut self.rows[self.last[number as usize]];
        row.until_ps = row.until_ps.min(now);
    }

    /// The rows of each pair, in order, and where those of a pair begin.
    fn arranged(&self) -> (Vec<u32>, Vec<usize>) {
        let pairs = self.last.len();
        let mut first = vec![0; pairs + 2];
        self.pair_of.iter().for_each(|pair| first[pairs.min(*pair as usize) + 1] += 1);
        (1..first.len()).for_each(|pair| first[pair] += first[pair - 1]);
        (ascending(self.pair_of.iter().copied()), first)
    }

    /// Whether there was a central scheduler.
    pub fn any(&self) -> bool {
        !self.last.is_empty()
    }

    /// The time between `from` and `until` in which a host was not permitted to send to another, in picoseconds.
    pub fn barred(&self, pair: Pair, from: u64, until: u64) -> u64 {
        let (rows, first) = &self.by_pair;
        let range = self.number(pair).map_or(0..0, |at| first[at as usize]..first[at as usize + 1]);
        let (rows, row) = (&rows[range], |at: &u32| &self.rows[*at as usize]);
        let next = rows.partition_point(|at| row(at).until_ps <= from);
        let overlap =
            |row: &ScheduleRow| row.until_ps.min(until).saturating_sub(row.from_ps.max(from));
        let within = rows[next..].iter().map(row).take_while(|row| row.from_ps < until);
        (until - from).saturating_sub(within.map(overlap).sum())
    }

    /// The permissions and circuits that begin before `until`, in order of their start. Those that were withdrawn when they
    /// began are left out.
    pub fn into_rows(self, until: Time) -> Vec<ScheduleRow> {
        let mut rows = self.rows;
        rows.truncate(rows.partition_point(|row| row.from_ps < until.as_ps()));
        rows.retain(|row| row.from_ps < row.until_ps);
        rows.sort_unstable_by_key(|row| (row.from_ps, row.src, row.dst));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The note of an action of host 0 or 1.
    fn note((action, host, dst, lasts): (u8, u32, u32, u64), now: u64) -> Note {
        let (host, dst) = (HostId(host), HostId(dst));
        match action {
            0 => Note::Withdrawn { host, dst },
            1 => Note::AllWithdrawn { host, except: (lasts % 2 == 0).then_some(dst) },
            2 => Note::Circuit { host, dst, until: Time::ps(now + lasts) },
            _ => Note::Permitted { host, dst, until: Time::ps(now + lasts), rate: None },
        }
    }

    /// Whether the notes up to `now` permit `host` to send to `dst` then.
    fn permits(notes: &[(Time, Note)], (host, dst): Pair, now: u64) -> bool {
        let mut permitted = 0;
        for (_, note) in notes.iter().take_while(|(time, _)| time.as_ps() <= now) {
            match *note {
                Note::Permitted { host: h, dst: d, until, .. } if (h, d) == (host, dst) => {
                    permitted = until.as_ps();
                }
                Note::Withdrawn { host: h, dst: d } if (h, d) == (host, dst) => permitted = 0,
                Note::AllWithdrawn { host: h, except } if h == host && except != Some(dst) => {
                    permitted = 0;
                }
                _ => {}
            }
        }
        now < permitted
    }

    proptest! {
        /// Compared with each picosecond on its own.
        #[test]
        fn the_time_without_a_permission_is_counted(
            actions in prop::collection::vec((0u8..8, 0u32..2, 0u32..3, 0u64..20), 0..40),
            steps in prop::collection::vec(0u64..8, 40),
            (from, long) in (0u64..150, 0u64..60),
        ) {
            let mut now = 0;
            let notes = actions.into_iter().zip(steps).map(|(action, step)| {
                now += step;
                (Time::ps(now), note(action, now))
            });
            let notes: Vec<(Time, Note)> = notes.collect();
            let all = Permits::of(&notes, u64::MAX);
            for (src, dst) in (0..2).flat_map(|src| (0..3).map(move |dst| (HostId(src), HostId(dst)))) {
                let barred = (from..from + long).filter(|at| !permits(&notes, (src, dst), *at)).count();
                prop_assert_eq!(all.barred((src, dst), from, from + long), barred as u64);
            }
            let rows = all.into_rows(Time::MAX);
            prop_assert!(rows.is_sorted_by_key(|row| (row.from_ps, row.src, row.dst)));
        }
    }
}
