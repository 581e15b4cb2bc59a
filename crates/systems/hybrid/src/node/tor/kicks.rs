//! Which circuits are asked for a packet when one arrives at an empty queue.

use super::{Relay, Tor};
use slotline_net::node::Cx;

impl Tor {
    /// Kicks the circuits that may take the first own packet for `to`.
    #[inline]
    pub(super) fn kick_own(&self, to: usize, len: u16, cx: &mut Cx<'_>) {
        let leads = |next, relay: Option<&Relay>| {
            (next == to) | relay.is_some_and(|relay| relay.leads(next, to))
        };
        self.kick_circuits(to, len, leads, cx);
    }

    /// Kicks the circuits that may take the first packet for `to`, of `len` bytes. If no other packet waits here, only the
    /// circuits that it `may_take` are kicked, and only one if that is free.
    #[inline(always)]
    pub(super) fn kick_circuits(
        &self,
        to: usize,
        len: u16,
        may_take: impl Fn(usize, Option<&Relay>) -> bool,
        cx: &mut Cx<'_>,
    ) {
        let relay = self.relay.as_ref();
        if self.account.held > 1 {
            return self.kick_where(|next| relay.is_some() || next == to, cx);
        }
        // A free circuit takes the packet at once, and the others would find nothing. The driver asks the port first that was
        // kicked last.
        let mut free = None;
        for (uplink, open) in self.open.iter().enumerate() {
            let Some((next, until)) = *open else { continue };
            // All three are computed, because none can be predicted.
            let is_free = self.busy_until[uplink] < cx.now;
            let fits = cx.now + self.paces[uplink].time_for(len.into()) <= until;
            if is_free & fits & may_take(next.into(), relay) {
                free = Some(uplink);
            }
        }
        match free {
            Some(uplink) => cx.kick(self.ports.circuit(uplink as u32)),
            None => self.kick_where(|next| may_take(next, relay), cx),
        }
    }

    /// Kicks the circuits that lead to some racks.
    fn kick_where(&self, leads: impl Fn(usize) -> bool, cx: &mut Cx<'_>) {
        for (uplink, open) in (0..).zip(&self.open) {
            if open.is_some_and(|(next, _)| leads(next.into())) {
                cx.kick(self.ports.circuit(uplink));
            }
        }
    }
}
