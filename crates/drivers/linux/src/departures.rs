//! Departure times: the queue discipline `fq` keeps each packet until the time that a BPF program at the interface has given
//! to it (`skb->tstamp`). The program reads the time from the packet's mark, which a queue of netfilter gives with its
//! verdict, or computes it from slots. So packets leave at the time, however late this process runs.
//!
//! A packet stays charged to its socket until it leaves. A mark of another program gives no time, and without a mark packets
//! leave at once, so a killed program does not cut off its host.

use crate::capability::check_bpf;
use crate::classifier::{Egress, qdisc};
use crate::command::output;
use crate::segments::interface_names;
use slotline_rings::bpf::code::{self, function};
use slotline_rings::bpf::{Instruction, Kind, Map, Program};
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// The upper byte of marks that give a time, and the number of bits below it.
const TAG: u32 = 0x5e;
const BITS: u32 = 24;
/// A mark counts in units of 2^6 ns, so it reaches half a second ahead.
const UNIT: u32 = 6;
/// The handle of the queue discipline, by which it is recognised after its program was killed.
const HANDLE: &str = "5107:";
/// Room for packets, of all connections and of one; the rate of a connection is that of its slots; and timers are not
/// delayed to fire together.
const FQ: &str = "fq limit 32768 flow_limit 16384 nopacing timer_slack 0";

/// Fields of the context of a classifier, `struct __sk_buff`.
const MARK: i16 = 8;
const TIME: i16 = 152;
const LENGTH: i16 = 160;
/// Fields of the map: the slots, the time at which the line is free, and whose packets wait.
const ORIGIN: i16 = 0;
const PERIOD: i16 = 8;
const OPEN: i16 = 16;
const PACE: i16 = 24;
const FREE: i16 = 32;
const NETWORK: i16 = 40;
const MASK: i16 = 44;
const BYTES: u32 = 48;
/// The places of the protocol and of the destination of IPv4 in a frame.
const PROTOCOL_AT: i32 = 12;
const DESTINATION_AT: i32 = 30;
const IPV4: i32 = 0x0800;

/// Slots in which packets may leave: the first part of each period. Times are those of the monotonic clock, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots {
    /// The beginning of a slot.
    pub origin: u64,
    /// The time from one slot to the next.
    pub period: u64,
    /// The time for which a slot is open.
    pub open: u64,
    /// The time that 1,024 bytes take. A packet that would not end within the slot leaves in the next one.
    pub pace: u64,
    /// Prefix of the destinations whose packets wait for a slot.
    pub network: (Ipv4Addr, u8),
}

impl Slots {
    fn bytes(&self) -> [u8; BYTES as usize] {
        let (address, bits) = self.network;
        let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or_default();
        let mut all = [0; BYTES as usize];
        let fields = [self.origin, self.period, self.open, self.pace, 0];
        for (room, field) in all.chunks_exact_mut(8).zip(fields) {
            room.copy_from_slice(&field.to_ne_bytes());
        }
        all[NETWORK as usize..MASK as usize]
            .copy_from_slice(&(u32::from(address) & mask).to_ne_bytes());
        all[MASK as usize..].copy_from_slice(&mask.to_ne_bytes());
        all
    }
}

/// The mark of a packet that is not to leave before `at`, ns of the monotonic clock, at most half a second from now.
pub fn mark(at: u64) -> u32 {
    TAG << BITS | (at >> UNIT) as u32 & ((1 << BITS) - 1)
}

/// Departure times at some interfaces, until this is dropped.
#[derive(Debug)]
pub struct Departures {
    interfaces: Vec<Interface>,
    slots: Map,
}

impl Departures {
    /// Sets up the interfaces by which this host reaches `destinations`.
    ///
    /// # Errors
    /// The kernel lacks `fq` or BPF classifiers, this user lacks the permission, no interface leads there, or an
    /// administrator has chosen the queue discipline of one.
    pub fn towards(destinations: &[IpAddr]) -> io::Result<Departures> {
        Departures::at(&interface_names(destinations)?)
    }

    /// Sets up these interfaces.
    ///
    /// # Errors
    /// As for [`Departures::towards`].
    pub fn at(interfaces: &[String]) -> io::Result<Departures> {
        check_bpf()?;
        if interfaces.is_empty() {
            return Err(io::Error::other("no interface leads to the network"));
        }
        let slots = Map::of_value(BYTES)?;
        let program = Program::load(Kind::Classifier, &program(&slots))?;
        let mut departures = Departures { interfaces: Vec::new(), slots };
        for name in interfaces {
            departures.interfaces.push(Interface::set_up(name, &program)?);
        }
        Ok(departures)
    }

    /// Sets slots for packets without a mark; `None`: these leave at once.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn keep(&self, slots: Option<Slots>) -> io::Result<()> {
        self.slots.set(0, &slots.map_or([0; BYTES as usize], |slots| slots.bytes()))
    }
}

/// An interface with `fq` and the program.
#[derive(Debug)]
struct Interface {
    name: String,
    _program: Egress,
}

impl Interface {
    fn set_up(name: &str, program: &Program) -> io::Result<Interface> {
        let shown = output("tc", &["qdisc", "show", "dev", name], "").map_err(io::Error::other)?;
        let present = Present::read(&shown);
        if let Some(chosen) = present.chosen {
            return Err(io::Error::other(format!(
                "{name} has the queue discipline {chosen}, which was chosen on purpose; packets leave at given times only \
                 with the kernel's own choice, which is then replaced by `fq`"
            )));
        }
        qdisc(name, &format!("replace dev {name} root handle {HANDLE} {FQ}"))?;
        Egress::attach(name, program, present.killed)
            .map(|program| Interface { name: name.into(), _program: program })
            .inspect_err(|_| end_fq(name))
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        end_fq(&self.name);
    }
}

/// Returns to the kernel's own choice. An interface may have vanished meanwhile.
fn end_fq(name: &str) {
    let _ = qdisc(name, &format!("del dev {name} root"));
}

/// The queue disciplines of an interface.
#[derive(PartialEq, Eq, Debug)]
struct Present {
    /// One at the root that an administrator has chosen.
    chosen: Option<String>,
    /// Whether a killed program has left `fq`.
    killed: bool,
}

impl Present {
    /// Reads what `tc qdisc show` prints. Disciplines that the kernel has chosen have the handle `0:`.
    fn read(shown: &str) -> Present {
        let fields = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            let root = line.contains(" root ");
            Some((words.next()?.to_owned(), words.next()?.to_owned(), root))
        };
        let all: Vec<_> = shown.lines().filter_map(fields).collect();
        let chosen = |(_, handle, root): &&(String, String, bool)| {
            *root && handle != "0:" && handle != HANDLE
        };
        Present {
            chosen: all.iter().find(chosen).map(|(kind, handle, _)| format!("`{kind} {handle}`")),
            killed: all.iter().any(|(kind, handle, _)| kind == "fq" && handle == HANDLE),
        }
    }
}

/// The program: a time from the mark, or else from the slots.
fn program(slots: &Map) -> Vec<Instruction> {
    let (mut by_mark, by_slots) = (by_mark(), by_slots(slots));
    let start = [
        code::copy(6, 1),
        code::load32(7, 6, MARK),
        code::copy(8, 7),
        code::right(8, BITS as i32),
        code::if_not(8, TAG as i32, by_mark.len() as i16),
    ];
    by_mark.splice(0..0, start);
    by_mark.extend(by_slots);
    by_mark
}

/// The mark in register 7 says how far ahead the time is, in the lower bits.
fn by_mark() -> Vec<Instruction> {
    let unused = (64 - BITS) as i32;
    vec![
        code::call(function::NOW),
        code::right(0, UNIT as i32),
        code::subtract(7, 0),
        code::left(7, unused),
        code::right_signed(7, unused),
        code::add(0, 7),
        code::left(0, UNIT as i32),
        code::store64(6, TIME, 0),
        code::set(0, 0),
        code::store32(6, MARK, 0),
        code::exit(),
    ]
}

/// A packet leaves when the line is free, if it then ends within the slot, or else with the next slot.
fn by_slots(slots: &Map) -> Vec<Instruction> {
    let decide = decide();
    let skip = decide.len() as i16;
    let applies = [
        code::load64(9, 8, PERIOD),
        code::if_equal(9, 0, skip + 7),
        code::packet16(PROTOCOL_AT),
        code::if_not(0, IPV4, skip + 5),
        code::packet32(DESTINATION_AT),
        code::load32(1, 8, MASK),
        code::and(0, 1),
        code::load32(1, 8, NETWORK),
        code::if_differs(0, 1, skip),
    ];
    let end = [code::set(0, 0), code::exit()];
    [&code::value(8, slots)[..], &applies, &decide, &end].concat()
}

/// Register 7 is the time, 2 the part of the period that has passed then, 4 the time that the packet takes.
fn decide() -> Vec<Instruction> {
    vec![
        code::call(function::NOW),
        code::copy(7, 0),
        code::load64(1, 8, FREE),
        code::if_at_least(7, 1, 1),
        code::copy(7, 1),
        code::copy(2, 7),
        code::load64(3, 8, ORIGIN),
        code::subtract(2, 3),
        code::remainder(2, 9),
        code::load32(4, 6, LENGTH),
        code::load64(5, 8, PACE),
        code::multiply(4, 5),
        code::right(4, 10),
        code::copy(5, 2),
        code::add(5, 4),
        code::load64(3, 8, OPEN),
        code::if_at_most(5, 3, 2),
        code::add(7, 9),
        code::subtract(7, 2),
        code::store64(6, TIME, 7),
        code::add(4, 7),
        code::store64(8, FREE, 4),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::time::{ClockId, clock_gettime};

    fn now() -> u64 {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    /// The program in this kernel; `None` if this user may not load programs.
    fn loaded() -> Option<(Map, Program)> {
        let Ok(slots) = Map::of_value(BYTES) else {
            println!("skipped: BPF needs root");
            return None;
        };
        let program = Program::load(Kind::Classifier, &program(&slots)).unwrap();
        Some((slots, program))
    }

    /// The time and the mark of a frame of `length` bytes to a destination after the program.
    fn run(program: &Program, mark: u32, to: Ipv4Addr, length: usize) -> (u64, u32) {
        let mut frame = vec![0; length];
        frame[12..14].copy_from_slice(&(IPV4 as u16).to_be_bytes());
        frame[14] = 0x45;
        frame[30..34].copy_from_slice(&to.octets());
        let mut context = [0; 192];
        context[8..12].copy_from_slice(&mark.to_ne_bytes());
        assert_eq!(program.test(&frame, &mut context).unwrap(), 0);
        let time = u64::from_ne_bytes(*context[152..].first_chunk().unwrap());
        (time, u32::from_ne_bytes(*context[8..].first_chunk().unwrap()))
    }

    const FAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);

    #[test]
    fn a_mark_is_a_time() {
        let Some((_, program)) = loaded() else { return };
        for ahead in [0, 1, 63, 10_000, 400_000_000] {
            let at = now() + ahead;
            assert_eq!(run(&program, mark(at), FAR, 100), (at >> UNIT << UNIT, 0));
        }
        let past = now() - 400_000_000;
        assert_eq!(run(&program, mark(past), FAR, 100), (past >> UNIT << UNIT, 0));
        for other in [0, 1, 0xffff_ffff, 0x5d00_0000] {
            assert_eq!(run(&program, other, FAR, 100), (0, other), "a mark of another program");
        }
    }

    /// The same as the program, in Rust: the time of a packet, and that at which the line is free again.
    fn model(slots: &Slots, free: u64, length: u64) -> (u64, u64) {
        let cost = length * slots.pace / 1_024;
        let passed = (free - slots.origin) % slots.period;
        let at = if passed + cost <= slots.open { free } else { free + slots.period - passed };
        (at, at + cost)
    }

    proptest! {
        /// The line is busy until some time ahead, so results do not depend on the present time.
        #[test]
        fn packets_leave_in_their_slots(
            period in 100_000u64..5_000_000, share in 10u64..100, pace in 1u64..9_000, ahead in 0u64..9_000_000,
            lengths in prop::collection::vec(64usize..1_500, 1..20),
        ) {
            let Some((map, program)) = loaded() else { return Ok(()) };
            let begun = now();
            let network = (Ipv4Addr::new(10, 78, 0, 0), 24);
            let slots = Slots { origin: begun - 12_345, period, open: period * share / 100, pace, network };
            let mut value = slots.bytes();
            let mut free = begun + 1_000_000_000 + ahead;
            value[32..40].copy_from_slice(&free.to_ne_bytes());
            map.set(0, &value).unwrap();
            for length in lengths {
                let (at, then) = model(&slots, free, length as u64);
                free = then;
                prop_assert_eq!(run(&program, 0, FAR, length), (at, 0));
            }
            prop_assert_eq!(run(&program, 0, Ipv4Addr::new(10, 79, 0, 2), 100), (0, 0), "it is not held");
        }
    }

    #[test]
    fn a_free_line_sends_at_once_in_a_slot_and_later_outside() {
        let Some((map, program)) = loaded() else { return };
        let network = (FAR, 32);
        let (begun, second) = (now(), 1_000_000_000);
        let slots = Slots { origin: begun, period: 9 * second, open: 5 * second, pace: 0, network };
        map.set(0, &slots.bytes()).unwrap();
        let (at, _) = run(&program, 0, FAR, 100);
        assert!((begun..=now()).contains(&at));
        let closed = Slots { origin: begun - 5 * second, ..slots };
        map.set(0, &closed.bytes()).unwrap();
        assert_eq!(run(&program, 0, FAR, 100).0, begun + 4 * second);
    }

    #[test]
    fn disciplines_are_read() {
        let read = Present::read;
        let kernels = "qdisc noqueue 0: root refcnt 2 \nqdisc clsact ffff: parent ffff:fff1 \n";
        assert_eq!(read(kernels), Present { chosen: None, killed: false });
        let chosen =
            read("qdisc tbf 8001: root refcnt 2 rate 1Gbit\nqdisc fq 0: parent 8001:1 \n").chosen;
        assert_eq!(chosen.as_deref(), Some("`tbf 8001:`"));
        let left = read("qdisc fq 5107: root refcnt 2 limit 32768p\n");
        assert_eq!(left, Present { chosen: None, killed: true });
        let multi = "qdisc mq 0: root \nqdisc fq_codel 0: parent :1 limit 10240p\n";
        assert_eq!(read(multi).chosen, None);
    }
}
