//! Messages about paths that a host gets from the switch of its rack, and the connections that they concern.

use super::Host;
use crate::frame::Packet;
use crate::id::HostId;
use crate::node::Cx;
use crate::node::station::Loss;
use crate::time::Time;
use crate::wire::path_news::PathNews;

/// The latest message about each destination rack, and the connections that listen.
pub(super) struct News {
    /// Each message, and the time from which it holds. They are sorted by the first host that they are about.
    latest: Vec<(PathNews, Time)>,
    /// Connections that had data to send when they were added, each once, in the order of their addition.
    listening: Vec<u32>,
    loss: Loss,
}

impl News {
    /// No message has arrived yet.
    pub fn new(loss: Loss) -> News {
        News { latest: Vec::new(), listening: Vec::new(), loss }
    }

    /// Whether `packet` is a message that gets lost.
    pub fn loses(&mut self, packet: &Packet) -> bool {
        self.loss.loses(packet)
    }

    fn store(&mut self, news: PathNews, from: Time) {
        match self.latest.binary_search_by_key(&news.first, |(known, _)| known.first) {
            Ok(at) => self.latest[at] = (news, from),
            Err(at) => self.latest.insert(at, (news, from)),
        }
    }

    /// The latest message about packets for `host`.
    fn about(&self, host: HostId) -> Option<(PathNews, Time)> {
        let after = self.latest.partition_point(|(known, _)| known.first <= host);
        let last = self.latest[..after].last()?;
        Some(*last).filter(|(news, _)| news.is_about(host))
    }
}

impl Host {
    /// A connection has data to send: it listens from now on, and gets the latest message.
    pub(super) fn listen(&mut self, place: usize) {
        let Some(news) = &mut self.news else { return };
        let Some(tcp) = self.senders[place].as_mut().filter(|tcp| !tcp.listening) else { return };
        tcp.listening = true;
        news.listening.push(place as u32);
        if let Some((known, from)) = news.about(tcp.header.peer) {
            tcp.sender.on_path_news(known.circuits, from);
        }
    }

    /// Handles a message from the switch of the rack. Connections to the hosts in the message send as the path now
    /// allows.
    pub(super) fn on_path_news(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        let Some(mut own) = self.news.take() else { return };
        if let Ok(news) = PathNews::parse(message) {
            let from = cx.now.after(news.holds);
            own.store(news, from);
            own.listening.retain(|&place| self.still_listens(place as usize, &news, from, cx));
        }
        self.news = Some(own);
    }

    /// Passes a message to one connection. Returns whether the connection has data to send.
    fn still_listens(
        &mut self,
        place: usize,
        news: &PathNews,
        from: Time,
        cx: &mut Cx<'_>,
    ) -> bool {
        let Some(tcp) = &mut self.senders[place] else { return true };
        if tcp.sender.is_idle() {
            tcp.listening = false;
            return false;
        }
        if news.is_about(tcp.header.peer) {
            tcp.sender.on_path_news(news.circuits, from);
            // Other connections continue with their next acknowledgement, so that not all hosts of the rack send at
            // once.
            if tcp.sender.is_quiet() {
                self.pump(place, cx);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Circuits;

    #[test]
    fn the_latest_message_of_each_rack_is_stored() {
        let mut news = News::new(Loss::default());
        let of = |first: u32, bits: u8| {
            let circuits = Circuits::from_bits(bits).unwrap();
            PathNews { first: HostId(first), hosts: 4, circuits, holds: Time::ZERO }
        };
        news.store(of(8, 9), Time::us(1));
        news.store(of(0, 0), Time::us(2));
        news.store(of(8, 0), Time::us(3));
        assert_eq!(news.about(HostId(3)), Some((of(0, 0), Time::us(2))));
        assert_eq!(news.about(HostId(11)), Some((of(8, 0), Time::us(3))));
        assert_eq!(news.about(HostId(4)), None);
        assert_eq!(news.about(HostId(12)), None);
    }
}
