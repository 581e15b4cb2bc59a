//! Turns the outcome of the flow-level engine into a record.

use crate::collect::{Scene, control_row, planned};
use crate::record::{Conservation, EngineStats, FlowRow, PortRow, RunRecord};
use slotline_sim::flow::FlowOutcome;

impl Scene {
    /// Records everything in `outcome`.
    pub fn record_flows(&self, outcome: &FlowOutcome) -> RunRecord {
        RunRecord {
            flows: self.passages(outcome),
            ports: self.ports_with(|node, port| PortRow {
                tx_bytes: outcome.ports[node.at()][port.at()],
                ..PortRow::default()
            }),
            samples: self.samples(outcome.samples.clone()),
            control: outcome.counts.iter().copied().map(control_row).collect(),
            engine: engine(outcome),
            census: census(outcome),
            ..RunRecord::default()
        }
    }

    fn passages(&self, outcome: &FlowOutcome) -> Vec<FlowRow> {
        let flows = (0..).zip(&self.plan.traffic.flows).zip(&outcome.flows);
        let row = |((id, flow), passage): ((u32, _), &slotline_sim::flow::Passage)| FlowRow {
            start_ps: passage.started.as_ps(),
            finish_ps: passage.finished.as_ps(),
            delivered_bytes: passage.delivered,
            ..planned(&self.plan, id, flow)
        };
        let mut rows: Vec<FlowRow> = flows.map(row).collect();
        self.fill_ideal(&self.plan.transport.without_windows(), &mut rows);
        rows
    }
}

/// The balance in bytes on the wire, because there are no packets.
fn census(outcome: &FlowOutcome) -> Conservation {
    let volume = &outcome.volume;
    let (delivered, in_flight) = (volume.delivered, volume.under_way);
    Conservation { sent: delivered + in_flight, delivered, in_flight, ..Conservation::default() }
}

fn engine(outcome: &FlowOutcome) -> EngineStats {
    EngineStats {
        events: outcome.events,
        digest: outcome.digest,
        threads: 1,
        sim_time_ps: outcome.reached.as_ps(),
        flow_level: true,
        ..EngineStats::default()
    }
}
