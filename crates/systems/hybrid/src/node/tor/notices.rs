//! Messages to the hosts of a rack: circuits to another rack that begin and end.

use super::Tor;
use crate::node::board::Thing;
use crate::{NotifySpec, NotifyTo};
use slotline_net::frame::{CLASSES, Circuits};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Cx;
use slotline_net::wire::path_news::{OVERHEAD, PathNews};

/// What hosts were told, and which of them want to know.
pub(super) struct Notices {
    spec: NotifySpec,
    /// By rack: whether its circuit is the last thing they were told.
    told: Vec<bool>,
    hosts: usize,
    /// By rack and host: has sent to it since its last circuit ended, or between that and the one before.
    lately: Vec<[bool; 2]>,
    /// Messages sent.
    pub sent: u64,
}

impl Notices {
    /// Nobody was told anything.
    pub fn new(spec: NotifySpec, racks: usize, hosts: usize) -> Notices {
        let places = if spec.to == NotifyTo::Senders { racks * hosts } else { 0 };
        let lately = vec![[false; 2]; places];
        Notices { spec, told: vec![false; racks], hosts, lately, sent: 0 }
    }

    /// The own host at this port has sent data to a rack.
    #[inline]
    pub fn saw(&mut self, host: PortId, rack: usize) {
        if let Some(lately) = self.lately.get_mut(rack * self.hosts + host.at()) {
            lately[0] = true;
        }
    }

    /// The ports of the hosts that want to know of a circuit to `rack`, which begins, or ends if not `on`.
    fn audience(&mut self, rack: usize, on: bool) -> Vec<PortId> {
        let own = rack * self.hosts..(rack + 1) * self.hosts;
        let mut ports = (0..self.hosts as u16).map(PortId).collect::<Vec<_>>();
        let Some(lately) = self.lately.get_mut(own) else { return ports };
        ports.retain(|port| lately[port.at()] != [false; 2]);
        // Who was told of a beginning is told of the end, so this waits until then.
        if !on {
            lately.iter_mut().for_each(|[now, before]| *before = std::mem::take(now));
        }
        ports
    }
}

impl Tor {
    /// Hosts are told whether there is, or soon will be, a circuit to `to`, if they do not know.
    pub(super) fn tell(&mut self, to: usize, cx: &mut Cx<'_>) {
        let Some(notices) = &mut self.notices else { return };
        let on = self.board.of(to).is(Thing::Tell);
        if std::mem::replace(&mut notices.told[to], on) == on {
            return;
        }
        let hosts = self.config.roles.hosts;
        let first = HostId(to as u32 * hosts);
        let holds = if on { notices.spec.ahead } else { notices.spec.end_ahead };
        let circuits = Circuits::default().with_news(on.into(), on);
        let news = PathNews { first, hosts, circuits, holds }.emit();
        for port in notices.audience(to, on) {
            let host = HostId(self.config.rack * hosts + u32::from(port.0));
            let packet = cx.attach((first, host), news.clone(), OVERHEAD, CLASSES as u8 - 1);
            notices.sent += 1;
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
    fn who_has_sent_lately_is_told() {
        let spec = NotifySpec { to: NotifyTo::Senders, ..NotifySpec::default() };
        let mut notices = Notices::new(spec, 3, 4);
        notices.saw(PortId(1), 2);
        notices.saw(PortId(3), 1);
        assert_eq!(notices.audience(2, true), ports(&[1]));
        notices.saw(PortId(2), 2);
        assert_eq!(notices.audience(2, false), ports(&[1, 2]));
        assert_eq!(notices.audience(2, true), ports(&[1, 2]), "both sent in the last day");
        assert_eq!(notices.audience(2, false), ports(&[1, 2]), "of the end, too");
        assert_eq!(notices.audience(2, true), ports(&[]));
        assert_eq!(notices.audience(1, true), ports(&[3]));
    }

    #[test]
    fn all_are_told_where_all_are_to_be() {
        let mut notices = Notices::new(NotifySpec::default(), 3, 4);
        notices.saw(PortId(1), 2);
        assert_eq!(notices.audience(0, true), ports(&[0, 1, 2, 3]));
        assert_eq!(notices.audience(0, false), ports(&[0, 1, 2, 3]));
    }
}
