//! Runs the node of a controller again from a log of [`crate::record`].

use crate::links::Links;
use crate::record::{HEARD, Header, MAGIC, STEP, Sent};
use crate::seat::{Io, Seat};
use slotline_net::frame::Packet;
use slotline_net::node::Node;
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_net::wire::packet;
use std::io;

/// The reason why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file is not a log, or it has another version.
    #[error(
        "this is not an arbiter's log, or it has another version: it does not begin with `slotline log 1`"
    )]
    NoLog,
    /// The header is not valid.
    #[error("the header of the log is damaged: {0}")]
    Header(String),
    /// A record is not valid.
    #[error("the record at byte {at} of the log is damaged")]
    Damaged {
        /// The offset of the record in bytes.
        at: usize,
    },
    /// The node behaved differently.
    #[error(
        "at {} s the arbiter sent {then} messages, and the replay sent {now}, not all of them the same: the log is of another \
         version of the program, or is damaged",
        at.as_secs_f64()
    )]
    Different {
        /// Network time.
        at: Time,
        /// The number of messages in the log.
        then: u64,
        /// The number of messages in the replay.
        now: u64,
    },
}

/// An upper limit for how late an arbiter can be. In a damaged log, a later time would keep a node busy with its
/// wake-ups. A node without wake-ups may be idle for longer.
const LATEST: Time = Time::s(3_600);

/// One record.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Record<'a> {
    Heard(Packet, &'a [u8]),
    Step(Sent),
}

/// A log in memory.
#[derive(Clone, Debug)]
pub struct Log<'a> {
    /// The subject of the log.
    pub header: Header,
    bytes: &'a [u8],
    /// The offset of the next record.
    at: usize,
    now: u64,
}

/// Counters of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Messages received.
    pub heard: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages sent according to the log.
    pub recorded: u64,
    /// Time between the first and the last record.
    pub span: Time,
    /// Whether the log ends in the middle of a record, because its arbiter was killed.
    pub cut: bool,
}

impl<'a> Log<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// The header is missing or not valid.
    pub fn open(bytes: &'a [u8]) -> Result<Log<'a>, ReplayError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ReplayError::NoLog)?;
        let damaged = || ReplayError::Header("it is incomplete".into());
        let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let text = rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        let header: Header =
            serde_json::from_slice(text).map_err(|error| ReplayError::Header(error.to_string()))?;
        let (at, now) = (MAGIC.len() + length.len() + text.len(), header.began);
        Ok(Log { header, bytes, at, now })
    }

    /// The next record and its time; `None` at the end, or if the last record is incomplete.
    fn next(&mut self) -> Result<Option<(Time, Record<'a>)>, ReplayError> {
        let at = self.at;
        let mut rest = &self.bytes[at..];
        let parsed = record(&mut rest).map_err(|()| ReplayError::Damaged { at })?;
        let Some((gap, record)) = parsed else { return Ok(None) };
        self.at = self.bytes.len() - rest.len();
        self.now = self.now.checked_add(gap).ok_or(ReplayError::Damaged { at })?;
        Ok(Some((Time::ps(self.now), record)))
    }
    fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}

/// The record at the beginning of `rest`, which moves behind the record; `None` if the record is incomplete.
fn record<'a>(rest: &mut &'a [u8]) -> Result<Option<(u64, Record<'a>)>, ()> {
    let Some(&kind) = rest.split_off_first() else { return Ok(None) };
    let (Some(gap), Some(count)) = (number(rest)?, number(rest)?) else { return Ok(None) };
    let record = match kind {
        HEARD => {
            let Some(bytes) = rest.split_off(..count as usize) else { return Ok(None) };
            let (packet, payload) = packet::parse(bytes).map_err(drop)?;
            Record::Heard(packet, payload)
        }
        STEP if count == 0 => Record::Step(Sent::default()),
        STEP => {
            let Some(digest) = rest.split_off(..8) else { return Ok(None) };
            let digest = u64::from_le_bytes(digest.try_into().map_err(drop)?);
            Record::Step(Sent { messages: count, digest })
        }
        _ => return Err(()),
    };
    Ok(Some((gap, record)))
}

/// A number as LEB128; `None` if it is incomplete.
fn number(rest: &mut &[u8]) -> Result<Option<u64>, ()> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let Some(&byte) = rest.split_off_first() else { return Ok(None) };
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(Some(value));
        }
    }
    Err(())
}

/// Counts the messages that the node sends.
struct Outlet(Sent);

impl Io for Outlet {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        self.0.add(far, packet, payload);
        Ok(true)
    }
}

/// Replays a log on a node with these links that has not begun. With `compare`, its messages must be those of the log.
///
/// # Errors
/// The log is damaged, or the node behaved differently.
pub fn replay(
    log: &mut Log<'_>,
    seat: &mut Seat,
    links: &Links,
    compare: bool,
) -> Result<Replayed, ReplayError> {
    replay_watched(log, seat, links, compare, |_| {})
}

/// A step of a replay.
pub struct ReplayedStep<'a> {
    /// Network time since the log began.
    pub at: Time,
    /// The node after the step.
    pub node: &'a dyn Node,
    /// What it sent.
    pub sent: Sent,
    /// Whether that equals what is in the log.
    pub same: bool,
}

/// The same, and shows each step.
///
/// # Errors
/// As for [`replay`].
pub fn replay_watched(
    log: &mut Log<'_>,
    seat: &mut Seat,
    links: &Links,
    compare: bool,
    mut watch: impl FnMut(&ReplayedStep<'_>),
) -> Result<Replayed, ReplayError> {
    let began = Time::ps(log.header.began);
    let mut done = Replayed::default();
    seat.start(began);
    loop {
        let at = log.at;
        let Some((now, record)) = log.next()? else { break };
        if now.since(seat.next_wake()) > LATEST {
            return Err(ReplayError::Damaged { at });
        }
        done.span = now.since(began);
        match record {
            Record::Heard(packet, payload) => {
                done.heard += 1;
                let port = links.port(packet.flow).ok_or(ReplayError::Damaged { at })?;
                seat.receive(port, packet, payload, now);
            }
            Record::Step(then) => {
                let mut outlet = Outlet(Sent::default());
                // Counting cannot fail.
                let _ = seat.step(now, &mut outlet);
                done.recorded += then.messages;
                done.sent += outlet.0.messages;
                if compare && outlet.0 != then {
                    let (then, sent) = (then.messages, outlet.0.messages);
                    return Err(ReplayError::Different { at: now, then, now: sent });
                }
                let (at, same) = (now.since(began), outlet.0 == then);
                watch(&ReplayedStep { at, node: seat.node(), sent: outlet.0, same });
            }
        }
    }
    done.cut = !log.is_at_end();
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Recorder;
    use proptest::prelude::*;
    use slotline_net::frame::Kind;

    fn header() -> Header {
        let text = String::from("x");
        Header {
            program: text.clone(),
            scenario: text.clone(),
            scheme: text,
            station: 3,
            incarnation: u64::MAX,
            began: 500,
        }
    }

    fn log(gaps: &[(u64, u64)]) -> Vec<u8> {
        let mut recorder = Recorder::new(Vec::new());
        recorder.begin(&header());
        let mut now = 500;
        let message = Packet { len: 84, kind: Kind::Control, ..Packet::default() };
        for &(gap, messages) in gaps {
            now += gap;
            recorder.heard(&message, &[messages as u8; 3], Time::ps(now));
            recorder.stepped(Sent { messages, digest: gap }, Time::ps(now));
        }
        recorder.flush();
        assert!(recorder.fault().is_none());
        recorder.into_inner()
    }

    #[test]
    fn each_node_of_a_daemon_has_a_log_of_its_own() {
        let path = std::env::temp_dir().join(format!("slotline-log-{}", std::process::id()));
        let name = |n: u32| path.with_extension(n.to_string());
        let mut recorder = Recorder::create(&path).unwrap();
        recorder.begin_next(&header());
        recorder.end("another arbiter may take over");
        recorder.stepped(Sent::default(), Time::ps(600));
        for began in [700, 900] {
            recorder.begin_next(&Header { began, ..header() });
            recorder.stepped(Sent::default(), Time::ps(began));
            assert!(recorder.fault().is_none());
        }
        recorder.flush();
        for (file, began, records) in [(&path, 500, 0), (&name(1), 700, 1), (&name(2), 900, 1)] {
            let bytes = std::fs::read(file).unwrap();
            let mut log = Log::open(&bytes).unwrap();
            assert_eq!(log.header.began, began);
            let count = std::iter::from_fn(|| log.next().unwrap()).count();
            assert_eq!(count, records, "{began}");
            std::fs::remove_file(file).unwrap();
        }
    }

    proptest! {
        #[test]
        fn records_come_back_and_a_cut_log_has_all_before_the_cut(gaps in prop::collection::vec((0u64..1 << 40, 0u64..300), 0..20), cut in 0usize..40) {
            let bytes = log(&gaps);
            let mut whole = Log::open(&bytes).unwrap();
            prop_assert_eq!(&whole.header, &header());
            let mut now = 500;
            for (gap, messages) in gaps {
                now += gap;
                let (at, heard) = whole.next().unwrap().unwrap();
                prop_assert_eq!(at, Time::ps(now));
                prop_assert!(matches!(heard, Record::Heard(_, payload) if payload == [messages as u8; 3]));
                let digest = if messages > 0 { gap } else { 0 };
                prop_assert_eq!(whole.next().unwrap().unwrap().1, Record::Step(Sent { messages, digest }));
            }
            prop_assert!(whole.next().unwrap().is_none() && whole.is_at_end());
            let shorter = &bytes[..bytes.len() - cut.min(bytes.len())];
            if let Ok(mut log) = Log::open(shorter) {
                while log.next().unwrap().is_some() {}
            }
        }

        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let whole = [&log(&[])[..], &bytes].concat();
            let mut log = Log::open(&whole).unwrap();
            while let Ok(Some(_)) = log.next() {}
            prop_assert!(Log::open(&bytes).is_err());
        }
    }
}
