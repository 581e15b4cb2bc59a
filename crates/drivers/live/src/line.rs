//! How an arbiter reaches its channel: in its own thread, or in others that have the sockets and the encryption. Each of
//! these threads has a share of the peers.
//!
//! Messages cross between threads in lock-free rings, as bytes. A full ring loses messages, as a full socket does.

use crate::channel::{Channel, Peer};
use crate::clock::Local;
use crate::message::Message;
use crate::quotas::Quotas;
use crate::running::{Running, waiting_list};
use rtrb::{Consumer, Producer, RingBuffer};
use rustix::event::{EventfdFlags, eventfd};
use slotline_envelope::KeyPair;
use slotline_linux::datagrams::Share;
use slotline_linux::wait;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// The bytes of messages that wait for the other thread, at most.
const CAPACITY: usize = 4 << 20;
/// The largest number of messages that a thread handles before its other work.
const BURST: usize = 256;
/// The longest sleep of the thread of the network.
const NAP: Duration = Duration::from_millis(20);
/// The bytes before a message: the number of the peer and the length.
const HEAD: usize = 8;

/// What the status of an arbiter says about its channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LineReport {
    pub present: usize,
    pub refused: u64,
    pub over_quota: u64,
    pub lost: u64,
}

impl LineReport {
    fn of(channel: &Channel, within: Duration, now: Local) -> LineReport {
        LineReport {
            present: channel.present(within, now),
            refused: channel.refused(),
            over_quota: channel.over_quota(),
            lost: channel.lost(),
        }
    }
}

/// What the thread of the network does besides messages.
enum Order {
    Expect(u32),
    Renew(KeyPair, Vec<Peer>, mpsc::Sender<Result<(), String>>),
    Limit(Quotas),
}

/// Opens a channel in the thread that will have it.
pub(crate) type Open = Box<dyn FnOnce(Local) -> io::Result<Channel> + Send>;

/// A channel of this thread, or those of others.
pub(crate) enum Line {
    Here(Box<Channel>),
    There(Threads),
}

/// The threads of the network.
pub(crate) struct Threads {
    remotes: Vec<Remote>,
    /// Readable while one of them has something for this thread.
    bell: Arc<Bell>,
    /// The thread of each peer.
    places: HashMap<u32, usize>,
    /// The thread whose messages are next.
    next: usize,
}

/// One end of two rings, and the means to wake the thread at the other end.
struct Rings {
    out: Producer<u8>,
    into: Consumer<u8>,
    /// Readable while the other thread has something for this one.
    bell: Arc<Bell>,
    /// Wakes the other thread.
    other: Arc<Bell>,
    buffer: Vec<u8>,
    /// Whether the other thread has yet to be woken for what was sent.
    silent: bool,
    lost: u64,
}

/// A file that wakes a thread. It is written once, until the thread has begun to work.
struct Bell {
    file: OwnedFd,
    rung: AtomicBool,
}

/// The end of the thread that has the scheme.
pub(crate) struct Remote {
    rings: Rings,
    orders: mpsc::Sender<Order>,
    report: Arc<Mutex<LineReport>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Bell {
    fn new() -> io::Result<Arc<Bell>> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Arc::new(Bell { file: eventfd(0, flags)?, rung: AtomicBool::new(false) }))
    }
    fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            // The counter cannot be full, because it is written once at most.
            let _ = rustix::io::write(&self.file, &1u64.to_ne_bytes());
        }
    }
    /// Begins to listen again: what comes from now on rings. The caller then looks at what came before. In the other
    /// order, a ring between both steps would be lost.
    fn reset(&self) {
        // There is nothing to read if the bell has not rung.
        let _ = rustix::io::read(&self.file, &mut [0; 8]);
        self.rung.swap(false, Ordering::AcqRel);
    }
}

impl Rings {
    /// Two ends, of which the first is woken by `one`.
    fn pair(one: Arc<Bell>) -> io::Result<(Rings, Rings)> {
        let ((to, from_one), (back, from_two)) =
            (RingBuffer::new(CAPACITY), RingBuffer::new(CAPACITY));
        let two = Bell::new()?;
        let rings = |out, into, bell: &Arc<Bell>, other: &Arc<Bell>| Rings {
            out,
            into,
            bell: Arc::clone(bell),
            other: Arc::clone(other),
            buffer: Vec::new(),
            silent: false,
            lost: 0,
        };
        Ok((rings(to, from_two, &one, &two), rings(back, from_one, &two, &one)))
    }
    /// Passes a message to the other thread. It is lost if the ring is full.
    fn send(&mut self, peer: u32, message: &Message<'_>) -> bool {
        message.emit(&mut self.buffer);
        let length = self.buffer.len() as u32;
        let head = [peer.to_ne_bytes(), length.to_ne_bytes()];
        // Both parts fit or none: half a message would make all later ones unreadable.
        let sent = self.out.slots() >= HEAD + self.buffer.len()
            && self.out.push_entire_slice(head.as_flattened()).is_ok()
            && self.out.push_entire_slice(&self.buffer).is_ok();
        self.silent |= sent;
        self.lost += u64::from(!sent);
        sent
    }
    /// Wakes the other thread if something was sent.
    fn wake(&mut self) {
        if std::mem::take(&mut self.silent) {
            self.other.ring();
        }
    }
    /// The next message from the other thread.
    fn receive(&mut self) -> Option<(u32, Message<'_>)> {
        let mut head = [0; HEAD];
        // Both parts of a message may arrive one after the other, so the length is checked before anything is taken.
        let chunk = self.into.read_chunk(HEAD).ok()?;
        copy(chunk.as_slices(), &mut head);
        let [peer, length] = [0, 4].map(|at| word(&head[at..]));
        let chunk = self.into.read_chunk(HEAD + length as usize).ok()?;
        self.buffer.resize(HEAD + length as usize, 0);
        copy(chunk.as_slices(), &mut self.buffer);
        chunk.commit_all();
        Some((peer, Message::parse(&self.buffer[HEAD..])?))
    }
    fn has_more(&self) -> bool {
        !self.into.is_empty()
    }
}

fn copy((first, second): (&[u8], &[u8]), out: &mut [u8]) {
    out[..first.len()].copy_from_slice(first);
    out[first.len()..].copy_from_slice(second);
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |four| u32::from_ne_bytes(*four))
}

impl Line {
    /// Opens the channels of these shares, each in a thread of its own. Peers that were heard `within` this time are
    /// present.
    pub fn there(
        opens: Vec<Open>,
        peers: &[Peer],
        running: &Arc<Running>,
        within: Duration,
    ) -> io::Result<Line> {
        let bell = Bell::new()?;
        let begin = |open| Remote::begin(open, Arc::clone(&bell), running, within);
        let remotes = opens.into_iter().map(begin).collect::<io::Result<Vec<_>>>()?;
        let mut threads = Threads { remotes, bell, places: HashMap::new(), next: 0 };
        threads.place(peers);
        Ok(Line::There(threads))
    }
    /// A file that is readable while there may be messages.
    pub fn readable(&self) -> BorrowedFd<'_> {
        match self {
            Line::Here(channel) => channel.readable(),
            Line::There(threads) => threads.bell.file.as_fd(),
        }
    }
    /// See [`Channel::receive`].
    pub fn receive(&mut self, now: Local) -> io::Result<Option<(u32, Message<'_>)>> {
        match self {
            Line::Here(channel) => channel.receive(now),
            Line::There(threads) => Ok(threads.receive()),
        }
    }
    /// See [`Channel::send`].
    pub fn send(&mut self, to: u32, message: &Message<'_>, now: Local) -> bool {
        match self {
            Line::Here(channel) => channel.send(to, message, now),
            Line::There(threads) => {
                threads.of(to).is_some_and(|remote| remote.rings.send(to, message))
            }
        }
    }
    /// See [`Channel::expect`].
    pub fn expect(&mut self, peer: u32, now: Local) {
        match self {
            Line::Here(channel) => channel.expect(peer, now),
            Line::There(threads) => {
                threads.of(peer).iter().for_each(|remote| remote.order(Order::Expect(peer)));
            }
        }
    }
    /// See [`Channel::limit`].
    pub fn limit(&mut self, quotas: Quotas) {
        match self {
            Line::Here(channel) => channel.limit(quotas),
            Line::There(threads) => threads.limit(&quotas),
        }
    }
    /// See [`Channel::renew`].
    pub fn renew(&mut self, own: KeyPair, peers: Vec<Peer>, now: Local) -> Result<(), String> {
        match self {
            Line::Here(channel) => {
                channel.renew(&own, &peers, now).map_err(|error| error.to_string())
            }
            Line::There(threads) => threads.renew(&own, &peers),
        }
    }
    /// See [`Channel::attend`]. With other threads, an error is the reason why one has ended.
    pub fn attend(&mut self, now: Local) -> io::Result<Duration> {
        match self {
            Line::Here(channel) => Ok(channel.attend(now)),
            Line::There(threads) => threads.attend(),
        }
    }
    pub fn report(&self, within: Duration, now: Local) -> LineReport {
        match self {
            Line::Here(channel) => LineReport::of(channel, within, now),
            Line::There(threads) => threads.report(),
        }
    }
}

/// The peers of a share.
pub(crate) fn peers_of(share: Share, peers: &[Peer]) -> Vec<Peer> {
    peers.iter().filter(|peer| share.contains(peer.address.ip())).cloned().collect()
}

impl Threads {
    fn shares(&self) -> impl Iterator<Item = Share> + use<> {
        let of = self.remotes.len();
        (0..of).map(move |at| Share { of, at })
    }
    /// Notes the thread of each peer.
    fn place(&mut self, peers: &[Peer]) {
        let of =
            |share: Share| peers_of(share, peers).into_iter().map(move |p| (p.number, share.at));
        self.places = self.shares().flat_map(of).collect();
    }
    fn of(&mut self, peer: u32) -> Option<&mut Remote> {
        self.remotes.get_mut(*self.places.get(&peer)?)
    }
    /// The next message, of each thread in turn.
    fn receive(&mut self) -> Option<(u32, Message<'_>)> {
        let count = self.remotes.len();
        let mut turns = (self.next..self.next + count).map(|at| at % count);
        let at = turns.find(|at| self.remotes[*at].rings.has_more())?;
        self.next = at + 1;
        self.remotes[at].rings.receive()
    }
    fn limit(&self, quotas: &Quotas) {
        for (at, remote) in self.remotes.iter().enumerate() {
            let own = |peer: u32| self.places.get(&peer) == Some(&at);
            remote.order(Order::Limit(quotas.part(own)));
        }
    }
    fn renew(&mut self, own: &KeyPair, peers: &[Peer]) -> Result<(), String> {
        for (share, remote) in self.shares().zip(&self.remotes) {
            let (sender, answer) = mpsc::channel();
            remote.order(Order::Renew(own.clone(), peers_of(share, peers), sender));
            let ended = || Err("the thread of the network has ended".into());
            answer.recv().unwrap_or_else(|_| ended())?;
        }
        self.place(peers);
        Ok(())
    }
    fn attend(&mut self) -> io::Result<Duration> {
        self.remotes.iter_mut().try_for_each(Remote::attend)?;
        self.bell.reset();
        let more = self.remotes.iter().any(|remote| remote.rings.has_more());
        Ok(if more { Duration::ZERO } else { Duration::MAX })
    }
    fn report(&self) -> LineReport {
        let add = |all: LineReport, of: LineReport| LineReport {
            present: all.present + of.present,
            refused: all.refused + of.refused,
            over_quota: all.over_quota + of.over_quota,
            lost: all.lost + of.lost,
        };
        self.remotes.iter().map(Remote::report).fold(LineReport::default(), add)
    }
}

impl Remote {
    /// Opens a channel in a thread of its own, which wakes this one by `bell`.
    fn begin(
        open: Open,
        bell: Arc<Bell>,
        running: &Arc<Running>,
        within: Duration,
    ) -> io::Result<Remote> {
        let (rings, other) = Rings::pair(bell)?;
        let (orders, given) = mpsc::channel();
        let (report, stop) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (opened, ready) = mpsc::channel();
        let (work_report, work_stop) = (Arc::clone(&report), Arc::clone(&stop));
        let running = Arc::clone(running);
        let work = move || {
            let (channel, failure) = match open(running.now()) {
                Ok(channel) => (Some(channel), Ok(())),
                Err(error) => (None, Err(error)),
            };
            let _ = opened.send(failure);
            let Some(channel) = channel else { return Ok(()) };
            let (rings, report, stop) = (other, work_report, work_stop);
            Work { channel, rings, given, report, stop, within }.run(&running)
        };
        let thread = Some(std::thread::Builder::new().name("network".into()).spawn(work)?);
        let remote = Remote { rings, orders, report, stop, thread };
        ready.recv().unwrap_or_else(|_| Err(io::Error::other("the thread has ended")))?;
        Ok(remote)
    }
    fn order(&self, order: Order) {
        // If the thread has ended, `attend` says why.
        let _ = self.orders.send(order);
        self.rings.other.ring();
    }
    fn attend(&mut self) -> io::Result<()> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            self.end()?;
            return Err(io::Error::other("the thread of the network has ended"));
        }
        self.rings.wake();
        Ok(())
    }
    fn report(&self) -> LineReport {
        let report = *self.report.lock().unwrap_or_else(PoisonError::into_inner);
        LineReport { lost: report.lost + self.rings.lost, ..report }
    }
    fn end(&mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Release);
        self.rings.other.ring();
        let ended = self.thread.take().map(JoinHandle::join);
        ended.unwrap_or(Ok(Ok(()))).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The reason was reported by `attend`, if there was one.
        let _ = self.end();
    }
}

/// The thread of the network.
struct Work {
    channel: Channel,
    rings: Rings,
    given: mpsc::Receiver<Order>,
    report: Arc<Mutex<LineReport>>,
    stop: Arc<AtomicBool>,
    within: Duration,
}

impl Work {
    fn run(mut self, running: &Running) -> io::Result<()> {
        let list = waiting_list(&[self.channel.readable(), self.rings.bell.file.as_fd()])?;
        while !self.stop.load(Ordering::Acquire) {
            let next = self.round(running.now())?;
            if !next.is_zero() {
                wait::sleep(&list, next.min(NAP))?;
            }
        }
        Ok(())
    }
    fn round(&mut self, now: Local) -> io::Result<Duration> {
        self.rings.bell.reset();
        while let Ok(order) = self.given.try_recv() {
            self.carry_out(order, now);
        }
        for _ in 0..BURST {
            let Some((from, message)) = self.channel.receive(now)? else { break };
            self.rings.send(from, &message);
        }
        self.rings.wake();
        for _ in 0..BURST {
            let Some((to, message)) = self.rings.receive() else { break };
            self.channel.send(to, &message, now);
        }
        if let Ok(mut report) = self.report.try_lock() {
            *report = LineReport::of(&self.channel, self.within, now);
            report.lost += self.rings.lost;
        }
        let next = self.channel.attend(now);
        Ok(if self.rings.has_more() { Duration::ZERO } else { next })
    }
    fn carry_out(&mut self, order: Order, now: Local) {
        match order {
            Order::Expect(peer) => self.channel.expect(peer, now),
            Order::Limit(quotas) => self.channel.limit(quotas),
            Order::Renew(own, peers, answer) => {
                let done = self.channel.renew(&own, &peers, now);
                let _ = answer.send(done.map_err(|error| error.to_string()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TimeReply;

    fn message(n: u64) -> Message<'static> {
        match n % 2 {
            0 => Message::TimeRequest(Local(n)),
            _ => Message::TimeReply(TimeReply {
                asked: Local(n),
                received: n,
                sent: n,
                epoch: n,
                drained: n.is_multiple_of(3),
            }),
        }
    }

    /// More messages than fit, so that some are lost, and those that arrive wrap around the end of the ring.
    #[test]
    fn messages_cross_in_order_and_entirely() {
        let (mut one, mut two) = Rings::pair(Bell::new().unwrap()).unwrap();
        let (mut next, mut lost) = (0, 0);
        for _ in 0..3 {
            let sent: Vec<u64> =
                (next..next + 200_000).filter(|&n| one.send(n as u32, &message(n))).collect();
            lost += 200_000 - sent.len() as u64;
            next += 200_000;
            for n in sent {
                assert_eq!(two.receive(), Some((n as u32, message(n))));
            }
            assert!(two.receive().is_none() && !two.has_more());
        }
        assert!(lost > 0 && one.lost == lost, "{lost}");
    }

    /// Sleeps until the bell rings.
    fn listen(list: &OwnedFd) {
        wait::sleep(list, Duration::from_secs(60)).unwrap();
        let mut rung = Vec::new();
        wait::ready(list, &mut rung).unwrap();
        assert!(!rung.is_empty(), "a wake-up was lost");
    }

    /// However the threads take turns, neither sleeps while the other one waits for it.
    #[test]
    fn a_thread_is_woken_for_each_message() {
        const MESSAGES: u64 = 1_000;
        let (mut one, mut two) = Rings::pair(Bell::new().unwrap()).unwrap();
        let answers = std::thread::spawn(move || {
            let list = waiting_list(&[two.bell.file.as_fd()]).unwrap();
            let mut answered = 0;
            while answered < MESSAGES {
                listen(&list);
                two.bell.reset();
                while let Some((peer, Message::TimeRequest(asked))) = two.receive() {
                    two.send(peer, &Message::TimeRequest(asked));
                    answered += 1;
                }
                two.wake();
            }
        });
        let list = waiting_list(&[one.bell.file.as_fd()]).unwrap();
        for n in 0..MESSAGES {
            assert!(one.send(7, &Message::TimeRequest(Local(n))));
            one.wake();
            while one.receive() != Some((7, Message::TimeRequest(Local(n)))) {
                listen(&list);
                one.bell.reset();
            }
        }
        answers.join().unwrap();
    }
}
