use super::*;
use slotline_lab::live::recorded_controller;
use slotline_live::record::Recorder;
use slotline_live::renewal::{Renewal, Request};
use slotline_live::replay::{Log, replay};
use slotline_scenario::Scenario;
use std::sync::{Mutex, PoisonError};

/// The tests use the same addresses.
static ADDRESSES: Mutex<()> = Mutex::new(());
const HOSTS: u32 = 4;
/// Hosts between which there are two paths.
const FABRIC: &str = "kind = 'leaf-spine', leaves = 2, spines = 2, hosts-per-leaf = 2, \
     host-rate = '1Gbps', uplink-rate = '1Gbps'";

/// An arbiter in a thread of its own, with hosts.
struct Bed<'a> {
    running: &'a Running,
    shared: &'a Shared<ArbiterStatus>,
    network: &'a LiveNetwork,
    hosts: Vec<Host>,
}

impl Bed<'_> {
    /// Lets the first `hosts` of the hosts work until they have sent this many packets. Panics if that takes too long.
    fn send(&mut self, hosts: usize, packets: u32) {
        let (mut left, began) = (0, self.running.now());
        while left < packets {
            assert!(self.running.now().since(began) < SPAN, "{left} packets left");
            for host in &mut self.hosts[..hosts] {
                left += host.round(self.running.now(), 16).unwrap();
            }
            std::thread::sleep(Duration::from_micros(300));
        }
    }
    /// The next answer to a question of a host, if one comes within a second.
    fn ask(&mut self, host: usize) -> Option<slotline_live::clock::TimeReply> {
        let Host { channel, setup, .. } = &mut self.hosts[host];
        let asked = self.running.now();
        while self.running.now().since(asked) < Duration::from_secs(1) {
            let now = self.running.now();
            channel.send(setup.arbiters[0].number, &Message::TimeRequest(now), now);
            channel.attend(now);
            std::thread::sleep(Duration::from_millis(5));
            while let Some((_, message)) = channel.receive(self.running.now()).unwrap() {
                if let Message::TimeReply(reply) = message
                    && reply.asked >= asked
                {
                    return Some(reply);
                }
            }
        }
        None
    }
    fn request(&self, request: Request) {
        self.shared.ask(request).unwrap();
    }
}

/// Runs an arbiter with a changed setup, and `work` beside it.
fn with_arbiter(change: impl FnOnce(&mut ArbiterSetup) + Send, work: impl FnOnce(&mut Bed<'_>)) {
    let _one = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    with_arbiter_of(&network_of(FABRIC, HOSTS, 1, OPTIONS).unwrap(), change, work);
}

fn with_arbiter_of(
    network: &LiveNetwork,
    change: impl FnOnce(&mut ArbiterSetup) + Send,
    work: impl FnOnce(&mut Bed<'_>),
) {
    let (running, shared) = (&Arc::new(Running::default()), &Shared::default());
    let mut setup = network.arbiter(0, key(HOSTS)).unwrap();
    change(&mut setup);
    // A part of the setup stays in one thread.
    let (threads, peers, recorder) = (setup.threads, setup.peers, setup.recorder);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let setup = ArbiterSetup {
                threads,
                peers,
                recorder,
                ..network.arbiter(0, key(HOSTS)).unwrap()
            };
            Arbiter::open(setup, running.now()).unwrap().run(running, shared).unwrap();
        });
        let stop = Stop(running);
        let new = |n| Host::new(network, n, running.now()).unwrap();
        work(&mut Bed { running, shared, network, hosts: (0..HOSTS).map(new).collect() });
        drop(stop);
    });
}

/// Stops the daemon at the end, also after a panic.
struct Stop<'a>(&'a Running);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// An arbiter whose sockets have threads of their own sends what the node of one thread sends from its log: the same
/// grants with the same paths, bit by bit.
#[test]
fn any_number_of_threads_decides_as_one() {
    let _one = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let network = network_of(FABRIC, HOSTS, 1, OPTIONS).unwrap();
    [1, 2, 3, 5].into_iter().for_each(|threads| recorded_equals_replayed(&network, threads));
}

/// So does one whose allocators have threads of their own, with batches of any length, between hosts of one rate or of
/// several.
#[test]
fn allocators_on_threads_decide_as_on_one() {
    let _one = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let mixed = format!("{FABRIC}, overrides = [{{ link = 'h0-leaf0', rate = '2Gbps' }}]");
    for (fabric, allocators, batch, threads) in [
        (FABRIC, 1, 8, 1),
        (FABRIC, 2, 8, 1),
        (&mixed, 2, 4, 2),
        (&mixed, 3, 1, 1),
        (&star(HOSTS, "1Gbps"), 4, 64, 1),
    ] {
        let options = format!(
            "slot = '50us', batch = {batch}, allocators = {allocators}, lead = '2ms', timeout = '5ms', gap = '100us'"
        );
        let network = network_with(fabric, HOSTS, 1, &options, true).unwrap();
        recorded_equals_replayed(&network, threads);
    }
}

fn recorded_equals_replayed(network: &LiveNetwork, threads: u8) {
    let folder = std::env::temp_dir().join(format!("slotline-threads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("log");
    let recorder = Recorder::create(&file).unwrap();
    let change = |setup: &mut ArbiterSetup| {
        (setup.threads, setup.recorder) = (threads, Some(recorder));
    };
    with_arbiter_of(network, change, |bed| bed.send(HOSTS as usize, 500));
    let bytes = std::fs::read(&file).unwrap();
    let log = Log::open(&bytes).unwrap();
    let loaded = Scenario::parse(&file, log.header.scenario.clone()).unwrap();
    let (mut seat, links) = recorded_controller(&loaded, &log.header).unwrap();
    let done = replay(&mut log.clone(), &mut seat, &links, true).unwrap();
    assert!(done.heard > 50 && done.sent > 50 && done.sent == done.recorded, "{done:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Hosts join, are drained, come back and leave, while others send.
#[test]
fn the_network_changes_while_hosts_send() {
    for threads in [1, 2, 4] {
        let last = HOSTS as usize - 1;
        let change = |setup: &mut ArbiterSetup| {
            setup.threads = threads;
            setup.peers.retain(|peer| peer.number != HOSTS - 1);
        };
        with_arbiter(change, |bed| {
            let renewal = Renewal::from(bed.network.arbiter(0, key(HOSTS)).unwrap());
            bed.send(last, 100);
            assert_eq!(bed.ask(last), None, "the arbiter does not know it");
            bed.request(Request::Renew(Box::new(renewal.clone())));
            let now = bed.running.now();
            // Its socket has the address.
            drop(bed.hosts.pop());
            bed.hosts.push(Host::new(bed.network, HOSTS - 1, now).unwrap());
            assert!(bed.ask(last).is_some_and(|reply| !reply.drained), "it has joined");
            bed.send(last + 1, 100);

            let drain = |drained| Request::DrainHost { number: 0, name: "h0".into(), drained };
            bed.request(drain(true));
            assert!(bed.ask(0).is_some_and(|reply| reply.drained));
            assert!(bed.ask(1).is_some_and(|reply| !reply.drained));
            bed.request(drain(false));
            assert!(bed.ask(0).is_some_and(|reply| !reply.drained));
            bed.send(last, 100);

            let mut without = renewal;
            without.peers.retain(|peer| peer.number != HOSTS - 1);
            bed.request(Request::Renew(Box::new(without)));
            assert_eq!(bed.ask(last), None, "it has left");
            bed.send(last, 100);
        });
    }
}
