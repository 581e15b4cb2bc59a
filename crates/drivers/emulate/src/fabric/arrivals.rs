//! Packets that arrive at hosts, on their way to the kernels of these.

use super::{Fabric, mark};
use crate::clock::Clock;
use crate::frames::State;
use crate::namespace::Host;
use crate::port::PREFIX;
use crate::seat::Seat;
use slotline_net::frame::{CE, Packet};
use slotline_net::time::Time;
use std::io;

impl Fabric<'_> {
    /// Notes that a packet has arrived at its host. The kernel gets it together with segments that follow at once.
    pub(super) fn arrive(&mut self, packet: &Packet, at: Time, clock: &Clock) -> io::Result<()> {
        let frame = &mut self.frames.slots[packet.stamp as usize];
        if packet.has(CE) {
            mark(&mut frame.bytes[PREFIX..], self.addresses, packet.dst);
        }
        if let Some(circuits) = &mut self.circuits {
            circuits.arrive(frame.host, packet, &mut frame.bytes[PREFIX..])?;
        }
        if frame.state != State::Here {
            self.counts.refused += 1;
            self.frames.free(packet.stamp);
            return Ok(());
        }
        let host = packet.dst.at();
        let bytes = &self.frames.slots[packet.stamp as usize].bytes;
        let seat = &self.seats[host];
        if !(seat.host.port.joins() && seat.arrived.continues(&self.frames, bytes)) {
            self.deliver(host, clock);
        }
        if self.seats[host].arrived.is_empty() {
            self.receiving.push(host);
        }
        let bytes = &self.frames.slots[packet.stamp as usize].bytes;
        self.seats[host].arrived.push(packet.stamp, at, bytes);
        Ok(())
    }

    /// Gives the segments that have arrived to the kernels of their hosts.
    pub(super) fn deliver_all(&mut self, clock: &Clock) {
        let mut receiving = std::mem::take(&mut self.receiving);
        for host in receiving.drain(..) {
            self.deliver(host, clock);
            self.seats[host].host.port.flush_delivered();
        }
        self.receiving = receiving;
    }

    /// Gives the segments that have arrived at a host to its kernel.
    fn deliver(&mut self, host: usize, clock: &Clock) {
        let Seat { host: Host { port, .. }, arrived, .. } = &mut self.seats[host];
        let taken = port.deliver(&arrived.parts(&self.frames));
        for (handle, at) in arrived.drain() {
            self.counts.delivered += u64::from(taken);
            self.counts.refused += u64::from(!taken);
            self.fidelity.deliveries.add(clock.since(at));
            self.frames.free(handle);
        }
    }
}
