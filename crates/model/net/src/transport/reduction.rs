//! Proportional rate reduction (RFC 6937): during recovery the data in transit falls from the old window to the
//! new one in proportion to the acknowledged data, not at once.

/// A recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// Segments outstanding when it began (RecoverFS).
    flight: u32,
    /// The window at its end (ssthresh).
    target: u32,
    delivered: u32,
    sent: u32,
    window: u32,
}

impl Reduction {
    /// A recovery begins with `flight` segments outstanding, `pipe` of them in the network. The first lost segment may
    /// always be sent.
    pub fn new(flight: u32, target: u32, pipe: u32) -> Reduction {
        Reduction { flight: flight.max(1), target, delivered: 0, sent: 0, window: pipe + 1 }
    }

    /// Segments that may be in the network now.
    #[inline]
    pub fn window(&self) -> u32 {
        self.window
    }

    /// A segment is sent.
    pub fn send(&mut self) {
        self.sent += 1;
    }

    /// `news` segments are newly known to be received; `pipe` are in the network (section 3, with the slow
    /// start bound).
    pub fn on_ack(&mut self, news: u32, pipe: u32) {
        self.delivered += news;
        let may = if pipe > self.target {
            let share = u64::from(self.delivered) * u64::from(self.target);
            (share.div_ceil(u64::from(self.flight)) as u32).saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(news) + 1;
            bound.min(self.target - pipe)
        };
        self.window = pipe + if self.sent == 0 { may.max(1) } else { may };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937, section 4, first example. The first of 20 segments is lost. Two new segments were sent by limited
    /// transmit. From the third acknowledgement on, every second one allows a segment.
    #[test]
    fn one_loss_of_twenty() {
        let mut reduction = Reduction::new(20, 10, 18);
        let (mut pipe, mut windows) = (19, Vec::new());
        for _ in 3..=19 {
            pipe -= 1;
            reduction.on_ack(1, pipe);
            let sent = reduction.window() - pipe;
            (0..sent).for_each(|_| reduction.send());
            pipe += sent;
            windows.push(sent);
        }
        assert_eq!(windows, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(pipe, 10);
    }

    /// If most of the window is lost, each acknowledgement allows two segments, up to the new window.
    #[test]
    fn many_losses() {
        let mut reduction = Reduction::new(20, 10, 4);
        let mut pipe = 4;
        for _ in 0..20 {
            pipe -= 1;
            reduction.on_ack(1, pipe);
            let sent = reduction.window() - pipe;
            assert!(sent <= 2 && pipe + sent <= 10);
            (0..sent).for_each(|_| reduction.send());
            pipe += sent;
        }
        assert_eq!(pipe, 10);
    }
}
