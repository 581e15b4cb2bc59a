//! Table 2 for transports that are notified of circuits by marks or by the switches of their racks.

use super::rings::{
    CIRCUITS, LARGE_MEDIAN, LARGE_TAIL, PACKETS, SMALL_MEDIAN, SMALL_TAIL, schemes,
};
use crate::draw::View;
use crate::{Experiment, Measured, Row, Study, Work};
use slotline_net::time::Time;
use slotline_report::plot::Figure;
use slotline_scenario::Scenario;

/// Table 2's two rings, with reTCP and TDTCP.
pub(super) const PATH_NOTICES: Experiment = Experiment {
    id: "et-T",
    about: "New: Table 2 for reTCP and TDTCP with senders that are notified of circuits, and with senders that are not",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/et-T.toml",
        text: include_str!("../../../../../scenarios/reproduce/et-T.toml"),
        axis: &[16, 128],
        set,
        compare,
        figures,
    }),
};

/// Sets queues to 16 packets, or to grow to 128 packets 1 ms ahead of days. Senders with reTCP are notified when
/// acknowledgements begin to be marked.
fn set(scenario: &mut Scenario, largest: u32) -> String {
    for scheme in &mut scenario.scheme {
        if largest > 16 {
            super::resized(scheme, largest, Time::ms(1));
        }
        let early = scheme.name.starts_with("reTCP");
        if let Some(voq) = &mut scheme.voq
            && let Some(notify) = &mut voq.notify
        {
            notify.ahead = if early { voq.mark_ahead } else { Time::ZERO };
        }
    }
    if largest > 16 { format!("16 to {largest} packets") } else { format!("{largest} packets") }
}

fn compare(points: &[Measured]) -> Vec<Row> {
    let all = [SMALL_MEDIAN, SMALL_TAIL, LARGE_MEDIAN, LARGE_TAIL, PACKETS, CIRCUITS];
    let mut rows = Vec::new();
    for point in points {
        for scheme in schemes(point) {
            rows.extend(all.iter().filter_map(|quantity| point.row(scheme, quantity, None, "")));
        }
    }
    rows
}

fn figures(view: &View) -> Vec<Figure> {
    vec![
        view.bars("times", "Completion times", &[LARGE_MEDIAN, LARGE_TAIL, SMALL_TAIL]),
        view.bars("use", "Sent by each network", &[PACKETS, CIRCUITS]),
    ]
}
