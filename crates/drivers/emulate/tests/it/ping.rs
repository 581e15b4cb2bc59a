//! `ping` between two hosts.

use crate::network::{hosts, joined};
use slotline_emulate::clock::Dilation;
use slotline_emulate::namespace::{GateKind, inside};
use slotline_net::time::Time;
use slotline_net::topology::StarSpec;
use std::process::Command;

/// The round trips in milliseconds.
fn round_trips(output: &str) -> Vec<f64> {
    let times = output.split("time=").skip(1);
    times.filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect()
}

fn pings(gate: GateKind, dilation: f64) {
    let hosts = match hosts(3, gate) {
        Ok(hosts) => hosts,
        Err(why) => return println!("skipped: {why}"),
    };
    let star = StarSpec { delay: Time::ms(1), ..StarSpec::new(3) };
    let ping = || Command::new("ping").args(["-c", "5", "-i", "0.1", "10.77.0.2"]).output();
    let (output, ended) = joined(hosts, star, Dilation::new(dilation).unwrap(), |namespaces| {
        inside(namespaces[0], ping)
    });
    let Ok(output) = output else { return println!("skipped: `ping` is not installed") };
    let text = String::from_utf8_lossy(&output.stdout);
    let times = round_trips(&text);
    assert_eq!(times.len(), 5, "{text}");
    let least = times.iter().copied().fold(f64::MAX, f64::min);
    assert!(least >= 4.0 * dilation, "four links of a millisecond: {text}");
    assert!(least < 8.0 * dilation, "{text}");
    assert_eq!((ended.counts.entered, ended.counts.delivered), (10, 10));
    println!(
        "{text} {:?} {:?}",
        ended.fidelity.deliveries.per_mille(990),
        ended.fidelity.cpu_share
    );
}

#[test]
fn the_delay_of_the_network_is_what_ping_sees() {
    pings(GateKind::Interface, 1.0);
    pings(GateKind::Packet, 1.0);
    pings(GateKind::Xdp, 1.0);
    pings(GateKind::Queue, 1.0);
    pings(GateKind::Queue, 10.0);
}
