//! Connections that may take another path after a pause: flowlets.
//!
//! In a fluid a flow has no pauses. What is left of flowlets are those between the flows of a connection,
//! and between the times at which a stream of datagrams speaks.

use slotline_net::rng::Stream;

/// In place of a time: the connection has sent nothing yet.
const NEVER: u64 = u64::MAX;

/// A connection's bursts.
#[derive(Clone, Copy, Debug)]
struct Conn {
    /// When it sent last; while it sends, when it did before.
    last: u64,
    /// What it hashes by.
    entropy: u16,
    /// Bursts so far.
    count: u32,
}

/// What all connections hash by now.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// In picoseconds.
    gap: u64,
    seed: u64,
    conns: Vec<Conn>,
}

impl Bursts {
    /// For so many connections; one that has sent nothing for `gap` draws anew.
    pub fn new(gap: u64, seed: u64, conns: usize) -> Bursts {
        Bursts { gap, seed, conns: vec![Conn { last: NEVER, entropy: 0, count: 0 }; conns] }
    }

    /// A connection begins to send, or goes on. The first burst goes where ECMP would send it: `first`.
    pub fn begin(&mut self, conn: u32, now: u64, first: u16) {
        let state = &mut self.conns[conn as usize];
        if state.last == NEVER {
            state.entropy = first;
        } else if now - state.last >= self.gap {
            state.count += 1;
            let number = u64::from(conn) << 32 | u64::from(state.count);
            state.entropy = Stream::named(self.seed, "flow.flowlet", number).bits() as u16;
        }
        state.last = now;
    }

    /// A connection has sent its last byte for now.
    pub fn pause(&mut self, conn: u32, now: u64) {
        self.conns[conn as usize].last = now;
    }

    /// What a connection hashes by.
    pub fn entropy(&self, conn: u32) -> u16 {
        self.conns[conn as usize].entropy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_as_long_as_the_gap_draws_anew() {
        let mut bursts = Bursts::new(100, 1, 2);
        bursts.begin(1, 0, 77);
        assert_eq!(bursts.entropy(1), 77);
        bursts.pause(1, 1_000);
        bursts.begin(1, 1_099, 77);
        assert_eq!(bursts.entropy(1), 77);
        bursts.pause(1, 2_000);
        bursts.begin(1, 2_100, 77);
        let second = bursts.entropy(1);
        assert_ne!(second, 77);
        bursts.pause(1, 3_000);
        bursts.begin(1, 9_000, 77);
        assert!(bursts.entropy(1) != 77 && bursts.entropy(1) != second);
    }
}
