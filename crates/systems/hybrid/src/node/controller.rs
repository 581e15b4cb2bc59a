//! The machine that controls the circuits of a real network: the scheduler, and the program of the circuit switches.
//!
//! In simulation circuit switches follow the schedule by themselves. On a real network they have to be told. The node has
//! a port for each circuit switch, after those of the racks, and sends a line of text by it for each change:
//!
//! ```text
//! {"switch":0,"change":7,"in-us":5000,"circuits":[[0,1],[1,2],[2,0]]}
//! ```
//!
//! The present circuits of `switch` may go down at once, and `circuits`, from rack to rack, must be up in `in-us`
//! microseconds, at least half a night. The answer is the number of the change, as text. Then the controller tells each rack its
//! circuit, and from when until when that may be used. A rack uses no circuit of which it was not told. So if the controller ends,
//! racks end with the circuits that are up; if it or the switch is late, racks wait; and a rack whose plan of a week is another one
//! than that of the controller has only circuits that are in both.
//!
//! Racks are machines with keys of their own. A rack is heard only about itself, once in each week, and only about weeks
//! that are near.

use super::scheduler::SchedulerConfig;
use super::{CircuitScheduler, message};
use crate::NO_RACK;
use crate::control::CircuitProgram;
use crate::counters;
use crate::schedule::{SwitchChange, SwitchProgram};
use crate::wire::{Message, ToldCircuit};
use slotline_circuits::Week;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Counters, Cx, Node, PacketAccount};
use slotline_net::time::Time;
use slotline_net::topology::Roles;
use slotline_net::wire::ETHERNET_OVERHEAD;
use std::fmt::Write;

/// The token of its wake-ups. Other tokens are those of the scheduler.
const CHANGE: u32 = 99;
/// How many weeks after the present one a report may be about. Clocks of racks may be ahead.
const NEAR: u64 = 2;

/// Where the weeks of the circuit switches come from.
enum Source {
    /// Each switch repeats a week.
    Repeated(Vec<Week>),
    /// The scheduler plans weeks of this length. `next` is the first week that is not known.
    Planned { latest: Vec<Week>, next: u64, length: Time },
}

/// The node of the controller.
pub struct CircuitController {
    roles: Roles,
    scheduler: CircuitScheduler,
    source: Source,
    programs: Vec<SwitchProgram>,
    /// By circuit switch, until when racks may use its circuits.
    told: Vec<Time>,
    /// By circuit switch, the change that it has not confirmed yet.
    unconfirmed: Vec<Option<u64>>,
    /// By rack, where its circuit leads; for the switch that is told.
    leads: Vec<u16>,
    /// By rack, the week of its latest report.
    reported: Vec<u64>,
    /// The earliest wake-up that was requested and has not come.
    wake: Time,
    account: PacketAccount,
    changes: u64,
    refused: u64,
}

impl CircuitController {
    /// The controller of a program of circuits, with nights of length `night`.
    pub fn new(
        program: &CircuitProgram,
        night: Time,
        scheduler: SchedulerConfig,
    ) -> CircuitController {
        let source = match program {
            CircuitProgram::Static { weeks } => Source::Repeated(weeks.clone()),
            CircuitProgram::Weekly { first, length, .. } => {
                Source::Planned { latest: first.clone(), next: 0, length: *length }
            }
        };
        let roles = scheduler.roles.clone();
        CircuitController {
            scheduler: CircuitScheduler::new(scheduler),
            source,
            told: vec![Time::ZERO; roles.uplinks as usize],
            unconfirmed: vec![None; roles.uplinks as usize],
            programs: (0..roles.uplinks).map(|_| SwitchProgram::new(night)).collect(),
            leads: Vec::with_capacity(roles.racks as usize),
            reported: vec![0; roles.racks as usize],
            roles,
            wake: Time::MAX,
            account: PacketAccount::default(),
            changes: 0,
            refused: 0,
        }
    }

    /// Adds the weeks that begin by `now`, or within a week where they are known before. Weeks that are over are left
    /// out.
    fn learn(&mut self, now: Time) {
        match &mut self.source {
            Source::Repeated(weeks) => {
                for (program, week) in self.programs.iter_mut().zip(weeks) {
                    let span = Time::ps(week.span());
                    program.skip_to(span.times(number_of(now, span)));
                    while program.known() <= now.after(span) {
                        program.add_week(week);
                    }
                }
            }
            Source::Planned { latest, next, length } => {
                *next = number_of(now, *length).max(*next);
                while length.times(*next) <= now {
                    for (program, week) in self.programs.iter_mut().zip(&*latest) {
                        program.skip_to(length.times(*next));
                        program.add_week(week);
                    }
                    *next += 1;
                }
            }
        }
    }

    /// A week was planned and sent to the racks. If it is late, it is used as the racks use it.
    fn plan(&mut self, week: u64, weeks: Vec<Week>) {
        let Source::Planned { latest, next, .. } = &mut self.source else { return };
        if week == *next {
            self.programs.iter_mut().zip(&weeks).for_each(|(of, week)| of.add_week(week));
            *next += 1;
        }
        *latest = weeks;
    }

    /// When weeks have to be added.
    fn learns(&self) -> Time {
        match &self.source {
            Source::Repeated(weeks) => {
                let at = |(program, week): (&SwitchProgram, &Week)| {
                    program.known().since(Time::ps(week.span()))
                };
                self.programs.iter().zip(weeks).map(at).min().unwrap_or(Time::MAX)
            }
            Source::Planned { next, length, .. } => length.times(*next),
        }
    }

    /// Does all that is due.
    fn run(&mut self, cx: &mut Cx<'_>) {
        if let Some((week, weeks)) = self.scheduler.take_sent() {
            self.plan(week, weeks);
        }
        self.learn(cx.now);
        for switch in 0..self.programs.len() {
            while let Some(change) = self.programs[switch].due(cx.now) {
                self.change(switch, &change, cx);
            }
            self.tell_racks(switch, cx);
        }
        let next = self.programs.iter().map(SwitchProgram::next).min().unwrap_or(Time::MAX);
        let next = next.min(self.learns());
        if next < self.wake {
            self.wake = next;
            cx.wake(next, CHANGE);
        }
    }

    /// Tells a circuit switch its next circuits.
    fn change(&mut self, switch: usize, change: &SwitchChange, cx: &mut Cx<'_>) {
        self.changes += 1;
        self.unconfirmed[switch] = Some(self.changes);
        let line = line(switch, self.changes, change, cx.now).into_bytes();
        let packet = cx.attach((HostId(0), HostId(0)), line, ETHERNET_OVERHEAD, 0);
        self.account.created += 1;
        cx.send(PortId((self.roles.seats() as usize + switch) as u16), packet);
    }

    /// A circuit switch confirms a change. Returns whether it is the latest one.
    fn confirm(&mut self, switch: usize, text: &[u8]) -> bool {
        let change = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let Some(latest) = self.unconfirmed.get_mut(switch) else { return false };
        change.is_some() && latest.take_if(|latest| Some(*latest) == change).is_some()
    }

    /// Tells each rack its circuit by a switch and when to use it, if that has changed and the switch has confirmed it.
    fn tell_racks(&mut self, switch: usize, cx: &mut Cx<'_>) {
        let program = &self.programs[switch];
        let (from, until) = program.use_of_present();
        if until <= self.told[switch] || self.unconfirmed[switch].is_some() {
            return;
        }
        self.told[switch] = until;
        self.leads.clear();
        self.leads.resize(self.roles.racks as usize, NO_RACK);
        program.present().iter().for_each(|(rack, to)| self.leads[usize::from(*rack)] = *to);
        for (rack, &to) in (0..).zip(&self.leads) {
            let circuit = ToldCircuit { to, from, until };
            let packet = message(Message::Told { uplink: switch as u8, circuit }.emit(), cx);
            self.account.created += 1;
            cx.send(PortId(rack), packet);
        }
    }

    /// Whether a message is one that the rack at `port` may send now.
    fn accepts(&mut self, port: PortId, message: &Message, now: Time) -> bool {
        match message {
            Message::Report { week, rack, .. } => {
                let Source::Planned { length, .. } = self.source else { return false };
                let near = *week <= number_of(now, length) + NEAR;
                let last = self.reported.get_mut(port.at()).filter(|_| near && *rack == port.0);
                last.is_some_and(|last| std::mem::replace(last, *week) < *week)
            }
            Message::Port { rack, .. } => self.roles.seat_of((*rack).into()) == u32::from(port.0),
            Message::Plan { .. } | Message::Told { .. } => false,
        }
    }
}

/// The number of the week of this length in which `now` is.
fn number_of(now: Time, length: Time) -> u64 {
    now.as_ps() / length.as_ps()
}

/// The line that tells a switch about a change.
fn line(switch: usize, number: u64, change: &SwitchChange, now: Time) -> String {
    let us = change.up_by.since(now).as_ns() / 1_000;
    let mut line =
        format!("{{\"switch\":{switch},\"change\":{number},\"in-us\":{us},\"circuits\":[");
    for (at, (from, to)) in change.circuits.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        // Text has room for everything.
        let _ = write!(line, "{comma}[{from},{to}]");
    }
    line + "]}"
}

impl Node for CircuitController {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.run(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if let Some(switch) = port.at().checked_sub(self.roles.seats() as usize) {
            self.account.consumed += 1;
            let text = cx.detach(&packet);
            self.refused += u64::from(!self.confirm(switch, &text));
            return self.run(cx);
        }
        let message = match packet.kind {
            Kind::Control => Message::parse(&cx.detach(&packet)).ok(),
            _ => None,
        };
        match message.filter(|message| self.accepts(port, message, cx.now)) {
            Some(message) => self.scheduler.hear(message, cx),
            None => {
                self.account.consumed += 1;
                self.refused += 1;
            }
        }
        self.run(cx);
    }

    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            CHANGE if self.wake <= cx.now => self.wake = Time::MAX,
            CHANGE => {}
            _ => self.scheduler.expire(token, cx),
        }
        self.run(cx);
    }

    fn account(&self) -> PacketAccount {
        let scheduler = self.scheduler.account();
        PacketAccount {
            created: self.account.created + scheduler.created,
            consumed: self.account.consumed + scheduler.consumed,
            ..scheduler
        }
    }

    fn add_counters(&self, counters: &mut Counters) {
        self.scheduler.add_counters(counters);
        counters.add(counters::SWITCH_CHANGES, self.changes);
        counters.add(counters::REFUSED_REPORTS, self.refused);
    }
}
