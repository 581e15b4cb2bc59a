//! Completion times in the format of HPCC's simulator (`qp_finish` of its `third.cc`), for its `fct_analysis.py`: a
//! line per flow, `sip dip sport dport size start_ns fct_ns standalone_fct_ns`.

use slotline_lab::record::{FlowRow, NEVER, RunRecord, RunSet};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Destination ports by which HPCC's analysis distinguishes traffic.
const NORMAL: u16 = 100;
const INCAST: u16 = 200;
/// First source port of a pair of hosts.
const FIRST_PORT: u32 = 10_000;
/// Picoseconds of a nanosecond.
const NS: u64 = 1_000;

/// The flows that the format cannot show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// Flows that did not finish.
    pub unfinished: usize,
    /// Flows whose completion time in an empty network is unknown: datagrams, and all flows if the scenario has `ideal
    /// = false`.
    pub without_ideal: usize,
    /// Flows that are requests for other flows.
    pub requests: usize,
}

/// Writes the finished flows of `run` in the order in which they finished. Times are rounded down to nanoseconds. The
/// completion time in an empty network is that of this simulator, not that of HPCC's formula.
pub fn write(set: &RunSet, run: &RunRecord, out: &mut impl Write) -> io::Result<LeftOut> {
    let mut left_out = LeftOut::default();
    let mut pairs: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut finished: Vec<(&FlowRow, u16)> = Vec::new();
    for flow in &run.flows {
        let nth = pairs.entry((flow.src, flow.dst)).or_default();
        let port = (FIRST_PORT + *nth) as u16;
        *nth = nth.wrapping_add(1);
        match flow {
            FlowRow { request: true, .. } => left_out.requests += 1,
            FlowRow { finish_ps: NEVER, .. } => left_out.unfinished += 1,
            FlowRow { ideal_ps: 0, .. } => left_out.without_ideal += 1,
            _ => finished.push((flow, port)),
        }
    }
    finished.sort_by_key(|(flow, _)| (flow.finish_ps, flow.flow));
    finished.iter().try_for_each(|(flow, port)| line(set, flow, *port, out))?;
    Ok(left_out)
}

fn line(set: &RunSet, flow: &FlowRow, sport: u16, out: &mut impl Write) -> io::Result<()> {
    let workload = set.workloads.get(usize::from(flow.group));
    let dport = if workload.is_some_and(|name| name == "incast") { INCAST } else { NORMAL };
    let (src, dst) = (address(flow.src), address(flow.dst));
    let (start, took) = (flow.start_ps / NS, (flow.finish_ps - flow.start_ps) / NS);
    let alone = flow.ideal_ps / NS;
    writeln!(out, "{src:08x} {dst:08x} {sport} {dport} {} {start} {took} {alone}", flow.bytes)
}

/// The address that HPCC gives node `id`: 11.x.y.1.
fn address(id: u32) -> u32 {
    0x0b00_0001_u32.wrapping_add((id / 256) << 16).wrapping_add((id % 256) << 8)
}
