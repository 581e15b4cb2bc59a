//! A hybrid fabric in words.

use super::several;
use super::survey::rate;
use slotline_hybrid::VoqSpec;
use slotline_net::topology::HybridSpec;

pub(super) fn sentences(fabric: &HybridSpec) -> Vec<String> {
    let racks = format!(
        "{} of {}, each with {} and {}.",
        several(fabric.racks.into(), "rack"),
        several(fabric.hosts_per_rack.into(), "host"),
        rate(fabric.host_rate),
        fabric.host_delay
    );
    let packet = fabric.packet.as_ref().map(|packet| {
        let down = packet.down_rate.unwrap_or(packet.rate);
        let over = fabric.host_rate.0 as f64 * f64::from(fabric.hosts_per_rack) / packet.rate.0 as f64;
        format!(
            "The packet switch has {} from each rack and {} to each, {} each way: oversubscribed {over:.1} to 1.",
            rate(packet.rate),
            rate(down),
            packet.delay
        )
    });
    let circuits = fabric.circuits.as_ref().map(|circuits| {
        format!(
            "{}: {} from rack to rack, {}, dark for {} at each change; a day should be much longer than a \
             round trip.",
            several(circuits.switches.into(), "circuit switch"),
            rate(circuits.rate),
            circuits.delay,
            circuits.reconfiguration
        )
    });
    let core = fabric.core.as_ref().map(|core| {
        let uplinks = u64::from(fabric.racks) * u64::from(fabric.uplinks());
        format!(
            "{} of {}, which take {} of the {uplinks} uplinks of racks; the others join racks directly or stay dark.",
            several(core.switches.into(), "core switch"),
            several(core.ports.into(), "port"),
            u64::from(core.switches) * u64::from(core.ports)
        )
    });
    [Some(racks), packet, circuits, core].into_iter().flatten().collect()
}

/// The queues by destination of a scheme.
pub(super) fn queues(fabric: &HybridSpec, voq: &VoqSpec) -> String {
    let room = several(voq.packets.into(), "packet");
    if fabric.core.is_some() {
        return format!(
            "  Packets for which there is no way wait in their rack, {room} for each of the others."
        );
    }
    let resized = voq.resize.map_or(String::new(), |resize| {
        format!(", for {} from {} ahead of each day to its end", resize.to, resize.ahead)
    });
    let told = voq.notify.map_or(String::new(), |notify| {
        format!("; it tells its hosts of circuits, {} ahead of each day", notify.ahead)
    });
    let relayed = if voq.relay.is_some() { "; some packets go by another rack" } else { "" };
    format!(
        "  Each rack has a queue for each of the {} others, for {room}{resized}{relayed}{told}.",
        fabric.racks - 1
    )
}
