//! The programs of the kernel compute what the model computes. The acknowledgements and losses of a simulated run are given
//! to both: to the model's algorithm, and to the instructions that clang makes for the kernel, in Slotline's eBPF machine.
//! The test does what the kernel itself does: it asks for a threshold after a loss or a mark, and reduces the window.

use slotline::prelude::*;
use slotline_bump::maps::{MapKind, MapSpec, Store};
use slotline_bump::memory::{Frame, Memory, PACKET, handle_of};
use slotline_bump::vm::{Machine, Program};
use slotline_congestion::compile::{compile, write_sources};
use slotline_congestion::{Algorithm, CongestionError, Signal};
use slotline_net::transport::congestion::{Congestion, Dctcp, Jumps, Retcp};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What the model's algorithm was told.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack(Ack),
    Loss(Loss),
    Restart(u32),
}

/// What one connection was told.
type Events = Arc<Mutex<Vec<Event>>>;

/// An algorithm that writes down what it is told.
#[derive(Clone, Debug)]
struct Recorder<C> {
    own: C,
    events: Events,
}

impl<C> Recorder<C> {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl<C: Congestion> Congestion for Recorder<C> {
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        self.note(Event::Ack(*ack));
        self.own.on_ack(ack, now);
    }
    fn on_loss(&mut self, loss: Loss, now: Time) {
        self.note(Event::Loss(loss));
        self.own.on_loss(loss, now);
    }
    fn restart(&mut self, initial_window: u32) {
        self.note(Event::Restart(initial_window));
        self.own.restart(initial_window);
    }
    fn window(&self) -> u32 {
        self.own.window()
    }
}

/// The events of the busiest connection of a run.
fn trace<C: Congestion + Clone + std::fmt::Debug + Send + Sync + 'static>(
    fresh: impl Fn(u32) -> C + Clone + Send + Sync + 'static,
    scenario: &str,
) -> Vec<Event> {
    let all: Arc<Mutex<Vec<Events>>> = Arc::default();
    let kept = Arc::clone(&all);
    let extensions = Extensions::new().transport("recorded", move |_options| {
        let (kept, fresh) = (Arc::clone(&kept), fresh.clone());
        Ok(move |initial| {
            let events = Arc::default();
            kept.lock().unwrap().push(Arc::clone(&events));
            Recorder { own: fresh(initial), events }
        })
    });
    let loaded = Scenario::parse_with("trace.toml".as_ref(), scenario.into(), &extensions).unwrap();
    slotline::run_loaded(&loaded).unwrap();
    let all = all.lock().unwrap();
    all.iter().map(|one| one.lock().unwrap().clone()).max_by_key(Vec::len).unwrap()
}

/// Circuits come and go, and short queues lose packets.
const CIRCUITS: &str = r#"
name = "circuits"

[fabric]
kind = "hybrid"
racks = 4
hosts-per-rack = 2
host-rate = "10Gbps"
packet = { rate = "1Gbps", delay = "5us" }
circuits = { rate = "8Gbps", delay = "30us", reconfiguration = "20us" }

[[workload]]
kind = "bulk"
senders = "0-1"
receivers = "2-3"

[[scheme]]
name = "recorded"
transport = { kind = "custom", name = "recorded", mtu = "9000B", min-rto = "10ms" }
queue = "drop-tail"
control = "circuits"
voq = { packets = 16, mark-ahead = "50us" }

[end]
at = "100ms"
when = "time"
"#;

/// A short queue marks and loses packets.
const MARKS: &str = r#"
name = "marks"

[fabric]
kind = "star"
hosts = 8
rate = "1Gbps"
delay = "5us"

[[workload]]
kind = "incast"
block = "14MB"
blocks = 3
request = "100B"

[[scheme]]
name = "recorded"
transport = { kind = "custom", name = "recorded", min-rto = "10ms", ecn = true }
queue = { kind = "ecn", threshold = "20KB", limit = "40KB" }

[end]
at = "2s"
"#;

/// A socket of a kernel with another layout than any real one, and the programs that work on it.
struct Socket {
    bytes: Vec<u8>,
    places: BTreeMap<&'static str, usize>,
    programs: BTreeMap<&'static str, Program>,
    circuits: Store,
}

const FIELDS: [&str; 15] = [
    "snd_cwnd",
    "snd_cwnd_cnt",
    "snd_ssthresh",
    "prior_cwnd",
    "is_cwnd_limited",
    "max_packets_out",
    "snd_una",
    "snd_nxt",
    "rcv_nxt",
    "delivered",
    "ecn_flags",
    "icsk_ca_state",
    "icsk_ack_pending",
    "skc_daddr",
    "skc_rcv_saddr",
];
const PRIVATE: usize = 200;
const OPEN: u32 = 0;
const RECOVERY: u64 = 3;
const LOSS: u64 = 7;

impl Socket {
    /// A fresh connection; `None` without a compiler.
    fn new(algorithm: Algorithm, initial: u32) -> Option<Socket> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(algorithm.name());
        fs::create_dir_all(&folder).unwrap();
        let places: BTreeMap<_, _> = FIELDS.iter().copied().zip((8..).step_by(12)).collect();
        let header: String = places.iter().map(|(name, at)| field(name, *at)).collect();
        write_sources(&folder, &(header + CONSTANTS + &algorithm.definitions())).unwrap();
        let source = format!("{}.c", algorithm.name());
        let files = match compile(&folder, &source, algorithm.members()) {
            Err(CongestionError::NoCompiler) => return None,
            files => files.unwrap(),
        };
        let read = |file| Program::new(&with_map(fs::read(file).unwrap())).unwrap();
        let programs = algorithm.members().iter().copied().zip(files.iter().map(read)).collect();
        let mut circuits = Store::default();
        circuits.add_map(MapSpec { kind: MapKind::Array, key: 4, value: 4, entries: 4 });
        let mut socket = Socket { bytes: vec![0; PRIVATE + 104], places, programs, circuits };
        socket.set("snd_cwnd", initial);
        socket.set("snd_ssthresh", i32::MAX as u32);
        socket.set("icsk_ca_state", OPEN);
        // From host 0 to host 1.
        socket.set("skc_rcv_saddr", u32::from_ne_bytes([10, 77, 0, 1]));
        socket.set("skc_daddr", u32::from_ne_bytes([10, 77, 0, 2]));
        if socket.programs.contains_key("init") {
            socket.call("init", &[]);
        }
        Some(socket)
    }

    fn get(&self, field: &str) -> u32 {
        u32::from_le_bytes(*self.bytes[self.places[field]..].first_chunk().unwrap())
    }

    fn set(&mut self, field: &str, value: u32) {
        self.bytes[self.places[field]..][..4].copy_from_slice(&value.to_le_bytes());
    }

    /// Calls a program as the kernel does: the context has the address of the socket, and the other arguments.
    fn call(&mut self, program: &str, arguments: &[u64]) -> u32 {
        let all = [&[PACKET][..], arguments].concat();
        let mut context: Vec<u8> = all.iter().flat_map(|word| word.to_le_bytes()).collect();
        let memory = Memory {
            writable: context.len(),
            context: &mut context,
            frame: Frame::Write(&mut self.bytes),
            store: &mut self.circuits,
        };
        let mut machine = Machine { memory, now_ns: 0, fuel: 100_000 };
        let program = &self.programs[program];
        program.run(&mut machine, &mut || unreachable!("no random numbers")).unwrap() as u32
    }

    /// What the kernel does after a loss or a mark.
    fn reduce(&mut self, threshold: u32) {
        self.set("snd_ssthresh", threshold);
        self.set("snd_cwnd", self.get("snd_cwnd").min(threshold));
        self.set("snd_cwnd_cnt", 0);
    }

    /// The window is that of the segments in flight, in proportion to which the model reduces.
    fn lose(&mut self, loss: Loss, threshold: impl Fn(&mut Socket) -> u32) {
        let window = self.get("snd_cwnd");
        let (Loss::Fast { flight } | Loss::Timeout { flight }) = loss;
        let timeout = matches!(loss, Loss::Timeout { .. });
        if timeout && window == 1 {
            return;
        }
        self.set("snd_cwnd", flight);
        let threshold = threshold(self);
        self.set("snd_cwnd", window);
        self.reduce(threshold);
        if timeout {
            self.set("snd_cwnd", 1);
        }
    }

    fn restart(&mut self, initial: u32) {
        self.set("snd_cwnd", self.get("snd_cwnd").min(initial));
        self.set("snd_cwnd_cnt", 0);
    }

    fn grow(&mut self, ack: &Ack) {
        self.set("is_cwnd_limited", u32::from(ack.limited) << 1);
        self.call("cong_avoid", &[0, ack.acked.into()]);
    }
}

fn field(name: &str, at: usize) -> String {
    let bits = "#define is_cwnd_limited_SHIFT 1\n#define is_cwnd_limited_MASK 1\n";
    let kind = if name == "is_cwnd_limited" { "u8" } else { "u32" };
    let bits = if name == "is_cwnd_limited" { bits } else { "" };
    format!("#define {name}_AT {at}\n#define {name}_TYPE {kind}\n{bits}")
}

const CONSTANTS: &str = "
#define icsk_ca_priv_AT 200
#define icsk_ca_state_SHIFT 0
#define icsk_ca_state_MASK 31
#define TCP_CA_Recovery 3
#define CA_EVENT_LOSS 7
#define CA_EVENT_ECN_NO_CE 8
#define CA_EVENT_ECN_IS_CE 9
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define CIRCUITS_FD 100
#define HOSTS 2u
#define FIRST_ADDRESS 172818433u
";

/// Descriptor 100 is the first map of the machine. Instead of sending an acknowledgement, a program asks for the
/// processor.
fn with_map(mut code: Vec<u8>) -> Vec<u8> {
    for instruction in code.as_chunks_mut::<8>().0 {
        if instruction[0] == 0x85 && instruction[4] == 116 {
            instruction[4] = 8;
        }
        if instruction[0] == 0x18 && instruction[1] >> 4 == 1 {
            instruction[1] &= 15;
            instruction[4..].copy_from_slice(&(handle_of(0) as u32).to_le_bytes());
        }
    }
    code
}

#[test]
fn retcp_computes_what_the_model_computes() {
    let jumps = Jumps { up: 1536, down: 700 };
    let events = trace(move |initial| Retcp::new(initial, jumps), CIRCUITS);
    let algorithm = Algorithm::Retcp { up: jumps.up, down: jumps.down, signal: Signal::Map };
    let Some(mut socket) = Socket::new(algorithm, 10) else {
        return println!("skipped: reTCP's program needs clang");
    };
    let (mut model, mut windows, mut jumped) = (Retcp::new(10, jumps), 0, [0, 0]);
    for event in events {
        match event {
            Event::Ack(ack) => {
                assert!(!ack.echo);
                model.on_ack(&ack, Time::ZERO);
                let state = u32::from(ack.circuit) << 6;
                let at = 1u32.to_le_bytes();
                assert_eq!(socket.circuits.update(0, &at, &state.to_le_bytes(), 0), 0);
                if !ack.recovering {
                    socket.grow(&ack);
                    jumped[usize::from(ack.circuit)] += 1;
                }
            }
            Event::Loss(loss) => {
                model.on_loss(loss, Time::ZERO);
                socket.lose(loss, |socket| socket.call("ssthresh", &[]));
            }
            Event::Restart(initial) => {
                model.restart(initial);
                socket.restart(initial);
            }
        }
        assert_eq!(socket.get("snd_cwnd"), model.window(), "event {windows}: {event:?}");
        windows += 1;
    }
    assert!(windows > 500 && jumped[0] > 100 && jumped[1] > 100, "{windows} {jumped:?}");
}

#[test]
fn dctcp_computes_what_the_model_computes() {
    let fresh = |initial| Dctcp::new(initial, 4).coarse();
    let events = trace(fresh, MARKS);
    let Some(mut socket) = Socket::new(Algorithm::Dctcp { gain_shift: 4 }, 10) else {
        return println!("skipped: DCTCP's program needs clang");
    };
    let (mut model, mut windows, mut marked, mut answered) = (fresh(10), 0, 0, 0);
    for event in events {
        match event {
            Event::Ack(ack) => {
                model.on_ack(&ack, Time::ZERO);
                socket.set("delivered", socket.get("delivered") + ack.acked);
                socket.set("snd_una", ack.una);
                socket.set("snd_nxt", ack.nxt);
                socket.call("in_ack_event", &[if ack.echo { 4 } else { 0 }]);
                if !ack.recovering && !ack.echo {
                    socket.grow(&ack);
                } else if !ack.recovering && ack.una > answered {
                    answered = ack.nxt;
                    let threshold = socket.call("ssthresh", &[]);
                    socket.reduce(threshold);
                    marked += 1;
                }
                let alpha = u32::from_le_bytes(*socket.bytes[PRIVATE..].first_chunk().unwrap());
                assert_eq!(alpha, model.alpha(), "event {windows}: {event:?}");
            }
            Event::Loss(loss) => {
                model.on_loss(loss, Time::ZERO);
                socket.lose(loss, |socket| {
                    match loss {
                        Loss::Fast { .. } => socket.call("set_state", &[RECOVERY]),
                        Loss::Timeout { .. } => socket.call("cwnd_event", &[LOSS]),
                    };
                    socket.get("snd_ssthresh")
                });
            }
            Event::Restart(initial) => {
                model.restart(initial);
                socket.restart(initial);
            }
        }
        assert_eq!(socket.get("snd_cwnd"), model.window(), "event {windows}: {event:?}");
        windows += 1;
    }
    assert!(windows > 500 && marked > 20, "{windows} {marked}");
}
