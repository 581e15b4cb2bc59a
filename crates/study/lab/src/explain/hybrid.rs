//! Describes a hybrid fabric.

use super::several;
use super::survey::rate;
use slotline_hybrid::VoqSpec;
use slotline_net::time::Time;
use slotline_net::topology::{HybridSpec, RackSpec};
use slotline_net::units::Rate;

/// The racks and their hosts.
fn racks(fabric: &HybridSpec) -> String {
    let count = several(fabric.rack_count().into(), "rack");
    if !fabric.rack.is_empty() {
        let hosts = fabric.rack.iter().map(|rack| rack.hosts.len() as u64);
        let (least, most) = (hosts.clone().min().unwrap_or(0), hosts.max().unwrap_or(0));
        return format!("There are {count}, each with {least} to {most} hosts.");
    }
    format!(
        "There are {count} of {}. Each host has a link of {} with a delay of {}.",
        several(fabric.hosts_per_rack.into(), "host"),
        rate(fabric.host_rate),
        fabric.host_delay
    )
}

/// The rate of all hosts of the rack with the most, relative to `rate`.
fn oversubscription(fabric: &HybridSpec, rate: Rate) -> f64 {
    let usual = fabric.host_rate.0 as f64;
    let of = |rack: &RackSpec| {
        rack.host_rate.map_or(usual, |rate| rate.0 as f64) * rack.hosts.len() as f64
    };
    let alike = usual * f64::from(fabric.hosts_per_rack);
    fabric.rack.iter().map(of).fold(alike, f64::max) / rate.0 as f64
}

pub(super) fn sentences(fabric: &HybridSpec) -> Vec<String> {
    let packet = fabric.packet.as_ref().map(|packet| {
        let down = packet.down_rate.unwrap_or(packet.rate);
        let over = oversubscription(fabric, packet.rate);
        format!(
            "The packet switch carries {} from each rack and {} to each, with a delay of {} in each \
             direction. It is oversubscribed {over:.1} to 1.",
            rate(packet.rate),
            rate(down),
            packet.delay
        )
    });
    let circuits = fabric.circuits.as_ref().map(|circuits| {
        let carry = if circuits.switches == 1 { "carries" } else { "carry" };
        format!(
            "{} {carry} {} from rack to rack with a delay of {}. Circuits are down for {} at each \
             change: a day should be much longer than a round trip.",
            several(circuits.switches.into(), "circuit switch"),
            rate(circuits.rate),
            circuits.delay,
            circuits.reconfiguration
        )
    });
    let core = fabric.core.as_ref().map(|core| {
        let uplinks = u64::from(fabric.rack_count()) * u64::from(fabric.uplinks());
        format!(
            "There are {} with {} each, which take {} of the {uplinks} uplinks of racks. The other uplinks \
             connect racks directly or are unused.",
            several(core.switches.into(), "core switch"),
            several(core.ports.into(), "port"),
            u64::from(core.switches) * u64::from(core.ports)
        )
    });
    [Some(racks(fabric)), packet, circuits, core].into_iter().flatten().collect()
}

/// The time before each day at which something happens, as text.
fn before(ahead: Time) -> String {
    match ahead {
        Time::ZERO => "at the beginning of each day".into(),
        ahead => format!("{ahead} ahead of each day"),
    }
}

/// The queues for each destination rack under a scheme.
pub(super) fn queues(fabric: &HybridSpec, voq: &VoqSpec) -> String {
    let room = several(voq.packets.into(), "packet");
    if fabric.core.is_some() {
        return format!(
            "  Packets without a path wait in their rack, which holds {room} for each other rack."
        );
    }
    let resized = voq.resize.map_or(String::new(), |resize| {
        format!(" ({} from {} to its end)", resize.to, before(resize.ahead))
    });
    let notified = voq.notify.map_or(String::new(), |notify| {
        format!("; it notifies its hosts of circuits {}", before(notify.ahead))
    });
    let relayed =
        if voq.relay.is_some() { "; some packets are relayed by another rack" } else { "" };
    format!(
        "  Each rack has a queue of {room}{resized} for each of the {} others{relayed}{notified}.",
        fabric.rack_count() - 1
    )
}
