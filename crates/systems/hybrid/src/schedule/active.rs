//! The circuits of patch panels that are up, and the routes that they make.

use super::PanelCircuit;
use slotline_net::id::PortId;
use slotline_net::time::Time;
use slotline_net::topology::Roles;

/// The circuits of all panels, as one switch knows them.
#[derive(Clone, Debug)]
pub struct ActiveCircuits {
    roles: Roles,
    /// The number of the switch whose routes are found.
    own_seat: u32,
    /// By panel and source: where the circuit leads, and when it ends.
    circuits: Vec<Option<(u16, Time)>>,
    /// By panel and end: whether the port has failed.
    failed: Vec<bool>,
}

/// The kind of a route, the best kind first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RouteKind {
    /// One circuit leads to the destination rack.
    Direct,
    /// The first circuit leads to a core switch, the second to the destination rack.
    Core,
    /// The first circuit leads to another rack, the second to the destination rack.
    Rack,
}

/// By kind of route and destination rack, the ports of one switch by which routes begin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PanelRoutes([Vec<Vec<PortId>>; 3]);

impl PanelRoutes {
    /// No route to any of `racks` racks.
    pub fn none(racks: u32) -> PanelRoutes {
        PanelRoutes([(); 3].map(|()| vec![Vec::new(); racks as usize]))
    }
    /// The ports by which routes of one kind to a rack begin, in order.
    #[inline]
    pub fn ports(&self, kind: RouteKind, to: usize) -> &[PortId] {
        &self.0[kind as usize][to]
    }
}

impl ActiveCircuits {
    /// No circuits, as seen by switch `seat`. The numbers of core switches follow those of the racks.
    pub fn new(roles: Roles, seat: u32) -> ActiveCircuits {
        let ports = (roles.uplinks * roles.ends()) as usize;
        let (circuits, failed) = (vec![None; ports], vec![false; ports]);
        ActiveCircuits { roles, own_seat: seat, circuits, failed }
    }
    fn index(&self, uplink: u8, end: u16) -> Option<usize> {
        let exists = u32::from(uplink) < self.roles.uplinks && u32::from(end) < self.roles.ends();
        exists.then(|| usize::from(uplink) * self.roles.ends() as usize + usize::from(end))
    }
    /// A circuit is up until `until`.
    pub fn connect(&mut self, circuit: PanelCircuit, until: Time) {
        let PanelCircuit { uplink, source, to } = circuit;
        if let (Some(at), Some(_)) = (self.index(uplink, source), self.index(uplink, to)) {
            self.circuits[at] = Some((to, until));
        }
    }
    /// A circuit that would have ended at `from` stays up until `until`.
    pub fn extend(&mut self, circuit: PanelCircuit, from: Time, until: Time) {
        let Some(at) = self.index(circuit.uplink, circuit.source) else { return };
        if let Some(known) = &mut self.circuits[at]
            && *known == (circuit.to, from)
        {
            known.1 = until;
        }
    }
    /// A circuit ends, unless it was extended.
    pub fn disconnect(&mut self, circuit: PanelCircuit, now: Time) {
        let Some(at) = self.index(circuit.uplink, circuit.source) else { return };
        if self.circuits[at].is_some_and(|(to, until)| to == circuit.to && until <= now) {
            self.circuits[at] = None;
        }
    }
    /// The port of an end at a panel has failed, or works again.
    pub fn set_port(&mut self, uplink: u8, end: u16, works: bool) {
        if let Some(at) = self.index(uplink, end) {
            self.failed[at] = !works;
        }
    }
    /// Where the circuit from an end at a panel leads and when it ends, if both ports work.
    pub fn circuit_from(&self, uplink: u8, end: u16) -> Option<(u16, Time)> {
        let at = self.index(uplink, end)?;
        let (to, until) = self.circuits[at]?;
        let works = !self.failed[at] && !self.failed[self.index(uplink, to)?];
        works.then_some((to, until))
    }
    fn working(&self) -> impl Iterator<Item = PanelCircuit> {
        let ends = self.roles.ends() as u16;
        let all =
            (0..self.roles.uplinks as u8).flat_map(move |up| (0..ends).map(move |end| (up, end)));
        all.filter_map(|(uplink, source)| {
            let (to, _) = self.circuit_from(uplink, source)?;
            Some(PanelCircuit { uplink, source, to })
        })
    }
    /// The routes that the circuits make. A packet from another switch may take only a direct route, so that
    /// no packet goes in a circle. Hence a route has at most two circuits.
    pub fn routes(&self) -> PanelRoutes {
        let (racks, seats) = (self.roles.racks as usize, self.roles.seats() as usize);
        let mut reaches = vec![false; seats * racks];
        for circuit in self.working().filter(|circuit| usize::from(circuit.to) < racks) {
            let seat = self.roles.seat_of(circuit.source.into()) as usize;
            reaches[seat * racks + usize::from(circuit.to)] = true;
        }
        let mut routes = PanelRoutes::none(self.roles.racks);
        let own_ends = self.roles.ends_of(self.own_seat);
        for PanelCircuit { uplink, source, to } in
            self.working().filter(|circuit| own_ends.contains(&u32::from(circuit.source)))
        {
            let port = self.roles.end_port(source.into(), uplink.into());
            let next = self.roles.seat_of(to.into()) as usize;
            let indirect = if next < racks { RouteKind::Rack } else { RouteKind::Core };
            for rack in (0..racks).filter(|rack| *rack != self.own_seat as usize) {
                let kind = if rack == next { RouteKind::Direct } else { indirect };
                if rack == next || (self.is_rack() && reaches[next * racks + rack]) {
                    routes.0[kind as usize][rack].push(port);
                }
            }
        }
        routes
    }
    fn is_rack(&self) -> bool {
        self.own_seat < self.roles.racks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::topology::RackHosts;

    /// Three racks of one host, two core switches with two ports at each of two panels.
    fn roles() -> Roles {
        let hosts = RackHosts::new([1; 3].into_iter());
        Roles { racks: 3, hosts, packet: false, uplinks: 2, cores: 2, slots: 2 }
    }

    proptest! {
        /// A circuit is up from `connect` to `disconnect`, and longer where it was extended. Routes are those of a
        /// search over all circuits, and none has more than two circuits.
        #[test]
        fn routes_are_those_of_the_circuits_that_are_up(
            steps in prop::collection::vec((0u8..2, 0u16..7, 0u16..7, 0u8..5, 1u64..4), 0..60), seat in 0u32..5
        ) {
            let mut active = ActiveCircuits::new(roles(), seat);
            let mut list: Vec<(PanelCircuit, u64)> = Vec::new();
            let mut dead: Vec<(u8, u16)> = Vec::new();
            for (at, (uplink, source, to, what, span)) in (0u64..).zip(steps) {
                let circuit = PanelCircuit { uplink, source, to };
                let us = Time::us;
                list.retain(|&(circuit, until)| {
                    if until <= at {
                        active.disconnect(circuit, us(at));
                    }
                    until > at
                });
                match what {
                    0 => {
                        dead.push((uplink, source));
                        active.set_port(uplink, source, false);
                    }
                    1 => {
                        dead.retain(|port| *port != (uplink, source));
                        active.set_port(uplink, source, true);
                    }
                    2 => for (circuit, until) in list.iter_mut().filter(|(other, _)| *other == circuit) {
                        active.extend(*circuit, us(*until), us(*until + span));
                        active.extend(*circuit, us(*until + 100), us(1_000));
                        *until += span;
                    },
                    _ if source != to => {
                        list.retain(|(circuit, _)| (circuit.uplink, circuit.source) != (uplink, source));
                        list.push((circuit, at + span));
                        active.connect(circuit, us(at + span));
                    }
                    _ => {}
                }
                let works = |circuit: &PanelCircuit| {
                    !dead.contains(&(circuit.uplink, circuit.source)) && !dead.contains(&(circuit.uplink, circuit.to))
                };
                let live: Vec<PanelCircuit> = list.iter().map(|(circuit, _)| *circuit).filter(works).collect();
                let seat_of = |end: u16| roles().seat_of(end.into());
                let routes = active.routes();
                for rack in (0..3u32).filter(|rack| *rack != seat) {
                    let mut want: [Vec<PortId>; 3] = Default::default();
                    for circuit in live.iter().filter(|circuit| seat_of(circuit.source) == seat) {
                        let next = seat_of(circuit.to);
                        let port = roles().end_port(circuit.source.into(), circuit.uplink.into());
                        let on = live.iter().any(|on| seat_of(on.source) == next && u32::from(on.to) == rack);
                        let rank = if next == rack { 0 } else if next < 3 { 2 } else { 1 };
                        if rank == 0 || (on && seat < 3) {
                            want[rank].push(port);
                        }
                    }
                    for (kind, mut want) in [RouteKind::Direct, RouteKind::Core, RouteKind::Rack].into_iter().zip(want) {
                        let mut found = routes.ports(kind, rack as usize).to_vec();
                        found.sort_unstable();
                        want.sort_unstable();
                        prop_assert_eq!(found, want);
                    }
                }
            }
        }
    }
}
