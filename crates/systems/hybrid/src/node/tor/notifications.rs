//! Messages that notify the hosts of a rack of circuits that begin and end.

use super::Tor;
use crate::schedule::Condition;
use crate::{NotifySpec, NotifyTo};
use slotline_net::frame::{CLASSES, Circuits};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Cx;
use slotline_net::wire::path_news::{OVERHEAD, PathNews};

/// What hosts were notified of, and which hosts are to be notified.
pub(super) struct Notifications {
    spec: NotifySpec,
    /// By rack, whether the last notification said that there is a circuit.
    announced: Vec<bool>,
    hosts: usize,
    /// By rack and host, whether the host has sent to the rack since its last circuit ended, and between the end
    /// of that circuit and of the one before.
    senders: Vec<[bool; 2]>,
    /// The number of messages that were sent.
    pub sent: u64,
}

impl Notifications {
    /// No host was notified of anything.
    pub fn new(spec: NotifySpec, racks: usize, hosts: u32) -> Notifications {
        let hosts = hosts as usize;
        let places = if spec.to == NotifyTo::Senders { racks * hosts } else { 0 };
        let senders = vec![[false; 2]; places];
        Notifications { spec, announced: vec![false; racks], hosts, senders, sent: 0 }
    }

    /// The host at this port has sent data to a rack.
    #[inline]
    pub fn data_sent(&mut self, host: PortId, rack: usize) {
        if let Some(senders) = self.senders.get_mut(rack * self.hosts + host.at()) {
            senders[0] = true;
        }
    }

    /// The ports of the hosts that are notified that a circuit to `rack` begins, or ends if not `on`.
    fn recipients(&mut self, rack: usize, on: bool) -> Vec<PortId> {
        let own = rack * self.hosts..(rack + 1) * self.hosts;
        let mut ports = (0..self.hosts as u16).map(PortId).collect::<Vec<_>>();
        let Some(senders) = self.senders.get_mut(own) else { return ports };
        ports.retain(|port| senders[port.at()] != [false; 2]);
        // A host that was notified of the beginning is also notified of the end. So the record changes at the end.
        if !on {
            senders.iter_mut().for_each(|[now, before]| *before = std::mem::take(now));
        }
        ports
    }
}

impl Tor {
    /// Notifies hosts whether there is, or soon will be, a circuit to `to`, if this has changed.
    pub(super) fn notify_hosts(&mut self, to: usize, cx: &mut Cx<'_>) {
        let Some(notifications) = &mut self.notifications else { return };
        let on = self.conditions.of(to).hold(Condition::Announced);
        if std::mem::replace(&mut notifications.announced[to], on) == on {
            return;
        }
        let racks = &self.config.roles.hosts;
        let (first, hosts) = (racks.first(to as u32), racks.count(to as u32));
        let own = racks.first(self.config.rack);
        let holds = if on { notifications.spec.ahead } else { notifications.spec.end_ahead };
        let circuits = Circuits::default().with_news(on.into(), on);
        let news = PathNews { first, hosts, circuits, holds }.emit();
        for port in notifications.recipients(to, on) {
            let host = HostId(own.0 + u32::from(port.0));
            let packet = cx.attach((first, host), news.clone(), OVERHEAD, CLASSES as u8 - 1);
            notifications.sent += 1;
            self.account.created += 1;
            cx.send(port, packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(of: &[u16]) -> Vec<PortId> {
        of.iter().copied().map(PortId).collect()
    }

    #[test]
    fn recent_senders_are_notified() {
        let spec = NotifySpec { to: NotifyTo::Senders, ..NotifySpec::default() };
        let mut notifications = Notifications::new(spec, 3, 4);
        notifications.data_sent(PortId(1), 2);
        notifications.data_sent(PortId(3), 1);
        assert_eq!(notifications.recipients(2, true), ports(&[1]));
        notifications.data_sent(PortId(2), 2);
        assert_eq!(notifications.recipients(2, false), ports(&[1, 2]));
        assert_eq!(notifications.recipients(2, true), ports(&[1, 2]), "both sent in the last day");
        assert_eq!(notifications.recipients(2, false), ports(&[1, 2]), "of the end, too");
        assert_eq!(notifications.recipients(2, true), ports(&[]));
        assert_eq!(notifications.recipients(1, true), ports(&[3]));
    }

    #[test]
    fn all_hosts_are_notified_by_default() {
        let mut notifications = Notifications::new(NotifySpec::default(), 3, 4);
        notifications.data_sent(PortId(1), 2);
        assert_eq!(notifications.recipients(0, true), ports(&[0, 1, 2, 3]));
        assert_eq!(notifications.recipients(0, false), ports(&[0, 1, 2, 3]));
    }
}
