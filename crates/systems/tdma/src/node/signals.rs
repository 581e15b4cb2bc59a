//! The pause frames for the hosts of one controller, in an order that rotates (§5.2.1).

use crate::options::{Signalling, TdmaSpec};
use crate::wire::Open;
use slotline_net::id::HostId;
use slotline_net::units::Rate;
use slotline_net::wire::mac_control::{Classes, Extended, Frame, Mac, Pause, Quanta};

/// The hosts under a switch, with the rates of their links.
pub type SwitchHosts = Vec<(HostId, Rate)>;

/// The pause frames of a controller.
#[derive(Clone, Debug)]
pub struct Signals {
    source: HostId,
    signalling: Signalling,
    /// Whether there is a class for short flows, which is never paused.
    short: bool,
    /// Whether the class of reports is paused outside of slots for reports.
    reports_wait: bool,
    /// The hosts by switch.
    switches: Vec<Vec<HostId>>,
}

impl Signals {
    /// The frames of a controller on host `source` with the hosts of these switches.
    pub fn new(spec: &TdmaSpec, source: HostId, switches: &[SwitchHosts]) -> Signals {
        Signals {
            source,
            signalling: spec.signalling,
            short: spec.has_short(),
            reports_wait: spec.report_slot().is_some(),
            switches: switches
                .iter()
                .map(|hosts| hosts.iter().map(|(host, _)| *host).collect())
                .collect(),
        }
    }
    /// All hosts, those of a switch before those of the next. Each turn begins with another switch, and with another
    /// host of each switch.
    pub fn order(&self, turn: usize) -> impl Iterator<Item = HostId> {
        let switches = rotated(&self.switches, turn);
        switches.flat_map(move |hosts| rotated(hosts, turn)).copied()
    }
    /// A frame that stops a host.
    pub fn stop(&self, host: HostId) -> Frame {
        self.frame(host, &mut Vec::new())
    }
    /// A frame that opens the classes of `open` for a host.
    pub fn open(&self, host: HostId, open: &[Open]) -> Frame {
        self.frame(host, &mut open.iter().map(|open| open.class).collect())
    }
    /// A frame that lets a host report.
    pub fn ask(&self, host: HostId) -> Frame {
        self.frame(host, &mut vec![self.signalling.report_class()])
    }
    /// A frame that pauses all classes but these and those that are never paused. The pause is as long as a frame can
    /// express, as hosts are not meant to resume by themselves.
    fn frame(&self, host: HostId, classes: &mut Vec<u16>) -> Frame {
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
