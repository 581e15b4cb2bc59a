//! A watchdog for disciplines that do not return.
//!
//! A thread that runs compiled code cannot be interrupted from outside. Therefore the discipline runs in a
//! thread of its own, as the extensions of NetBump do (5.2.1), and the bump waits for a verdict until a
//! timeout. After a timeout the bump disables the discipline, and the packets of its queue pass. The thread
//! continues to occupy its core until the discipline returns or the process ends.

use slotline_net::aqm::{Arrival, Departure, Discipline, Verdict};
use slotline_net::units::InverseRate;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// A call of the discipline. It gets the first bytes of the frame only.
enum Call {
    Arrive(Arrival, Vec<u8>),
    Leave(Departure),
    InverseRate(InverseRate),
}

/// The number of bytes of a frame that a watched discipline gets.
pub const SEEN: usize = 256;

/// A discipline in a thread of its own. If it panics or exceeds the timeout, it is disabled permanently, and
/// all packets of its queue pass.
#[derive(Debug)]
pub struct Watched {
    ends: Option<(SyncSender<Call>, Receiver<Verdict>)>,
    timeout: Duration,
    reads_frames: bool,
}

impl Watched {
    /// Starts a thread for `inner`. `timeout` is the longest delay of a packet, which occurs at most once.
    /// `reads_frames` says whether the discipline gets the bytes of packets.
    ///
    /// # Errors
    /// The error of the operating system if the thread cannot be started.
    pub fn new<D: Discipline + Send + 'static>(
        inner: D,
        timeout: Duration,
        reads_frames: bool,
    ) -> io::Result<Watched> {
        let (calls, received) = sync_channel(1);
        let (replies, verdicts) = sync_channel(1);
        let thread = Builder::new().name("discipline".into());
        thread.spawn(move || serve(inner, &received, &replies))?;
        Ok(Watched { ends: Some((calls, verdicts)), timeout, reads_frames })
    }

    /// Whether the discipline is disabled.
    pub fn is_disabled(&self) -> bool {
        self.ends.is_none()
    }

    fn call(&mut self, call: Call) -> Verdict {
        let Some((calls, verdicts)) = &self.ends else { return Verdict::Pass };
        // The thread handles one call after the other, so the channel has room for this one.
        let verdict =
            calls.try_send(call).ok().and_then(|()| verdicts.recv_timeout(self.timeout).ok());
        verdict.unwrap_or_else(|| {
            self.ends = None;
            Verdict::Pass
        })
    }
}

/// The loop of the thread. It ends with the bump or with a panic of the discipline.
fn serve<D: Discipline>(mut inner: D, calls: &Receiver<Call>, replies: &SyncSender<Verdict>) {
    for call in calls {
        let verdict = match call {
            Call::Arrive(arrival, frame) => inner.arrive_with(&arrival, &frame),
            Call::Leave(departure) => inner.leave(&departure),
            Call::InverseRate(pace) => {
                inner.set_pace(pace);
                Verdict::Pass
            }
        };
        if replies.send(verdict).is_err() {
            return;
        }
    }
}

impl Discipline for Watched {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        self.arrive_with(arrival, &[])
    }

    fn arrive_with(&mut self, arrival: &Arrival, frame: &[u8]) -> Verdict {
        let seen = if self.reads_frames { frame.len().min(SEEN) } else { 0 };
        self.call(Call::Arrive(*arrival, frame[..seen].to_vec()))
    }

    fn leave(&mut self, departure: &Departure) -> Verdict {
        self.call(Call::Leave(*departure))
    }

    fn set_pace(&mut self, pace: InverseRate) {
        self.call(Call::InverseRate(pace));
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

    /// Drops every packet, and panics or loops after a number of them.
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

    /// One of four disciplines in a pipeline panics, one never returns, and two continue to drop packets.
    #[test]
    fn a_discipline_that_panics_or_loops_affects_its_own_queue_only() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let queue = VirtualQueue::new(GBPS.inverse_rate(), Bytes(1_000_000));
        let kinds = [Turns::Panics(2), Turns::Never, Turns::Loops(2), Turns::Never];
        let timeout = [LONG, LONG, Duration::from_millis(20), LONG];
        let entries = kinds
            .into_iter()
            .zip(timeout)
            .map(|(kind, timeout)| Entry::new(queue, Watched::new(kind, timeout, true).unwrap()));
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
        let disabled: Vec<bool> = pipeline.disciplines().map(Watched::is_disabled).collect();
        assert_eq!(disabled, [true, false, true, false]);
    }

    /// The verdicts are those of the discipline without a thread.
    #[test]
    fn a_watched_discipline_has_the_same_verdicts() {
        let mut native = Threshold::new(Bytes(10_000), GBPS.inverse_rate());
        let mut watched = Watched::new(native, LONG, false).unwrap();
        let mut queue = VirtualQueue::new(GBPS.inverse_rate(), Bytes(100_000));
        for n in 0..500u64 {
            let now = Time::us(n / 20 * 200 + n % 20);
            let arrival = queue.arrival(1_500, n % 3 == 0, now);
            let expected = Discipline::arrive(&mut native, &arrival);
            assert_eq!(watched.arrive(&arrival), expected, "{n}");
            queue.add(1_500, now);
        }
        assert!(!watched.is_disabled());
    }
}
