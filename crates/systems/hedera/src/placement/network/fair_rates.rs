//! The rates that placed flows get: max-min fair rates over all wires.

use super::Fabric;
use crate::placement::Flow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The max-min fair rate of each flow as a share of the fastest NIC. No flow gets more than its demand. A flow
/// without a path takes the one that `hash` gives.
pub fn max_min(fabric: &Fabric, flows: &[Flow], hash: impl Fn(usize) -> u16) -> Vec<f64> {
    let mut first = vec![0];
    let mut wires = Vec::new();
    for (at, flow) in flows.iter().enumerate() {
        fabric.wires(flow, flow.path.unwrap_or_else(|| hash(at)), &mut wires);
        first.push(wires.len());
    }
    let of = |flow: usize| &wires[first[flow]..first[flow + 1]];
    let capacities: Vec<f64> = fabric
        .capacities()
        .iter()
        .map(|&room| f64::from(room) / f64::from(crate::placement::UNIT))
        .collect();
    let mut on: Vec<Vec<u32>> = vec![Vec::new(); capacities.len()];
    for flow in 0..flows.len() {
        of(flow).iter().for_each(|&wire| on[wire as usize].push(flow as u32));
    }
    let mut left: Vec<(f64, usize)> =
        capacities.iter().zip(&on).map(|(&room, on)| (room, on.len())).collect();
    // Flows are in the order of their demands, wires in that of their shares. The bits of numbers that are not
    // negative have the order of their values.
    let mut queue: BinaryHeap<Reverse<(u64, usize, bool)>> = BinaryHeap::new();
    let share = |(room, flows): (f64, usize)| (room.max(0.0) / flows as f64).to_bits();
    queue.extend(
        (0..).zip(flows).map(|(at, flow)| Reverse((flow.demand.max(0.0).to_bits(), at, false))),
    );
    let busy = (0..).zip(&left).filter(|(_, left)| left.1 > 0);
    queue.extend(busy.map(|(at, &left)| Reverse((share(left), at, true))));
    let mut rates = vec![None; flows.len()];
    while let Some(Reverse((bits, at, is_wire))) = queue.pop() {
        let waiting: &[u32] = match is_wire {
            true if left[at].1 == 0 => continue,
            true if share(left[at]) > bits => {
                queue.push(Reverse((share(left[at]), at, true)));
                continue;
            }
            true => &on[at],
            false => &[at as u32],
        };
        for &flow in waiting {
            if rates[flow as usize].is_none() {
                rates[flow as usize] = Some(f64::from_bits(bits));
                for &wire in of(flow as usize) {
                    left[wire as usize].0 -= f64::from_bits(bits);
                    left[wire as usize].1 -= 1;
                }
            }
        }
    }
    rates.into_iter().map(|rate| rate.unwrap_or(0.0)).collect()
}
