//! Common parts of the tests of all generators.

use super::{
    Carrier, HostLocation, HostMap, Setting, Start, Traffic, TrafficBuilder, WorkloadSpec,
};
use slotline_base::error::SpecError;
use slotline_base::rng::mix64;
use slotline_base::time::Time;
use slotline_base::units::Rate;

/// The end of runs in these tests.
pub const HORIZON: Time = Time::s(1);

/// 64 hosts at 10 Gbit/s: four to a rack, four racks to a pod.
pub fn fabric() -> HostMap {
    let place = |host: u32| HostLocation {
        pod: host / 16,
        edge: 100 + host / 4,
        rate: Rate(10_000_000_000),
    };
    HostMap { hosts: (0..64).map(place).collect() }
}

pub fn files(name: &str) -> Result<String, String> {
    match name {
        "a.csv" => Ok("src,dst,bytes,start_s\n0,5,10,0\n".into()),
        _ => Err("no such file".into()),
    }
}

type Files<'a> = &'a dyn Fn(&str) -> Result<String, String>;

fn generate(
    spec: &WorkloadSpec,
    fabric: &HostMap,
    horizon: Time,
    files: Files,
) -> Result<Traffic, SpecError> {
    let mut out = TrafficBuilder::new(fabric.hosts.len() as u32);
    spec.generate(0, &Setting { fabric, horizon, seed: 1, files: &files }, &mut out)?;
    out.finish()
}

pub fn made(spec: &WorkloadSpec, fabric: &HostMap) -> Traffic {
    generate(spec, fabric, HORIZON, &files).expect("generates")
}
pub fn refusal(spec: &WorkloadSpec, fabric: &HostMap) -> String {
    generate(spec, fabric, HORIZON, &files).expect_err("refused").to_string()
}
pub fn made_with(spec: &WorkloadSpec, fabric: &HostMap, file: &str) -> Traffic {
    generate(spec, fabric, HORIZON, &|_| Ok(file.into())).expect("generates")
}
pub fn refusal_with(spec: &WorkloadSpec, fabric: &HostMap, file: &str) -> String {
    generate(spec, fabric, HORIZON, &|_| Ok(file.into())).expect_err("refused").to_string()
}
/// The traffic of a run that ends with its last flow.
pub fn endless(spec: &WorkloadSpec) -> Result<Traffic, SpecError> {
    generate(spec, &fabric(), Time::MAX, &files)
}

/// A digest of all that defines TCP traffic.
pub fn digest(traffic: &Traffic) -> u64 {
    let start = |start| match start {
        Start::At(time) => [0, time.as_ps()],
        Start::After { trigger, delay } => [1 + u64::from(trigger), delay.as_ps()],
    };
    let conns = traffic.conns.iter().flat_map(|c| {
        let udp = u64::from(c.carrier != Carrier::Tcp);
        [c.src.0.into(), c.dst.0.into(), u64::from(c.class), c.first.0.into(), c.count.into(), udp]
    });
    let flows = traffic.flows.iter().flat_map(|f| {
        let [kind, time] = start(f.start);
        let then = f.then.map_or(0, |(trigger, when)| 1 + 2 * u64::from(trigger) + when as u64);
        [f.conn.0.into(), f.bytes, kind, time, then, f.group.into()]
    });
    let triggers = traffic.triggers.iter().flat_map(|t| [t.host.0.into(), t.count.into()]);
    conns
        .chain(flows)
        .chain(triggers)
        .fold(0, |hash, value: u64| mix64(hash ^ mix64(value.wrapping_add(1))))
}
