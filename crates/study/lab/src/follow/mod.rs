//! Follows single flows: where their time went, which segments they sent, and which hosts were permitted to send.
//!
//! Which flows are followed is known only when a run has ended. Where it can be foreseen, the run records their packets
//! (`beforehand`). Otherwise the run is done again, and the second pass records them. It must end with the same digest.

mod beforehand;
mod choose;
mod days;
mod forecast;
mod permits;
mod sequence;
mod trip;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use beforehand::{Upcoming, room};
use choose::can_be_explained;
pub use choose::{Choice, slowest};
pub(crate) use choose::{HOPS_PER_SEGMENT, most_hops};

use crate::collect::Scene;
use crate::record::{Capture, CapturedPacket, RunRecord};
use days::Days;
use permits::Permits;
use slotline_net::frame::{Kind, Packet};
use slotline_net::node::Note;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_sim::{FIRST_NOTES, Journal, Outcome};
use std::mem::take;
use trip::Traces;
use walk::Noted;

/// What a run recorded besides its results.
#[derive(Default)]
pub struct Recorded {
    journal: Journal,
    notes: Vec<(Time, Note)>,
    reached: Time,
}

impl Recorded {
    /// Takes it from `outcome`.
    pub fn of(outcome: &mut Outcome) -> Recorded {
        let (journal, notes) = (take(&mut outcome.journal), take(&mut outcome.notes));
        Recorded { journal, notes, reached: outcome.reached }
    }

    /// Whether it has everything that is to be followed.
    pub fn has(&self, choice: &Choice) -> bool {
        choice.ports.is_empty() && choice.conns.iter().all(|conn| self.journal.has(*conn))
    }
}

/// Adds the recorded packets to `record`. Both are of the same run.
pub fn record_followed(record: &mut RunRecord, choice: &Choice, scene: &Scene, recorded: Recorded) {
    let Recorded { journal, notes, reached } = recorded;
    let noted =
        Noted { permits: Permits::of(&notes, reached.as_ps()), days: Days::of(&notes, scene) };
    // Later permissions are known only where they are needed, and which of them depends on the number of threads.
    let last = notes.get(FIRST_NOTES - 1).filter(|_| notes.len() > FIRST_NOTES);
    let complete_until = last.map_or(Time::MAX, |(time, _)| *time);
    drop(notes);
    add_flows(record, choice, scene, &Traces::of(&journal, scene), &noted);
    record.schedule = noted.permits.into_rows(complete_until);
    let rows = scene.rows();
    let captures = journal.captures.into_iter().zip(&choice.ports);
    record.captures = captures
        .map(|((hops, omitted), port)| Capture {
            port: rows[port],
            packets: hops
                .iter()
                .map(|hop| captured(hop.start, hop.packet, scene, String::new()))
                .collect(),
            omitted,
        })
        .collect();
}

/// Explains and draws the chosen flows.
fn add_flows(
    record: &mut RunRecord,
    choice: &Choice,
    scene: &Scene,
    traces: &Traces<'_>,
    noted: &Noted,
) {
    let plan = &*scene.plan;
    let drawn = sequence::drawn(choice, record, scene);
    let conn = |flow: &u32| plan.traffic.flows[*flow as usize].conn;
    // The flows of a connection follow one another.
    for flows in choice.flows.chunk_by(|a, b| conn(a) == conn(b)) {
        let Some(trace) = traces.get(conn(&flows[0]).0) else { continue };
        let rows = flows.iter().map(|flow| &record.flows[*flow as usize]);
        let complete = rows.filter(|row| can_be_explained(row));
        record.why.extend(complete.map(|row| walk::explain(row, plan, &trace, noted)));
        for flow in flows.iter().filter(|flow| drawn.contains(flow)) {
            record.sequence.extend(sequence::sequence(*flow, plan, &trace));
        }
    }
}

/// Adds the schedule until `until` of a run without recorded packets to `record`.
pub fn record_schedule(record: &mut RunRecord, recorded: &Recorded, until: Time) {
    let noted = recorded.notes.partition_point(|(time, _)| *time < until);
    let permits = Permits::of(&recorded.notes[..noted], recorded.reached.as_ps());
    record.schedule = permits.into_rows(Time::MAX);
}

/// A captured packet. `head` is the beginning of the real one, if there is one.
pub(crate) fn captured(t_ps: u64, packet: Packet, scene: &Scene, head: String) -> CapturedPacket {
    CapturedPacket { t_ps, src: source(&packet, &scene.plan), packet, head }
}

/// The host that made `packet`; `u32::MAX` for pause frames, which come from the node of the captured port.
fn source(packet: &Packet, plan: &Plan) -> u32 {
    let conn = || plan.traffic.conns[packet.flow as usize];
    match packet.kind {
        Kind::Data | Kind::Datagram => conn().src.0,
        Kind::Ack => conn().dst.0,
        Kind::Control => packet.flow,
        Kind::Pause => u32::MAX,
    }
}
