//! The kernel's TCP learns of circuits, as simulated hosts do: from packets that arrive, or from messages.

use crate::ipv4;
use slotline_congestion::{Control, Signal};
use slotline_net::frame::Packet;
use slotline_net::id::HostId;
use slotline_net::wire::path_news::PathNews;
use std::io;

/// A state that a message gave. Packets no longer change it.
const NOTIFIED: u8 = 128;

/// Tells a congestion control of the kernel.
pub struct Circuits {
    control: Control,
    signal: Signal,
    hosts: u32,
    /// By host and other host: the last state, as `Circuits::bits` of the model.
    told: Vec<u8>,
}

impl Circuits {
    /// No circuit is announced to any of the hosts.
    pub fn new(control: Control, signal: Signal, hosts: u32) -> Circuits {
        Circuits { control, signal, hosts, told: vec![0; (hosts * hosts) as usize] }
    }

    /// The name under which the kernel knows the congestion control.
    pub fn name(&self) -> &str {
        self.control.name()
    }

    /// A packet from host `from` is about to arrive, with the state of circuits in the other direction.
    pub(crate) fn arrive(
        &mut self,
        from: u32,
        packet: &Packet,
        bytes: &mut [u8],
    ) -> io::Result<()> {
        let circuits = packet.circuits;
        if self.signal == Signal::Marks {
            if circuits.announced() {
                ipv4::set_echo(bytes);
            }
            return Ok(());
        }
        let told = &mut self.told[(packet.dst.0 * self.hosts + from) as usize];
        let state = circuits.with_taken(0).bits();
        if *told & NOTIFIED != 0 || *told == state {
            return Ok(());
        }
        *told = state;
        self.control.tell(packet.dst.0, from, 1, state)
    }

    /// The switch of its rack has notified a host.
    pub(crate) fn notify(&mut self, host: HostId, news: &PathNews) -> io::Result<()> {
        if self.signal == Signal::Marks {
            return Ok(());
        }
        let (own, first) = (host.0 * self.hosts, news.first.0.min(self.hosts));
        let end = first.saturating_add(news.hosts).min(self.hosts);
        let state = news.circuits.with_taken(0).bits();
        self.told[(own + first) as usize..(own + end) as usize].fill(state | NOTIFIED);
        self.control.tell(host.0, first, end - first, state)
    }
}
