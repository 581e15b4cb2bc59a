//! The permissions of hosts to send under a central scheduler, as hosts noted them.

use crate::record::ScheduleRow;
use slotline_net::id::HostId;
use slotline_net::node::Note;
use slotline_net::time::Time;
use std::collections::BTreeMap;

type Pair = (HostId, HostId);

/// Permissions of each pair of hosts, in order.
#[derive(Default)]
pub(super) struct Permits {
    pairs: BTreeMap<Pair, Vec<ScheduleRow>>,
    /// Circuits between racks, which do not restrict hosts.
    circuits: Vec<ScheduleRow>,
}

impl Permits {
    /// Reads the permissions of a run that ended at `end` from `notes`, which are in order of time.
    pub fn of(notes: &[(Time, Note)], end: u64) -> Permits {
        let mut permits = Permits::default();
        for (time, note) in notes {
            permits.take(time.as_ps(), *note, end);
        }
        permits.pairs.values_mut().for_each(|rows| rows.retain(|row| row.from_ps < row.until_ps));
        permits
    }

    fn take(&mut self, now: u64, note: Note, end: u64) {
        match note {
            Note::Permitted { host, dst, until, rate } => {
                self.close((host, dst), now);
                self.pairs.entry((host, dst)).or_default().push(ScheduleRow {
                    from_ps: now,
                    until_ps: until.as_ps().min(end),
                    src: host.0,
                    dst: dst.0,
                    rate_bps: rate.map_or(0, |rate| rate.0),
                });
            }
            Note::Circuit { host, dst, until } => self.circuits.push(ScheduleRow {
                from_ps: now,
                until_ps: until.as_ps().min(end),
                src: host.0,
                dst: dst.0,
                rate_bps: 0,
            }),
            Note::Withdrawn { host, dst } => self.close((host, dst), now),
            Note::Timeslot { .. } => {}
            Note::AllWithdrawn { host, except } => {
                let all = (host, HostId(0))..=(host, HostId(u32::MAX));
                let others = |dst: &HostId| Some(*dst) != except;
                let pairs = self.pairs.range_mut(all).filter(|((_, dst), _)| others(dst));
                pairs.for_each(|(_, rows)| cut(rows, now));
            }
        }
    }

    fn close(&mut self, pair: Pair, now: u64) {
        if let Some(rows) = self.pairs.get_mut(&pair) {
            cut(rows, now);
        }
    }

    /// Whether there was a central scheduler.
    pub fn any(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The time between `from` and `until` in which `src` was not permitted to send to `dst`, in picoseconds.
    pub fn barred(&self, (src, dst): Pair, from: u64, until: u64) -> u64 {
        let rows = self.pairs.get(&(src, dst)).map_or(&[][..], Vec::as_slice);
        let first = rows.partition_point(|row| row.until_ps <= from);
        let overlap =
            |row: &ScheduleRow| row.until_ps.min(until).saturating_sub(row.from_ps.max(from));
        let within = rows[first..].iter().take_while(|row| row.from_ps < until);
        (until - from).saturating_sub(within.map(overlap).sum())
    }

    /// All permissions and circuits, in order of their start.
    pub fn into_rows(self) -> Vec<ScheduleRow> {
        let mut rows: Vec<ScheduleRow> =
            self.pairs.into_values().flatten().chain(self.circuits).collect();
        rows.sort_unstable_by_key(|row| (row.from_ps, row.src, row.dst));
        rows
    }
}

/// Ends the last permission at `now` at the latest.
fn cut(rows: &mut [ScheduleRow], now: u64) {
    if let Some(row) = rows.last_mut() {
        row.until_ps = row.until_ps.min(now);
    }
}
