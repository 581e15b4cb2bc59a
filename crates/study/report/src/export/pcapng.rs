//! Captured ports as a pcapng file: one interface for each port.

use super::{ExportError, port_names};
use slotline_formats::frame_bytes::{Layout, frame, real_frame};
use slotline_formats::pcapng_writer::{Interface, PcapngWriter, Totals};
use slotline_lab::record::{Capture, CapturedPacket, RunRecord, RunSet};
use slotline_net::frame::{Kind, Packet};
use slotline_net::transport::TransportSpec;
use slotline_scenario::Scenario;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Write;

/// The default number of bytes that are written of each frame: all headers with all options.
pub const SNAP: u32 = 96;

/// Picoseconds of a nanosecond.
const NS: u64 = 1_000;

/// Writes the packets that left `ports` (such as `s0-h0`; empty: all captured ports), in the order in which they left.
/// Times are rounded down to nanoseconds; `snap` bytes of each frame are written.
pub fn write(
    set: &RunSet,
    run: &RunRecord,
    ports: &[String],
    snap: u32,
    out: impl Write,
) -> Result<(), ExportError> {
    let names = port_names(&run.ports);
    let captures = match run.captures.is_empty() {
        true => return Err(uncaptured(set, run)),
        false => chosen(run, &names, ports)?,
    };
    let transport = transport(set, run)?;
    let layout =
        Layout { framing: transport.framing.0 as u16, headers: transport.headers.0 as u16 };
    let mss = transport.mtu.0.saturating_sub(transport.headers.0) as u32;
    let numbers = ByteNumbers::of(&captures, layout, mss);
    let interface = |capture: &&Capture| Interface {
        name: names[capture.port as usize].clone(),
        rate_bps: run.ports[capture.port as usize].rate_bps,
    };
    let interfaces: Vec<Interface> = captures.iter().map(interface).collect();
    let mut file = PcapngWriter::new(out, &interfaces, snap)?;
    for (at, captured) in merged(&captures) {
        let CapturedPacket { t_ps, src, packet, head } = captured;
        if !head.is_empty() {
            let frame = real_frame(*src, packet.dst.0, &from_hexadecimal(head));
            file.cut_packet(at as u32, t_ps / NS, &frame.bytes, frame.length, "")?;
            continue;
        }
        let byte_of = |segment| numbers.first_byte(packet.flow, segment);
        let frame = frame(packet, *src, captures[at].port, layout, &byte_of);
        file.packet(at as u32, t_ps / NS, &frame.bytes, frame.length)?;
    }
    let end_ns = run.engine.sim_time_ps / NS;
    for (at, capture) in (0..).zip(&captures) {
        let passed = capture.packets.len() as u64 + capture.omitted;
        file.statistics(at, Totals { end_ns, passed, omitted: capture.omitted })?;
    }
    file.finish()?;
    Ok(())
}

/// Bytes in hexadecimal. The result's checksum ensures that there are only digits.
fn from_hexadecimal(digits: &str) -> Vec<u8> {
    let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    digits.as_bytes().chunks(2).map(|pair| pair.iter().fold(0, |n, &d| n << 4 | value(d))).collect()
}

/// The error if `run` has no captures.
fn uncaptured(set: &RunSet, run: &RunRecord) -> ExportError {
    let of_scheme = set.runs.iter().filter(|other| other.scheme == run.scheme);
    let seed = of_scheme.filter(|other| !other.captures.is_empty()).map(|other| other.seed).min();
    ExportError::Nothing(match seed {
        Some(first) => format!(
            "the run with seed {} has no captured packets: a simulation captures those of its first seed, {first}",
            run.seed
        ),
        None => "no port was captured: name some in the scenario, for example [measure] capture = [\"s0-h0\"], \
                 and run it again"
            .into(),
    })
}

/// The captures of these ports. An error lists the captured ports.
fn chosen<'a>(
    run: &'a RunRecord,
    names: &[String],
    ports: &[String],
) -> Result<Vec<&'a Capture>, ExportError> {
    let name = |capture: &Capture| names.get(capture.port as usize).map_or("", String::as_str);
    // A name may mean parallel links, as in scenarios.
    let is = |capture: &Capture, port: &String| {
        let name = name(capture);
        name == port || name.split_once('#').is_some_and(|(pair, _)| pair == port)
    };
    let there: Vec<String> = run.captures.iter().map(|c| format!("`{}`", name(c))).collect();
    if let Some(unknown) = ports.iter().find(|port| !run.captures.iter().any(|c| is(c, port))) {
        let why = format!("port `{unknown}` was not captured: there are {}", there.join(", "));
        return Err(ExportError::Nothing(why));
    }
    let is_chosen = |c: &&Capture| ports.is_empty() || ports.iter().any(|port| is(c, port));
    Ok(run.captures.iter().filter(is_chosen).collect())
}

/// The transport of the scheme of the run, from the scenario in the result.
fn transport(set: &RunSet, run: &RunRecord) -> Result<TransportSpec, ExportError> {
    let unreadable =
        |why: String| ExportError::Nothing(format!("scenario.toml of the result: {why}"));
    let scenario: Scenario =
        toml::from_str(&set.scenario).map_err(|error| unreadable(error.message().into()))?;
    let scheme = scenario.scheme.iter().find(|scheme| scheme.name == run.scheme);
    let missing = || unreadable(format!("it has no scheme `{}`", run.scheme));
    scheme.map(|scheme| scheme.transport.clone()).ok_or_else(missing)
}

/// All packets by time and then by port, each with the position of its capture.
fn merged<'a>(captures: &[&'a Capture]) -> impl Iterator<Item = (usize, &'a CapturedPacket)> {
    let mut queues: Vec<_> = captures.iter().map(|capture| capture.packets.iter()).collect();
    let mut heads: Vec<Option<&CapturedPacket>> = queues.iter_mut().map(Iterator::next).collect();
    let time = |at: usize, head: &Option<&CapturedPacket>| head.map(|p| Reverse((p.t_ps, at)));
    let mut order: BinaryHeap<_> =
        heads.iter().enumerate().filter_map(|(at, head)| time(at, head)).collect();
    std::iter::from_fn(move || {
        let Reverse((_, at)) = order.pop()?;
        let head = std::mem::replace(&mut heads[at], queues[at].next())?;
        order.extend(time(at, &heads[at]));
        Some((at, head))
    })
}

/// Converts segment numbers of the simulator to byte numbers of TCP. All segments except the last one of each flow are
/// full, and the capture shows which are not. If it has only the acknowledgements of a connection, all segments are
/// taken as full.
struct ByteNumbers {
    mss: u32,
    /// For each connection, the short segments, and the bytes missing in these and all earlier segments.
    short: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl ByteNumbers {
    fn of(captures: &[&Capture], layout: Layout, mss: u32) -> ByteNumbers {
        let packets = captures.iter().flat_map(|capture| &capture.packets).map(|p| &p.packet);
        let lacks = |packet: &Packet| mss.saturating_sub(layout.payload(packet).into());
        let short = packets.filter(|p| p.kind == Kind::Data && lacks(p) > 0);
        let mut of_conn: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for packet in short {
            of_conn.entry(packet.flow).or_default().insert(packet.seq, lacks(packet));
        }
        let summed = |lacking: BTreeMap<u32, u32>| -> Vec<(u32, u32)> {
            let sum = |total: &mut u32, (segment, lack): (u32, u32)| {
                *total = total.wrapping_add(lack);
                Some((segment, *total))
            };
            lacking.into_iter().scan(0, sum).collect()
        };
        let short = of_conn.into_iter().map(|(conn, lacking)| (conn, summed(lacking)));
        ByteNumbers { mss, short: short.collect() }
    }

    /// Number of the first payload byte of `segment`, from 0, modulo 2³².
    fn first_byte(&self, conn: u32, segment: u32) -> u32 {
        let short = self.short.get(&conn).map_or(&[][..], Vec::as_slice);
        let before = short.partition_point(|(other, _)| *other < segment);
        let lack = before.checked_sub(1).map_or(0, |at| short[at].1);
        segment.wrapping_mul(self.mss).wrapping_sub(lack)
    }
}
