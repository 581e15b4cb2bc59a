//! Compares waiting times with queueing theory.

use crate::common::{assemble, drain, node};
use crate::nodes::{Act, Made};
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::{Cx, PacketAccount};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};

/// In place of a host: adds up the arrival times of packets.
#[derive(Default)]
struct Clock {
    packets: u64,
    sum_ps: u128,
}

impl Act for Clock {
    fn receive(&mut self, _port: PortId, _packet: Packet, cx: &mut Cx<'_>) {
        self.packets += 1;
        self.sum_ps += u128::from(cx.now.as_ps());
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { consumed: self.packets, ..PacketAccount::default() }
    }
}

/// Bytes of a full datagram on the wire.
const PACKET: Bytes = Bytes(1_538);
const SERVER: Rate = Rate(1_000_000_000);
/// A link so fast that nothing waits: 0.25 % of the server's time per packet.
const FAST: Rate = Rate(400_000_000_000);

/// Packets and the sum of their arrival times, behind a link of `rate`. Arrivals are Poisson and load the server to
/// `load`.
fn arrivals(load: f64, rate: Rate, packets: u64) -> (u64, u128) {
    let offered = Rate((SERVER.0 as f64 * load) as u64);
    let until = offered.time_for(PACKET).times(packets);
    let text = format!(
        r#"
        name = "M/D/1"
        end = {{ at = "1000s" }}
        [fabric]
        kind = "star"
        hosts = 2
        rate = "{FAST}"
        overrides = [{{ link = "s0-h1", rate = "{rate}" }}]
        [[workload]]
        kind = "udp"
        rate = "{offered}"
        message = "1472B"
        poisson = true
        until = "{until}"
        [[scheme]]
        name = "fifo"
        queue = {{ kind = "drop-tail", limit = "1GB" }}
        "#
    );
    let mut network = assemble(&text, 1).network;
    let sink = network.graph.hosts[1].at();
    network.places[sink] = Made::place(Clock::default());
    let outcome = drain(network, 1);
    assert!(outcome.conservation.holds() && outcome.conservation.in_flight == 0);
    assert_eq!(outcome.conservation.dropped, [0; 7]);
    let Made(clock): &Made<Clock> = node(&outcome, sink);
    (clock.packets, clock.sum_ps)
}

/// Mean wait in service times: with a slow server, the same arrivals are later by their wait.
fn mean_wait(load: f64, packets: u64) -> f64 {
    let (count, slow) = arrivals(load, SERVER, packets);
    let (same, fast) = arrivals(load, FAST, packets);
    assert_eq!(count, same);
    let (service, hardly) = (SERVER.time_for(PACKET), FAST.time_for(PACKET));
    let later = (slow - fast) as f64 / count as f64;
    later / service.as_ps() as f64 - 1.0 + hardly.as_ps() as f64 / service.as_ps() as f64
}

/// Pollaczek and Khinchine: a customer of M/D/1 waits rho / (2 (1 - rho)) service times on average.
#[test]
fn poisson_arrivals_wait_as_in_m_d_1() {
    for (load, packets) in [(0.3, 1_000_000), (0.6, 1_000_000), (0.8, 2_000_000)] {
        let (wait, theory) = (mean_wait(load, packets), load / (2.0 * (1.0 - load)));
        assert!((wait / theory - 1.0).abs() < 0.02, "load {load}: {wait} for {theory}");
    }
}

/// Evenly spaced arrivals below the server's rate never wait.
#[test]
fn constant_arrivals_do_not_wait() {
    let text = r#"
        name = "D/D/1"
        end = { at = "100ms" }
        fabric = { kind = "star", hosts = 2, rate = "1Gbps" }
        workload = [{ kind = "udp", rate = "990Mbps", message = "1472B", until = "50ms" }]
        scheme = [{ name = "fifo" }]
        "#;
    let network = assemble(text, 1).network;
    let switch = network.graph.node_named("s0").expect("a star has one");
    let outcome = drain(network, 1);
    let port = outcome.ports[switch.at()][1];
    assert!(port.packets > 4_000 && port.peak <= PACKET.0, "{port:?}");
    assert!(outcome.reached > Time::ms(50));
}
