//! The daemon of a switch of a network that arbiters discover, and what hosts tell of their ports there, too.

use crate::daemon::{AgentOptions, Current, ask, check_address, fine};
use crate::out::say;
use crate::service::stoppable;
use anyhow::{Context, Result};
use slotline_envelope::KeyPair;
use slotline_lab::live::LiveNetwork;
use slotline_live::neighbours::Heard;
use slotline_live::observer::{Observer, ObserverSetup};
use slotline_live::ports::Ports;
use slotline_live::renewal::{Renewal, Request};
use slotline_live::running::Running;
use slotline_live::status::Shared;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The interval at which a machine looks at its ports.
const PORTS: Duration = Duration::from_secs(1);

/// Runs the daemon of a switch that only tells its neighbours.
pub fn observe(options: &AgentOptions, network: &LiveNetwork, host: &str) -> Result<ExitCode> {
    let setup = network.observer(host, options.common.key(network.config())?)?;
    if options.common.check_config {
        return Ok(fine(&options.config, network));
    }
    let ports = first_look(network, &setup.heard)?;
    let running = stoppable()?;
    let ObserverSetup { address, .. } = setup;
    let observer = Observer::open(setup, running.now())
        .with_context(|| format!("cannot use the address {address}"))?;
    let service = options.common.service.open(&format!("agent-{host}"), &running)?;
    say(&format!(
        "agent of {host} at {address}, scheme {}: tells its neighbours",
        network.scheme()
    ));
    let shared = Shared::default();
    let current = Current::new(&options.config, &options.common, network);
    // The scenario of a network with switches does not change.
    let renew = |new: &LiveNetwork, key: KeyPair, _| {
        let setup = new.observer(host, key)?;
        check_address(address, setup.address)?;
        ask(&shared, Request::Renew(Box::new(Renewal::from(setup))))
    };
    let command = |line: &str| (line == "reload").then(|| current.renew(renew));
    std::thread::scope(|scope| {
        scope.spawn(|| watch_ports(ports, &running));
        let run = || observer.run(&running, &shared).context("the agent failed");
        let ended = service.run(&shared, command, run);
        running.stop();
        ended
    })
}

/// Looks at the ports of this machine. If lldpd tells nothing yet, it may do so later.
pub fn first_look(network: &LiveNetwork, heard: &Arc<Heard>) -> Result<Ports> {
    let mut ports = network.ports(heard)?;
    if let Err(why) = ports.look() {
        crate::out::warn(format_args!("arbiters cannot discover the network: {why}"));
    }
    Ok(ports)
}

/// Looks at the ports of this machine at intervals, until the daemon is to stop.
pub fn watch_ports(mut ports: Ports, running: &Running) {
    let mut looked = Instant::now();
    while !running.stopped() {
        std::thread::sleep(Duration::from_millis(100));
        if looked.elapsed() >= PORTS {
            looked = Instant::now();
            // What was known remains.
            let _ = ports.look();
        }
    }
}
