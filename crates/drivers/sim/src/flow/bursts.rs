//! Connections that may take another path after a pause: flowlets.
//!
//! A fluid flow has no pauses. The only pauses are those between the flows of a connection, and those of a
//! stream of datagrams that is on and off.

use slotline_net::rng::{Stream, pair_key};

/// Marks a connection that has sent nothing yet.
const NEVER: u64 = u64::MAX;

/// A connection's bursts.
#[derive(Clone, Copy, Debug)]
struct Conn {
    /// The end of its last burst; while it sends, the end of the burst before.
    last: u64,
    /// The entropy of its hash.
    entropy: u16,
    /// The number of its bursts so far.
    count: u32,
}

/// The current entropy of all connections.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// The least pause between bursts, in picoseconds.
    gap: u64,
    seed: u64,
    conns: Vec<Conn>,
}

impl Bursts {
    /// The state of `conns` connections. One that has sent nothing for `gap` draws a new entropy.
    pub fn new(gap: u64, seed: u64, conns: usize) -> Bursts {
        Bursts { gap, seed, conns: vec![Conn { last: NEVER, entropy: 0, count: 0 }; conns] }
    }

    /// Begins or continues a burst of the connection with this number and key. The first burst takes the path of ECMP:
    /// its entropy is `first`.
    pub fn begin(&mut self, conn: u32, key: u64, now: u64, first: u16) {
        let state = &mut self.conns[conn as usize];
        if state.last == NEVER {
            state.entropy = first;
        } else if now - state.last >= self.gap {
            state.count += 1;
            let index = pair_key(key, state.count.into());
            state.entropy = Stream::named(self.seed, "flow.flowlet", index).bits() as u16;
        }
        state.last = now;
    }

    /// Ends a burst: the connection has sent its last byte for now.
    pub fn pause(&mut self, conn: u32, now: u64) {
        self.conns[conn as usize].last = now;
    }

    /// The entropy of a connection's hash.
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
        bursts.begin(1, 5, 0, 77);
        assert_eq!(bursts.entropy(1), 77);
        bursts.pause(1, 1_000);
        bursts.begin(1, 5, 1_099, 77);
        assert_eq!(bursts.entropy(1), 77);
        bursts.pause(1, 2_000);
        bursts.begin(1, 5, 2_100, 77);
        let second = bursts.entropy(1);
        assert_ne!(second, 77);
        bursts.pause(1, 3_000);
        bursts.begin(1, 5, 9_000, 77);
        assert!(bursts.entropy(1) != 77 && bursts.entropy(1) != second);
    }
}
