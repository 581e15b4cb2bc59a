//! A discipline that does not come back: a thread of its own for it, and a bump that goes on without it.
//!
//! Nothing can interrupt compiled code from outside. What can be done is not to wait for it: the discipline
//! runs in a thread of its own, as the extensions of NetBump do (5.2.1), and the bump waits for an answer as
//! long as it has patience. After that the queue is set aside: its packets pass. The thread stays behind, with
//! its core, until the discipline comes back or the process ends.

use slotline_net::aqm::{Arrival, Departure, Discipline, Verdict};
use slotline_net::units::Pace;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// What the discipline is asked. Of a frame it gets the first bytes.
enum Question {
    Arrive(Arrival, Vec<u8>),
    Leave(Departure),
    Pace(Pace),
}

/// Bytes of a frame that a watched discipline sees.
pub const SEEN: usize = 256;

/// A discipline in a thread of its own. Where it panics, or takes longer than the bump has patience, its
/// queue is set aside for good, and all its packets pass.
#[derive(Debug)]
pub struct Watched {
    ends: Option<(SyncSender<Question>, Receiver<Verdict>)>,
    patience: Duration,
    looks_at_frames: bool,
}

impl Watched {
    /// Puts `inner` into a thread of its own. `patience` is how long a packet may be held up, once;
    /// `looks_at_frames` says whether the bytes of packets are copied for it.
    pub fn new<D: Discipline + Send + 'static>(
        inner: D,
        patience: Duration,
        looks_at_frames: bool,
    ) -> io::Result<Watched> {
        let (asks, questions) = sync_channel(1);
        let (answers, verdicts) = sync_channel(1);
        let thread = Builder::new().name("discipline".into());
        thread.spawn(move || answer(inner, &questions, &answers))?;
        Ok(Watched { ends: Some((asks, verdicts)), patience, looks_at_frames })
    }

    /// Whether its queue was set aside.
    pub fn is_aside(&self) -> bool {
        self.ends.is_none()
    }

    fn ask(&mut self, question: Question) -> Verdict {
        let Some((asks, verdicts)) = &self.ends else { return Verdict::Pass };
        // The thread takes one question after the other: there is always room for one.
        let answer =
            asks.try_send(question).ok().and_then(|()| verdicts.recv_timeout(self.patience).ok());
        answer.unwrap_or_else(|| {
            self.ends = None;
            Verdict::Pass
        })
    }
}

/// The thread: it ends with the bump, or with a panic of the discipline.
fn answer<D: Discipline>(
    mut inner: D,
    questions: &Receiver<Question>,
    answers: &SyncSender<Verdict>,
) {
    for question in questions {
        let verdict = match question {
            Question::Arrive(arrival, frame) => inner.arrive_with(&arrival, &frame),
            Question::Leave(departure) => inner.leave(&departure),
            Question::Pace(pace) => {
                inner.set_pace(pace);
                Verdict::Pass
            }
        };
        if answers.send(verdict).is_err() {
            return;
        }
    }
}

impl Discipline for Watched {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        self.arrive_with(arrival, &[])
    }

    fn arrive_with(&mut self, arrival: &Arrival, frame: &[u8]) -> Verdict {
        let seen = if self.looks_at_frames { frame.len().min(SEEN) } else { 0 };
        self.ask(Question::Arrive(*arrival, frame[..seen].to_vec()))
    }

    fn leave(&mut self, departure: &Departure) -> Verdict {
        self.ask(Question::Leave(*departure))
    }

    fn set_pace(&mut self, pace: Pace) {
        self.ask(Question::Pace(pace));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByDestination, Own, Pipeline};
    use slotline_net::aqm::bank::Entry;
    use slotline_net::aqm::{Threshold, VirtualQueue};
    use slotline_net::time::Time;
    use slotline_net::units::{Bytes, Rate};

    const LONG: Duration = Duration::from_secs(20);
    const GBPS: Rate = Rate(1_000_000_000);

    /// Drops every packet, until it meets the third.
    enum Turns {
        Panics(u32),
        Loops(u32),
        Never,
    }

    impl Discipline for Turns {
        fn arrive(&mut self, _arrival: &Arrival) -> Verdict {
            match self {
                Turns::Panics(0) => panic!("the third packet"),
                Turns::Loops(0) => loop {
                    std::thread::sleep(Duration::from_secs(3_600));
                },
                Turns::Panics(left) | Turns::Loops(left) => *left -= 1,
                Turns::Never => {}
            }
            Verdict::Drop
        }
    }

    fn frame(host: u8) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([
            0x08, 0x00, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 99, 10, 0, 0, host,
        ]);
        frame.resize(60, 0);
        frame
    }

    /// Through a whole pipeline: of four queues one panics, one never comes back, two go on to drop.
    #[test]
    fn one_that_panics_or_loops_harms_its_own_queue_alone() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let queue = VirtualQueue::new(GBPS.pace(), Bytes(1_000_000));
        let kinds = [Turns::Panics(2), Turns::Never, Turns::Loops(2), Turns::Never];
        let patience = [LONG, LONG, Duration::from_millis(20), LONG];
        let entries = kinds
            .into_iter()
            .zip(patience)
            .map(|(kind, patience)| Entry::new(queue, Watched::new(kind, patience, true).unwrap()));
        let entries: Vec<_> = entries.collect();
        let classify = ByDestination::new(4, (32, 128));
        let mut pipeline = Pipeline::new(classify, entries, Own::new(4), 24);
        let mut passed = [0; 4];
        for n in 0..40u64 {
            let host = (n % 4) as u8;
            let mut bytes = frame(host);
            let action = pipeline.pass(&mut bytes, 60, Time::us(n)).action;
            passed[usize::from(host)] += u32::from(action.forwards());
        }
        std::panic::set_hook(hook);
        assert_eq!(passed, [8, 0, 8, 0]);
        let aside: Vec<bool> = pipeline.disciplines().map(Watched::is_aside).collect();
        assert_eq!(aside, [true, false, true, false]);
    }

    /// The same answers as without a thread.
    #[test]
    fn one_that_answers_is_asked_as_ever() {
        let mut native = Threshold::new(Bytes(10_000), GBPS.pace());
        let mut watched = Watched::new(native, LONG, false).unwrap();
        let mut queue = VirtualQueue::new(GBPS.pace(), Bytes(100_000));
        for n in 0..500u64 {
            let now = Time::us(n / 20 * 200 + n % 20);
            let arrival = queue.arrival(1_500, n % 3 == 0, now);
            let want = Discipline::arrive(&mut native, &arrival);
            assert_eq!(watched.arrive(&arrival), want, "{n}");
            queue.add(1_500, now);
        }
        assert!(!watched.is_aside());
    }
}
