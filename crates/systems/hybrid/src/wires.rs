//! Which circuits of patch panels are in force, and what ways to racks follow from them.

use super::agenda::Wire;
use slotline_net::id::PortId;
use slotline_net::time::Time;
use slotline_net::topology::Roles;

/// The circuits of all switches, as one of them knows them.
#[derive(Clone, Debug)]
pub struct Wires {
    roles: Roles,
    /// The switch that asks.
    seat: u32,
    /// By panel and source: where a circuit leads, and until when.
    now: Vec<Option<(u16, Time)>>,
    /// By panel and end: its port does not work.
    dead: Vec<bool>,
}

/// What kind of way it is; the better ones first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// A circuit that leads there.
    Direct,
    /// By a core switch.
    Core,
    /// By another rack.
    Rack,
}

/// Ports by which racks can be reached from one switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ways([Vec<Vec<PortId>>; 3]);

impl Ways {
    /// None to any of so many racks.
    pub fn none(racks: u32) -> Ways {
        Ways([(); 3].map(|()| vec![Vec::new(); racks as usize]))
    }
    /// The ports of one kind of way to a rack, in order.
    #[inline]
    pub fn of(&self, rank: Rank, to: usize) -> &[PortId] {
        &self.0[rank as usize][to]
    }
}

impl Wires {
    /// No circuits, as switch `seat` sees it: a rack's number, or from `racks` on a core's.
    pub fn new(roles: Roles, seat: u32) -> Wires {
        let ports = (roles.uplinks * roles.ends()) as usize;
        Wires { roles, seat, now: vec![None; ports], dead: vec![false; ports] }
    }
    fn at(&self, uplink: u8, end: u16) -> Option<usize> {
        let there = u32::from(uplink) < self.roles.uplinks && u32::from(end) < self.roles.ends();
        there.then(|| usize::from(uplink) * self.roles.ends() as usize + usize::from(end))
    }
    /// A circuit is in force until `until`.
    pub fn up(&mut self, wire: Wire, until: Time) {
        if let (Some(at), Some(_)) =
            (self.at(wire.uplink, wire.source), self.at(wire.uplink, wire.to))
        {
            self.now[at] = Some((wire.to, until));
        }
    }
    /// A circuit that would have ended at `from` stays until `until`.
    pub fn stay(&mut self, wire: Wire, from: Time, until: Time) {
        let Some(at) = self.at(wire.uplink, wire.source) else { return };
        if let Some(now) = &mut self.now[at]
            && *now == (wire.to, from)
        {
            now.1 = until;
        }
    }
    /// A circuit ends, unless it was told to stay.
    pub fn down(&mut self, wire: Wire, now: Time) {
        let Some(at) = self.at(wire.uplink, wire.source) else { return };
        if self.now[at].is_some_and(|(to, until)| to == wire.to && until <= now) {
            self.now[at] = None;
        }
    }
    /// The port of an end at a panel works from now on, or does not.
    pub fn port(&mut self, uplink: u8, end: u16, works: bool) {
        if let Some(at) = self.at(uplink, end) {
            self.dead[at] = !works;
        }
    }
    /// Where the port of an end at a panel leads, and until when, if both ports work.
    pub fn leads(&self, uplink: u8, end: u16) -> Option<(u16, Time)> {
        let at = self.at(uplink, end)?;
        let (to, until) = self.now[at]?;
        let works = !self.dead[at] && !self.dead[self.at(uplink, to)?];
        works.then_some((to, until))
    }
    /// All circuits in force: panel, source, destination.
    fn all(&self) -> impl Iterator<Item = (u8, u16, u16)> {
        let ends = self.roles.ends() as u16;
        let all =
            (0..self.roles.uplinks as u8).flat_map(move |up| (0..ends).map(move |end| (up, end)));
        all.filter_map(|(uplink, end)| Some((uplink, end, self.leads(uplink, end)?.0)))
    }
    /// The ways that circuits in force make. A packet from another switch has to go straight to where it is for, so
    /// that none goes round: hence these ways have two circuits at most.
    pub fn ways(&self) -> Ways {
        let (racks, seats) = (self.roles.racks as usize, self.roles.seats() as usize);
        let mut reaches = vec![false; seats * racks];
        for (_, source, to) in self.all().filter(|(.., to)| usize::from(*to) < racks) {
            let seat = self.roles.seat_of(source.into()) as usize;
            reaches[seat * racks + usize::from(to)] = true;
        }
        let mut ways = Ways::none(self.roles.racks);
        let own = self.roles.ends_of(self.seat);
        let mine = self.all().filter(|(_, source, _)| own.contains(&u32::from(*source)));
        for (uplink, source, to) in mine {
            let port = self.roles.end_port(source.into(), uplink.into());
            let next = self.roles.seat_of(to.into()) as usize;
            let by = if next < racks { Rank::Rack } else { Rank::Core };
            for rack in (0..racks).filter(|rack| *rack != self.seat as usize) {
                let rank = if rack == next { Rank::Direct } else { by };
                if rack == next || (self.is_rack() && reaches[next * racks + rack]) {
                    ways.0[rank as usize][rack].push(port);
                }
            }
        }
        ways
    }
    fn is_rack(&self) -> bool {
        self.seat < self.roles.racks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three racks of one host, two core switches with two ports at each of two panels.
    const ROLES: Roles =
        Roles { racks: 3, hosts: 1, packet: false, uplinks: 2, cores: 2, slots: 2 };

    proptest! {
        /// A circuit is in force from `up` to `down`, and longer where it was told to stay; ways are those of a search
        /// over all circuits, and from any switch none is longer than two circuits.
        #[test]
        fn ways_are_what_circuits_in_force_make(
            steps in prop::collection::vec((0u8..2, 0u16..7, 0u16..7, 0u8..5, 1u64..4), 0..60), seat in 0u32..5
        ) {
            let mut wires = Wires::new(ROLES, seat);
            let mut list: Vec<(Wire, u64)> = Vec::new();
            let mut dead: Vec<(u8, u16)> = Vec::new();
            for (at, (uplink, source, to, what, span)) in (0u64..).zip(steps) {
                let wire = Wire { uplink, source, to };
                let us = Time::us;
                list.retain(|&(wire, until)| {
                    if until <= at {
                        wires.down(wire, us(at));
                    }
                    until > at
                });
                match what {
                    0 => {
                        dead.push((uplink, source));
                        wires.port(uplink, source, false);
                    }
                    1 => {
                        dead.retain(|port| *port != (uplink, source));
                        wires.port(uplink, source, true);
                    }
                    2 => for (wire, until) in list.iter_mut().filter(|(other, _)| *other == wire) {
                        wires.stay(*wire, us(*until), us(*until + span));
                        wires.stay(*wire, us(*until + 100), us(1_000));
                        *until += span;
                    },
                    _ if source != to => {
                        list.retain(|(wire, _)| (wire.uplink, wire.source) != (uplink, source));
                        list.push((wire, at + span));
                        wires.up(wire, us(at + span));
                    }
                    _ => {}
                }
                let works = |wire: &Wire| {
                    !dead.contains(&(wire.uplink, wire.source)) && !dead.contains(&(wire.uplink, wire.to))
                };
                let live: Vec<Wire> = list.iter().map(|(wire, _)| *wire).filter(works).collect();
                let seat_of = |end: u16| ROLES.seat_of(end.into());
                let ways = wires.ways();
                for rack in (0..3u32).filter(|rack| *rack != seat) {
                    let mut want: [Vec<PortId>; 3] = Default::default();
                    for wire in live.iter().filter(|wire| seat_of(wire.source) == seat) {
                        let next = seat_of(wire.to);
                        let port = ROLES.end_port(wire.source.into(), wire.uplink.into());
                        let on = live.iter().any(|on| seat_of(on.source) == next && u32::from(on.to) == rack);
                        let rank = if next == rack { 0 } else if next < 3 { 2 } else { 1 };
                        if rank == 0 || (on && seat < 3) {
                            want[rank].push(port);
                        }
                    }
                    for (rank, mut want) in [Rank::Direct, Rank::Core, Rank::Rack].into_iter().zip(want) {
                        let mut found = ways.of(rank, rack as usize).to_vec();
                        found.sort_unstable();
                        want.sort_unstable();
                        prop_assert_eq!(found, want);
                    }
                }
            }
        }
    }
}
