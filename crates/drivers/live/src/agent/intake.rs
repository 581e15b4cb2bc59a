//! What the kernel has for the node of an agent: packets of applications, or counts of flows.

use super::Agent;
use crate::clock::Local;
use crate::grip::Grip;
use crate::ip;
use crate::role::Role;
use slotline_linux::hold::Leave;
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::Change;
use slotline_net::time::Time;
use std::io;

impl Agent {
    /// Takes in what the kernel has for the node.
    pub(super) fn take_in(&mut self, now: Local) -> io::Result<()> {
        match &self.grip {
            Grip::Packets(_) => self.take_packets(now),
            Grip::Flows(_) => {
                self.watch_links(now)?;
                self.take_counts(now)
            }
        }
    }

    /// Tells the node which links have changed.
    fn watch_links(&mut self, now: Local) -> io::Result<()> {
        let Grip::Flows(flows) = &mut self.grip else { return Ok(()) };
        let changed = flows.changed_links()?;
        match self.clocks[self.leader].now(now) {
            Some(time) if !changed.is_empty() => self.tell_changes(&changed, time),
            _ => {}
        }
        Ok(())
    }

    /// Tells a new node the state of all links.
    pub(super) fn tell_links(&mut self, time: Time) {
        if let Grip::Flows(flows) = &self.grip {
            let all: Vec<_> = flows.links().iter().copied().enumerate().collect();
            self.tell_changes(&all, time);
        }
    }

    fn tell_changes(&mut self, changed: &[(usize, bool)], time: Time) {
        let (Role::Switch(role), Some(seat)) = (&self.setup.role, &mut self.seat) else { return };
        for &(up, works) in changed {
            let port = role.ports[up];
            seat.change(&if works { Change::Up(port) } else { Change::Down(port) }, time);
        }
    }

    /// Reads the kernel's counts if the node is about to report.
    fn take_counts(&mut self, now: Local) -> io::Result<()> {
        let time = self.time(now);
        let (Some(seat), Some(time)) = (&mut self.seat, time) else { return Ok(()) };
        let (Grip::Flows(flows), Role::Switch(role)) = (&mut self.grip, &self.setup.role) else {
            return Ok(());
        };
        if seat.next_wake() <= time {
            for (port, packet) in flows.count(&role.hosts, now)? {
                seat.receive(port, packet, &[], time);
            }
        }
        Ok(())
    }

    /// Reads packets of applications from the queue.
    fn take_packets(&mut self, now: Local) -> io::Result<()> {
        self.grip.fill()?;
        self.buffer.clear();
        while let Some(ticket) = self.grip.next(&mut self.buffer) {
            let packet = self.classify();
            self.buffer.clear();
            let time = self.time(now);
            match (packet, &mut self.seat, time) {
                (Some(packet), Some(seat), Some(time)) => {
                    let stamp = self.held.put(ticket, now);
                    seat.receive(PortId(0), Packet { stamp, ..packet }, &[], time);
                    continue;
                }
                (Some(_), ..) => self.counts.unscheduled += 1,
                (None, ..) => self.counts.exempt += 1,
            }
            self.grip.release(ticket, Leave::Now);
        }
        Ok(())
    }

    /// The packet of the model for the IP packet in the buffer; `None` if the packet is not held.
    fn classify(&self) -> Option<Packet> {
        let (packet, length) = self.setup.role.classify(&self.buffer)?;
        (u32::from(length) >= self.setup.agent.exempt_below)
            .then_some(Packet { len: self.on_wire(packet.len, length), ..packet })
    }

    /// The bytes on the wire of an IP packet of `length` bytes, which would be `one` if it left as one packet.
    fn on_wire(&self, one: u16, length: u16) -> u16 {
        let transport = &self.setup.role.plan().transport;
        let mtu = self.grip.segments().map_or(transport.mtu(), |joined| joined.mtu);
        let (parts, headers) = ip::split(&self.buffer, length, mtu);
        let more = (parts - 1) * (headers + transport.framing());
        (u32::from(one) + more).min(u16::MAX.into()) as u16
    }
}
