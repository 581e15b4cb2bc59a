//! Pause frames for the hosts of one controller, in an order that rotates (§5.2.1).

use crate::options::{Signalling, TdmaSpec};
use crate::wire::Open;
use slotline_net::id::HostId;
use slotline_net::units::Rate;
use slotline_net::wire::mac_control::{Classes, Extended, Frame, Mac, Pause, Quanta};

/// The hosts under a switch, with the rates of their links.
pub type SwitchHosts = Vec<(HostId, Rate)>;

/// What a controller says to its hosts.
#[derive(Clone, Debug)]
pub struct Signals {
    source: HostId,
    signalling: Signalling,
    /// Whether short flows' class is never paused.
    short: bool,
    /// Whether reports' class is paused but in slots of its own.
    reports_wait: bool,
    switches: Vec<SwitchHosts>,
}

impl Signals {
    /// For a controller on host `source` with hosts under these switches.
    pub fn new(spec: &TdmaSpec, source: HostId, switches: Vec<SwitchHosts>) -> Signals {
        Signals {
            source,
            signalling: spec.signalling,
            short: spec.has_short(),
            reports_wait: spec.report_slot().is_some(),
            switches,
        }
    }
    /// All hosts, those of a switch before those of the next; turn by turn, another switch and another
    /// host of each switch begin.
    pub fn order(&self, turn: usize) -> impl Iterator<Item = (HostId, Rate)> {
        let switches = rotated(&self.switches, turn);
        switches.flat_map(move |hosts| rotated(hosts, turn)).copied()
    }
    /// Stops a host.
    pub fn stop(&self, (host, rate): (HostId, Rate)) -> Frame {
        self.frame(host, rate, &mut Vec::new())
    }
    /// Lets a host send what `open` says.
    pub fn open(&self, (host, rate): (HostId, Rate), open: &[Open]) -> Frame {
        self.frame(host, rate, &mut open.iter().map(|open| open.class).collect())
    }
    /// Lets a host report.
    pub fn ask(&self, (host, rate): (HostId, Rate)) -> Frame {
        self.frame(host, rate, &mut vec![self.signalling.report_class()])
    }
    /// Pauses all but these classes, and those that are never paused, for as long as a frame can say:
    /// hosts are not meant to go on by themselves.
    fn frame(&self, host: HostId, _rate: Rate, classes: &mut Vec<u16>) -> Frame {
        let report = self.signalling.report_class();
        if self.signalling != Signalling::Pause {
            classes.extend(self.short.then_some(report - 1));
            classes.extend((!self.reports_wait).then_some(report));
            classes.sort_unstable();
            classes.dedup();
        }
        let pause = match self.signalling {
            Signalling::Pause if classes.is_empty() => Pause::All(Quanta::MAX),
            Signalling::Pause => Pause::All(Quanta::NONE),
            Signalling::Pfc => {
                let open = classes.iter().fold(0, |open, class| open | 1 << class);
                Pause::Classes(Classes::all_but(open, Quanta::MAX))
            }
            Signalling::Extended => Pause::Extended(Extended::all_but(classes, Quanta::MAX)),
        };
        Frame { destination: Mac::of(host), source: Mac::of(self.source), pause }
    }
}

fn rotated<T>(items: &[T], turn: usize) -> impl Iterator<Item = &T> {
    let (head, tail) = items.split_at(turn % items.len().max(1));
    tail.iter().chain(head)
}
