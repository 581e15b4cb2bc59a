//! What an agent takes of its machine's traffic: the packets that the kernel holds for it, or the flows that a switch counts.

use anyhow::{Context, Result, anyhow, bail};
use slotline_lab::live::LiveNetwork;
use slotline_linux::gate::{self, Gate, Held, Joined, Kind, Origin};
use slotline_linux::tags::Tags;
use slotline_live::config::{Config, GateChoice};
use slotline_live::forwarding::Forwarding;
use slotline_live::grip::{Grip, Packets};
use slotline_live::role::Role;
use std::io;

/// Takes the traffic of this machine.
pub fn take(network: &LiveNetwork, machine: &str, role: &Role) -> Result<Grip> {
    if let Role::Switch(role) = role {
        let flows = Forwarding::open(role.flows.clone(), role.expire)
            .context("cannot count flows and send them on paths (nftables, ip rule)")?;
        return Ok(Grip::Flows(Box::new(flows)));
    }
    let paths = match role {
        Role::Host(role) => role.paths.as_ref(),
        _ => None,
    };
    let tags = paths.map(|paths| Tags::open(paths.tags.clone())).transpose();
    let tags = tags.context("cannot give packets the tags of their paths (nftables)")?;
    let held = held(network, machine, role)?;
    let marked = tags.is_some() || held.origin != Origin::Applications;
    let gate = open(network.config().agent.gate, &held, marked)?;
    Ok(Grip::Packets(Box::new(Packets::new(gate, tags))))
}

/// The packets that are held.
fn held(network: &LiveNetwork, machine: &str, role: &Role) -> Result<Held> {
    let config = network.config();
    let joined = network.room(machine, role)?.map_or(Joined::No, Joined::Within);
    let (origin, prefixes) = held_by(config, machine);
    let (hosts, tagged) = match role {
        Role::Host(role) => {
            (role.hosts.keys().copied().collect(), role.paths.as_ref().map(|of| of.tags.tagged))
        }
        _ => (Vec::new(), None),
    };
    let ports: Vec<u16> = [config.port].into_iter().chain(tagged).collect();
    Ok(Held {
        origin,
        network: prefixes,
        hosts,
        exempt_ports: [&config.agent.exempt_ports[..], &ports].concat(),
        queue: config.agent.queue,
        joined,
        timed: network.is_timed(role),
    })
}

/// Opens the gate that is chosen. `marked`: packets are released with marks, by which the kernel then chooses their way.
fn open(choice: GateChoice, held: &Held, marked: bool) -> Result<Box<dyn Gate>> {
    let fails = |gate: Kind, why: io::Error| match gate {
        Kind::Queue => {
            anyhow!(why).context("cannot hold packets of this machine (netfilter's queue)")
        }
        Kind::Packet => {
            anyhow!(why).context("cannot hold packets of this machine (veth, BPF, packet socket)")
        }
    };
    let tried = |gate: Kind| gate::open(gate, held).map_err(|why| fails(gate, why));
    match choice {
        GateChoice::Packet if marked => bail!(
            "agent.gate: \"packet\" holds packets after their way is chosen, so paths of timeslots need \"queue\""
        ),
        GateChoice::Packet => tried(Kind::Packet),
        GateChoice::Auto if !marked => tried(Kind::Queue).or_else(|why| {
            let gate = tried(Kind::Packet).map_err(|other| anyhow!("{why:#}; {other:#}"))?;
            crate::out::warn(format_args!(
                "gate packet, because the gate queue does not work: {why:#}"
            ));
            Ok(gate)
        }),
        GateChoice::Queue | GateChoice::Auto => tried(Kind::Queue),
    }
}

/// Whose packets the agent of a machine holds, and to which prefixes: those of its applications, or, on the switch of a
/// rack, those from hosts of the rack to other racks.
fn held_by(config: &Config, machine: &str) -> (Origin, Vec<String>) {
    let (own, others): (Vec<_>, Vec<_>) = config.rack.iter().partition(|rack| rack.name == machine);
    match own.first() {
        None => (Origin::Applications, config.network.clone()),
        Some(own) => {
            let others = others.into_iter().flat_map(|rack| rack.hosts.clone());
            (Origin::Hosts(own.hosts.clone()), others.collect())
        }
    }
}
