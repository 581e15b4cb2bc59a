//! The window against replays: which counters of a session have arrived (RFC 6479).

/// The number of words of 64 bits. One is being filled, so the window is 64 counters narrower than all bits.
const WORDS: u64 = 32;
/// The number of counters behind the greatest one that are distinguished from replays. Older counters are refused.
#[cfg(test)]
const WIDTH: u64 = (WORDS - 1) * 64;

#[derive(Clone)]
pub(crate) struct Window {
    bits: [u64; WORDS as usize],
    /// The word of the greatest counter that arrived.
    last_word: u64,
}

impl Window {
    pub fn new() -> Window {
        Window { bits: [0; WORDS as usize], last_word: 0 }
    }
    /// Whether this counter may be new.
    pub fn admits(&self, counter: u64) -> bool {
        let word = counter / 64;
        if word > self.last_word {
            return true;
        }
        self.last_word - word < WORDS && self.bits[slot(word)] & bit(counter) == 0
    }
    /// Notes a counter that the window admits.
    pub fn note(&mut self, counter: u64) {
        let word = counter / 64;
        self.advance(word);
        self.bits[slot(word)] |= bit(counter);
    }
    /// Clears the words between the last one and `word`.
    fn advance(&mut self, word: u64) {
        let steps = word.saturating_sub(self.last_word).min(WORDS);
        for step in 1..=steps {
            self.bits[slot(self.last_word.wrapping_add(step))] = 0;
        }
        self.last_word = self.last_word.max(word);
    }
}

fn slot(word: u64) -> usize {
    (word % WORDS) as usize
}
fn bit(counter: u64) -> u64 {
    1 << (counter % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_window_is_wide_enough() {
        const { assert!(WIDTH >= 1_024) }
        for greatest in [WIDTH, WIDTH + 63, 5 * WIDTH + 17, u64::MAX] {
            let mut window = Window::new();
            window.note(greatest);
            assert!(window.admits(greatest - WIDTH));
            assert!(!window.admits(greatest));
            assert!(greatest < WIDTH + 64 || !window.admits(greatest - WIDTH - 64));
        }
    }

    proptest! {
        #[test]
        fn as_a_set_says(steps in prop::collection::vec((0_u64..3_000, prop::bool::ANY), 1..400)) {
            let (mut window, mut seen, mut greatest) = (Window::new(), BTreeSet::new(), 0_u64);
            for (step, ahead) in steps {
                let counter = if ahead { greatest + step / 4 } else { greatest.saturating_sub(step) };
                let recent = counter + WIDTH > greatest;
                if window.admits(counter) {
                    prop_assert!(!seen.contains(&counter));
                    window.note(counter);
                } else {
                    prop_assert!(seen.contains(&counter) || !recent);
                }
                seen.insert(counter);
                greatest = greatest.max(counter);
            }
        }
    }
}
