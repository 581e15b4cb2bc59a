//! Both ends of FCP, which receive mutated messages with right codes, sequence numbers and epochs.

use crate::mutate::mutated;
use crate::random::{Draw, stream_of};
use crate::scenarios::law;
use crate::wire::seal_fcp;
use slotline_fastpass::fcp::{
    ArbiterSession, Config, Counters, EndpointEvent, EndpointSession, MAX_PENDING,
};
use slotline_fastpass::wire::fcp::{Key, LONGEST};
use slotline_net::rng::Stream;
use slotline_net::time::Time;

const NODES: u32 = 6;
const KEY: Key = Key(*b"a shared secret!");
/// The largest number of messages at one moment. With more, an end never stops sending.
const MOST_AT_ONCE: usize = 1_000;

/// A seed for all events.
pub(crate) fn script(rng: &mut Stream) -> Vec<u8> {
    rng.noise(16)
}

/// Both ends, and the number of messages that each received.
struct Ends {
    rng: Stream,
    now: Time,
    endpoint: EndpointSession,
    arbiter: ArbiterSession,
    /// Messages in transit, each with whether it is for the arbiter.
    channel: Vec<(bool, Vec<u8>)>,
    received: [u64; 2],
}

impl Ends {
    fn new(rng: Stream) -> Ends {
        let config = |me| Config::with_defaults(KEY, me, 1 - me, NODES, u64::from(me) + 1);
        Ends {
            rng,
            now: Time::us(1),
            endpoint: EndpointSession::new(config(0)),
            arbiter: ArbiterSession::new(config(1)),
            channel: vec![],
            received: [0, 0],
        }
    }

    fn step(&mut self) -> Result<(), String> {
        match self.rng.index(6) {
            0 => self.demand(),
            1 | 2 => self.grant(),
            3 if self.rng.once_in(30) => self.arbiter.announce(),
            _ => self.now = self.now.after(Time::ns(self.rng.below(120_000))),
        }
        self.send()?;
        self.deliver()
    }

    fn demand(&mut self) {
        let slots = if self.rng.once_in(20) { MAX_PENDING } else { self.rng.below(40) as u32 };
        // The largest numbers are meant to be refused.
        let _ = self.endpoint.demand(self.rng.below(7) as u32, slots);
    }

    fn grant(&mut self) {
        let dst = self.rng.below(u64::from(NODES)) as u32;
        let slots = self.rng.bits() & self.rng.bits() & self.rng.bits();
        // Slots that were not requested are denied.
        let _ = self.arbiter.grant(dst, 3, self.now.as_ns() / 1_000, slots);
    }

    /// Both ends send all packets that may leave now.
    fn send(&mut self) -> Result<(), String> {
        let mut out = vec![];
        for _ in 0..MOST_AT_ONCE {
            let up = self.endpoint.poll_message(self.now, &mut out);
            if up {
                self.post(true, &out)?;
            }
            let down = self.arbiter.poll_message(self.now, &mut out);
            if down {
                self.post(false, &out)?;
            }
            if !up && !down {
                return Ok(());
            }
        }
        Err("an end never stops sending".into())
    }

    /// Puts a message into the channel: unchanged, changed, or both.
    fn post(&mut self, up: bool, bytes: &[u8]) -> Result<(), String> {
        law(bytes.len() <= LONGEST, || format!("a message of {} bytes", bytes.len()))?;
        if self.rng.once_in(3) {
            let mut changed = self.changed(bytes);
            if !self.rng.once_in(8) {
                seal_fcp(&mut changed, &KEY);
            }
            self.channel.push((up, changed));
        }
        if !self.rng.once_in(6) {
            self.channel.push((up, bytes.to_vec()));
        }
        Ok(())
    }

    /// `bytes` with changes: after the header, so that epoch and number remain right, or anywhere.
    fn changed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let head = if self.rng.once_in(3) { 0 } else { bytes.len().min(52) };
        let end = bytes.len().saturating_sub(8).max(head);
        let body = mutated(&mut self.rng, &bytes[head..end], bytes);
        [&bytes[..head], &body, &bytes[end..]].concat()
    }

    /// Delivers messages, some of them later than others.
    fn deliver(&mut self) -> Result<(), String> {
        for (up, bytes) in std::mem::take(&mut self.channel) {
            if self.rng.once_in(4) && self.channel.len() < 100 {
                self.channel.push((up, bytes));
                continue;
            }
            self.received[usize::from(up)] += 1;
            if up { self.at_arbiter(&bytes)? } else { self.at_endpoint(&bytes)? }
        }
        let counted = [self.endpoint.session().counters(), self.arbiter.session().counters()];
        for (received, counters) in self.received.iter().zip(counted) {
            let sum = judged(counters);
            law(sum == *received, || format!("{received} messages arrived, {sum} are counted"))?;
        }
        Ok(())
    }

    fn at_arbiter(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut events = vec![];
        let before = *self.arbiter.session().counters();
        let taken = self.arbiter.on_message(bytes, self.now, &mut events);
        law(taken.is_ok() || events.is_empty(), || "a refused message has an effect".into())?;
        let accepted = self.arbiter.session().counters().accepted - before.accepted;
        law(accepted == u64::from(taken.is_ok()), || format!("{taken:?} counts as {accepted}"))?;
        law(events.len() <= bytes.len(), || "more events than bytes".into())
    }

    fn at_endpoint(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut events = vec![];
        let pending: Vec<u32> = (0..NODES).map(|dst| self.endpoint.pending(dst)).collect();
        let taken = self.endpoint.on_message(bytes, self.now, &mut events);
        law(taken.is_ok() || events.is_empty(), || "a refused message has an effect".into())?;
        let mut granted = [0u64; NODES as usize];
        for event in &events {
            let EndpointEvent::Granted { dst, slots, .. } = event else { continue };
            granted[*dst as usize] += u64::from(slots.count_ones());
        }
        let fits =
            granted.iter().zip(pending).all(|(granted, pending)| *granted <= u64::from(pending));
        law(fits, || "more slots than were demanded".into())
    }
}

/// The messages that an end has accepted or refused.
fn judged(counters: &Counters) -> u64 {
    let Counters { accepted, malformed, forged, misdirected, epoch, repeated, .. } = *counters;
    accepted + malformed + forged + misdirected + epoch + repeated
}

/// Both ends stay within bounds whatever arrives, and count each message once. When messages are no longer changed, the
/// ends agree again.
pub(crate) fn judge(input: &[u8]) -> Result<(), String> {
    let mut ends = Ends::new(stream_of(input, "fuzz.sessions"));
    (0..300).try_for_each(|_| ends.step())
}
