//! Messages between daemons, inside the envelope. Numbers are big-endian:
//!
//! ```text
//! version: u8, kind: u8, then
//! 1 (control)       the packet of a control message, as slotline_net::wire::packet has it
//! 2 (time request)  asked: u64
//! 3 (time reply)    asked: u64, received: u64, sent: u64, epoch: u64
//! 4 (time reply)    the same, to a host that the arbiter has taken out of the schedule
//! 5 (standing)      term: u64, 0: the sender knows the term, 1: is its active arbiter; u8
//! 6 (control)       term: u64, then as 1: the sender, or the arbiter that it obeys, has this term
//! 7 (lease request) term: u64, epoch: u64, from: u64, until: u64; from = until asks whether the witness is free
//! 8 (lease answer)  term: u64, highest term: u64, epoch: u64, from: u64, until: u64, 1 if the witness is free: u8
//! 9 (neighbours)    a page of a report of the sender's cables, as crate::neighbours has it
//! 10 (scenario)     digest: u64
//! ```
//!
//! `docs/protocol/daemons.md` says who sends kinds 5 to 10, and when.

use crate::clock::{Local, TimeReply};
use crate::election::Standing;
use crate::lease::{Answer, Ask};
use crate::neighbours::Page;
use slotline_net::frame::{Kind, Packet};
use slotline_net::wire::packet;

/// Version of the format.
pub const VERSION: u8 = 1;

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A control message of the scheme: its packet and its payload.
    Control(Packet, &'a [u8]),
    /// A request for network time.
    TimeRequest(Local),
    /// The answer with network time.
    TimeReply(TimeReply),
    /// What the sender says about a term.
    Standing(u64, Standing),
    /// A control message of the scheme within a term.
    Elected(u64, Packet, &'a [u8]),
    /// An arbiter asks a witness for a lease.
    Ask(Ask),
    /// The answer of a witness.
    Answer(Answer),
    /// Cables of the sender.
    Neighbours(Page<'a>),
    /// The digest of the sender's scenario.
    Scenario(u64),
}

const STANDINGS: [Standing; 2] = [Standing::Knows, Standing::Active];

impl<'a> Message<'a> {
    /// A control message, in a term if arbiters are elected.
    pub fn control(term: Option<u64>, packet: Packet, payload: &'a [u8]) -> Message<'a> {
        match term {
            Some(term) => Message::Elected(term, packet, payload),
            None => Message::Control(packet, payload),
        }
    }

    /// Replaces `out` with the message.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.clear();
        let words = |out: &mut Vec<u8>, kind: u8, words: &[u64]| {
            out.extend_from_slice(&[VERSION, kind]);
            words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        };
        match self {
            Message::Control(packet, payload) => {
                words(out, 1, &[]);
                packet::append(packet, payload, out);
            }
            Message::TimeRequest(asked) => words(out, 2, &[asked.0]),
            Message::Standing(term, standing) => {
                words(out, 5, &[*term]);
                out.extend((0..).zip(STANDINGS).find(|(_, of)| of == standing).map(|(at, _)| at));
            }
            Message::Elected(term, packet, payload) => {
                words(out, 6, &[*term]);
                packet::append(packet, payload, out);
            }
            Message::Ask(Ask { term, epoch, from, until }) => {
                words(out, 7, &[*term, *epoch, *from, *until]);
            }
            Message::Answer(Answer { term, highest, epoch, from, until, free }) => {
                words(out, 8, &[*term, *highest, *epoch, *from, *until]);
                out.push(u8::from(*free));
            }
            Message::Scenario(digest) => words(out, 10, &[*digest]),
            Message::Neighbours(page) => {
                words(out, 9, &[]);
                page.append(out);
            }
            Message::TimeReply(reply) => {
                words(
                    out,
                    3 + u8::from(reply.drained),
                    &[reply.asked.0, reply.received, reply.sent, reply.epoch],
                );
            }
        }
    }

    /// Parses a message; `None` if `bytes` are not a message.
    pub fn parse(bytes: &'a [u8]) -> Option<Message<'a>> {
        let (&[VERSION, kind], rest) = bytes.split_first_chunk()? else { return None };
        match kind {
            1 => {
                let (packet, payload) = packet::parse(rest).ok()?;
                (packet.kind == Kind::Control).then_some(Message::Control(packet, payload))
            }
            2 => words(rest).map(|[asked]| Message::TimeRequest(Local(asked))),
            3 | 4 => words(rest).map(|[asked, received, sent, epoch]| {
                let (asked, drained) = (Local(asked), kind == 4);
                Message::TimeReply(TimeReply { asked, received, sent, epoch, drained })
            }),
            5 => {
                let (term, [standing]) = rest.split_first_chunk()? else { return None };
                let standing = STANDINGS.get(usize::from(*standing))?;
                Some(Message::Standing(u64::from_be_bytes(*term), *standing))
            }
            6 => {
                let (term, rest) = rest.split_first_chunk()?;
                let (packet, payload) = packet::parse(rest).ok()?;
                let message = Message::Elected(u64::from_be_bytes(*term), packet, payload);
                (packet.kind == Kind::Control).then_some(message)
            }
            7 => words(rest)
                .map(|[term, epoch, from, until]| Message::Ask(Ask { term, epoch, from, until })),
            8 => {
                let (free @ (0 | 1), rest) = rest.split_last()? else { return None };
                let [term, highest, epoch, from, until] = words(rest)?;
                let free = *free == 1;
                Some(Message::Answer(Answer { term, highest, epoch, from, until, free }))
            }
            9 => Page::parse(rest).map(Message::Neighbours),
            10 => words(rest).map(|[digest]| Message::Scenario(digest)),
            _ => None,
        }
    }
}

/// Exactly `N` words.
fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (chunks, rest) = bytes.as_chunks();
    let chunks: &[[u8; 8]; N] = chunks.try_into().ok()?;
    rest.is_empty().then(|| chunks.map(u64::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::id::HostId;

    fn back(message: &Message<'_>) -> Vec<u8> {
        let mut out = vec![9; 3];
        message.emit(&mut out);
        assert_eq!(Message::parse(&out), Some(*message));
        out
    }

    #[test]
    fn messages_come_back() {
        let packet =
            Packet { dst: HostId(3), flow: 7, len: 84, kind: Kind::Control, ..Packet::default() };
        let plain = back(&Message::Control(packet, b"demand"));
        let elected = back(&Message::control(Some(258), packet, b"demand"));
        assert_eq!(elected[..10], [1, 6, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(elected[10..], plain[2..]);
        for (at, standing) in (0..).zip(STANDINGS) {
            let bytes = back(&Message::Standing(7, standing));
            assert_eq!(bytes, [1, 5, 0, 0, 0, 0, 0, 0, 0, 7, at]);
            assert_eq!(Message::parse(&bytes[..10]), None);
        }
        assert_eq!(Message::parse(&[1, 5, 0, 0, 0, 0, 0, 0, 0, 7, 2]), None);
        let ask = Ask { term: 2, epoch: 3, from: 4, until: 5 };
        let answer = Answer { term: 2, highest: 6, epoch: 3, from: 4, until: 5, free: true };
        for bytes in [back(&Message::Ask(ask)), back(&Message::Answer(answer))] {
            (0..bytes.len()).for_each(|cut| assert_eq!(Message::parse(&bytes[..cut]), None));
        }
        assert_eq!(back(&Message::TimeRequest(Local(258))), [1, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
        let (asked, drained) = (Local(1), false);
        let reply = TimeReply { asked, received: 2, sent: 3, epoch: u64::MAX, drained };
        back(&Message::TimeReply(TimeReply { drained: true, ..reply }));
        let bytes = back(&Message::TimeReply(reply));
        for cut in 0..bytes.len() {
            assert_eq!(Message::parse(&bytes[..cut]), None);
        }
        let data = Packet { len: 84, ..Packet::default() };
        let forged = [&[VERSION, 1][..], &packet::emit(&data, &[])].concat();
        assert_eq!(Message::parse(&forged), None, "only control messages cross");
    }

    const VECTORS: &str = include_str!("message_vectors.txt");

    /// The contents of the accepted vectors.
    /// Messages of Fastpass: a probe with token 42 of path 2, and a report of 7 packets lost on it.
    const PROBE: &[u8] =
        b"\x46\x03\0\0\0\0\0\x03\0\0\0\x05\0\0\0\x2a\0\x02\x01\x02\x03\x04\x05\x06\x07\x08";
    const LOSSES: &[u8] =
        b"\x46\x02\0\x01\0\0\0\x03\0\0\0\x08\0\0\0\x05\0\x02\0\x07\x01\x02\x03\x04\x05\x06\x07\x08";

    /// Report 258, which has one page: port p1 is at port up0 of machine 5.
    const NEIGHBOURS: &[u8] = b"\0\0\0\0\0\0\x01\x02\0\x01\0\0\0\x05\x02p1\x03up0";

    fn meanings() -> Vec<(&'static str, Message<'static>)> {
        let (dst, len, kind) = (HostId(8), 84, Kind::Control);
        let packet = Packet { dst, flow: 3, len, kind, ..Packet::default() };
        let probe = Packet { dst: HostId(5), entropy: 2, ..packet };
        let (asked, drained) = (Local(258), false);
        let reply = TimeReply { asked, received: 1_000, sent: 1_500, epoch: 7, drained };
        let ask = Ask { term: 4, epoch: 7, from: 2_000_000, until: 17_000_000 };
        let Ask { term, epoch, from, until } = ask;
        let answer = Answer { term, highest: 4, epoch, from, until, free: true };
        let none = Answer { highest: 5, from: 0, until: 0, free: false, ..answer };
        vec![
            ("control", Message::Control(packet, &[1, 2, 3])),
            ("time-request", Message::TimeRequest(asked)),
            ("time-reply", Message::TimeReply(reply)),
            ("time-reply-drained", Message::TimeReply(TimeReply { drained: true, ..reply })),
            ("knows", Message::Standing(3, Standing::Knows)),
            ("active", Message::Standing(4, Standing::Active)),
            ("elected", Message::Elected(4, packet, &[1, 2, 3])),
            ("question", Message::Ask(Ask { until: from, ..ask })),
            ("lease-request", Message::Ask(ask)),
            ("lease", Message::Answer(answer)),
            ("no-lease", Message::Answer(none)),
            ("probe", Message::Control(probe, PROBE)),
            ("losses", Message::Control(packet, LOSSES)),
            ("scenario", Message::Scenario(258)),
            ("neighbours", Message::Neighbours(Page::parse(NEIGHBOURS).unwrap())),
        ]
    }

    #[test]
    fn the_vectors_hold() {
        let value = |block: &'static str, key: &str| {
            block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).unwrap()
        };
        let octet = |hex: &[u8]| u8::from_str_radix(str::from_utf8(hex).unwrap(), 16).unwrap();
        let mut accepted = meanings().into_iter();
        for block in VECTORS.split("\n\n").skip(1) {
            let name = value(block, "name");
            let bytes: Vec<u8> = value(block, "hex").as_bytes().chunks(2).map(octet).collect();
            let parsed = Message::parse(&bytes);
            match value(block, "result") {
                "refused" => assert_eq!(parsed, None, "{name}"),
                _ => {
                    let (of, message) = accepted.next().unwrap();
                    assert_eq!((of, parsed), (name, Some(message)));
                    assert_eq!(back(&message), bytes, "{name}");
                }
            }
        }
        assert_eq!(accepted.next(), None);
    }

    proptest! {
        #[test]
        fn random_bytes_cause_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0u8..12) {
            if let [first, second, ..] = &mut bytes[..] {
                (*first, *second) = (VERSION, kind);
            }
            Message::parse(&bytes);
        }
    }
}
