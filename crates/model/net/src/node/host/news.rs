//! What the switch of its rack tells a host of paths, and which connections it concerns.

use super::Host;
use crate::frame::Packet;
use crate::id::HostId;
use crate::node::Cx;
use crate::node::station::Loss;
use crate::time::Time;
use crate::wire::path_news::PathNews;

/// The last news of each rack, and the connections that listen.
pub(super) struct News {
    /// What holds for some hosts, and from when on; by the first of them.
    told: Vec<(PathNews, Time)>,
    /// Connections that had something to send when they were put here, each once, in turn.
    listening: Vec<u32>,
    loss: Loss,
}

impl News {
    /// Nothing was told.
    pub fn new(loss: Loss) -> News {
        News { told: Vec::new(), listening: Vec::new(), loss }
    }

    /// Whether `packet` is a message that gets lost.
    pub fn loses(&mut self, packet: &Packet) -> bool {
        self.loss.loses(packet)
    }

    fn keep(&mut self, news: PathNews, from: Time) {
        match self.told.binary_search_by_key(&news.first, |(told, _)| told.first) {
            Ok(at) => self.told[at] = (news, from),
            Err(at) => self.told.insert(at, (news, from)),
        }
    }

    /// What was told last of packets for `host`.
    fn about(&self, host: HostId) -> Option<(PathNews, Time)> {
        let after = self.told.partition_point(|(told, _)| told.first <= host);
        let last = self.told[..after].last()?;
        Some(*last).filter(|(news, _)| news.is_about(host))
    }
}

impl Host {
    /// A connection has something to send: it listens from now on, and knows what is known.
    pub(super) fn listen(&mut self, place: usize) {
        let Some(news) = &mut self.news else { return };
        let Some(tcp) = self.senders[place].as_mut().filter(|tcp| !tcp.listening) else { return };
        tcp.listening = true;
        news.listening.push(place as u32);
        if let Some((told, from)) = news.about(tcp.header.peer) {
            tcp.sender.on_path_news(told.circuits, from);
        }
    }

    /// A message from the switch of the rack: those who send there send as the path now allows.
    pub(super) fn on_path_news(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        let Some(mut own) = self.news.take() else { return };
        if let Ok(news) = PathNews::parse(message) {
            let from = cx.now.after(news.holds);
            own.keep(news, from);
            own.listening.retain(|&place| self.still_listens(place as usize, &news, from, cx));
        }
        self.news = Some(own);
    }

    /// One connection is told; whether it has anything to send.
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
            // Others go on with their next acknowledgement: not all hosts of the rack at once.
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
    fn the_last_news_of_each_rack_are_kept() {
        let mut news = News::new(Loss::default());
        let of = |first: u32, bits: u8| {
            let circuits = Circuits::from_bits(bits).unwrap();
            PathNews { first: HostId(first), hosts: 4, circuits, holds: Time::ZERO }
        };
        news.keep(of(8, 9), Time::us(1));
        news.keep(of(0, 0), Time::us(2));
        news.keep(of(8, 0), Time::us(3));
        assert_eq!(news.about(HostId(3)), Some((of(0, 0), Time::us(2))));
        assert_eq!(news.about(HostId(11)), Some((of(8, 0), Time::us(3))));
        assert_eq!(news.about(HostId(4)), None);
        assert_eq!(news.about(HostId(12)), None);
    }
}
