//! Follows single flows: where their time went, which segments they sent, and which hosts were permitted to send.
//!
//! Packets are recorded in a second pass. The first pass determines which flows to follow, and is not slowed down by
//! recording. The second pass is the same run with recorded packets. It must end with the same digest, so every
//! followed run also checks that runs can be repeated.

pub(crate) mod choose;
mod days;
mod permits;
mod sequence;
mod trip;
mod walk;

#[cfg(test)]
mod tests;

pub use choose::{Choice, slowest};

use crate::collect::Scene;
use crate::record::{Capture, CapturedPacket, RunRecord};
use days::Days;
use permits::Permits;
use slotline_net::frame::{Kind, Packet};
use slotline_net::node::host::Plan;
use slotline_sim::Outcome;
use trip::Traces;

/// Adds the packets in `outcome` to `record`. Both are of the same run.
pub fn record_followed(
    record: &mut RunRecord,
    choice: &Choice,
    scene: &Scene,
    outcome: &mut Outcome,
) {
    let (journal, notes) =
        (std::mem::take(&mut outcome.journal), std::mem::take(&mut outcome.notes));
    let permits = Permits::of(&notes, outcome.reached.as_ps());
    let days = Days::of(&notes, scene);
    drop(notes);
    let rows = scene.rows();
    let traces = Traces::of(journal.hops, scene, &rows);
    record.why = walk::explain(&choice.flows, record, scene, &traces, &permits, &days);
    record.sequence = sequence::sequences(choice, record, scene, &traces);
    record.schedule = permits.into_rows();
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

/// Adds the schedule of a run without recorded packets to `record`.
pub fn record_schedule(record: &mut RunRecord, outcome: &Outcome) {
    record.schedule = Permits::of(&outcome.notes, outcome.reached.as_ps()).into_rows();
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
