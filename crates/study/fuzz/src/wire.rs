//! Messages as bytes: parsed messages are written and parsed again.

use crate::mutate::mutated;
use crate::random::Draw;
use crate::readers::label_of;
use crate::scenarios::law;
use slotline_fastpass::wire::fastpass::{self, Losses};
use slotline_fastpass::wire::fcp::{self, Acks, CODE, Grant, Header, Key, Total, Writer, siphash};
use slotline_hedera::wire as hedera;
use slotline_hybrid::{RackDay, wire as hybrid};
use slotline_net::frame::{Circuits, Kind, Packet};
use slotline_net::id::{ConnId, HostId, PortId};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::wire::mac_control::{self, Classes, Extended, Mac, Pause, Quanta};
use slotline_net::wire::{bump, cnm, packet, path_news};
use slotline_net::workload::Machines;
use slotline_tdma::wire as tdma;
use slotline_xco::wire as xco;
use std::fmt::Debug;

const KEY: Key = Key(*b"a shared secret!");

/// A format: its name, and messages that are valid.
type Format = (&'static str, Vec<Vec<u8>>);

fn formats() -> Vec<Format> {
    vec![
        ("xco", xco_messages()),
        ("tdma", tdma_messages()),
        ("hedera", hedera_messages()),
        ("hybrid", hybrid_messages()),
        ("fastpass", fastpass_messages()),
        ("fcp", vec![fcp_message()]),
        ("net", net_messages()),
        ("pause", pause_frames()),
    ]
}

fn xco_messages() -> Vec<Vec<u8>> {
    use xco::{Body, Message, V2v};
    let flow = V2v { dst: HostId(2), machines: Machines { from: 1, to: 0 } };
    let window = Body::Window { dst: Some(HostId(1)), duration: Time::us(9), rate: Some(Rate(8)) };
    let load = Body::Load { span: Time::us(3), loads: vec![(HostId(1), 1_000), (HostId(2), 3)] };
    let share = Body::ShareRequest { flows: 3, share: 65_536 };
    let bodies = [
        Body::Hello,
        Body::Leave,
        Body::Backlog(vec![flow; 3]),
        Body::Release(HostId(1)),
        window,
        Body::Rates(vec![(HostId(2), Rate(1_000_000_000))]),
        load,
        Body::Controlled(vec![HostId(0), HostId(3)]),
        Body::Alive,
        share,
        Body::ShareGrant(7),
    ];
    let message = |body| Message { host: HostId(1), seq: 5, heard: 4, level: 0, term: 0, body };
    bodies.into_iter().map(|body| message(body).emit()).collect()
}

fn tdma_messages() -> Vec<Vec<u8>> {
    use tdma::{Body, Class, Demand, Edge, Fragment, Message, Open, Timing};
    let part = Fragment::ALONE;
    let waiting = vec![(HostId(1), 1_000), (HostId(2), 70_000)];
    let demand = Demand { report: 1, part, round: 2, slot: 3, whole: true, free: 9, waiting };
    let (begins, slot, guard) = (Time::us(1), Time::us(100), Time::us(2));
    let timing = Timing { next: 0, slots: 4, begins, slot, guard };
    let class = Class { class: 3, from: 1, dst: HostId(2), rate: Some(Rate(5)), bytes: 1_500 };
    let open = vec![Open { slot: 1, host: HostId(0), class: 3 }; 2];
    let bodies = [
        Body::Hello,
        Body::Leave,
        Body::Demand(demand),
        Body::Reported(6),
        Body::Classes { round: 2, part, timing, classes: vec![class; 2] },
        Body::Ready(1),
        Body::Slots { round: 2, part, open },
        Body::Trigger { round: 2, slot: 1, edge: Edge::Begins },
    ];
    let message = |body| Message { host: HostId(1), seq: 5, heard: 4, body };
    bodies.into_iter().map(|body| message(body).emit()).collect()
}

fn hedera_messages() -> Vec<Vec<u8>> {
    use hedera::{Body, Message};
    let paths = Body::Paths(vec![(ConnId(1), 0), (ConnId(70), 3)]);
    let flows = Body::Flows { report: 1, part: 0, parts: 1, span: Time::ms(5), flows: vec![] };
    let (ports, broken) = (Body::Ports(vec![2, 3]), Body::Broken(vec![48, 49, 300]));
    [paths, flows, ports, broken]
        .map(|body| Message { host: HostId(1), seq: 5, body }.emit())
        .to_vec()
}

fn hybrid_messages() -> Vec<Vec<u8>> {
    use hybrid::Message;
    let day = RackDay { uplink: 0, from: Time::us(1), until: Time::us(9), to: 1, source: 2 };
    let circuit = hybrid::ToldCircuit { to: 2, from: Time::us(60), until: Time::us(70) };
    let messages = [
        Message::Report { week: 3, rack: 1, bytes: vec![0, 5_000, 70] },
        Message::Plan { week: 3, days: vec![day; 2] },
        Message::Port { rack: 2, uplink: 1, works: false },
        Message::Told { uplink: 1, circuit },
    ];
    messages.iter().map(Message::emit).collect()
}

fn fastpass_messages() -> Vec<Vec<u8>> {
    use fastpass::{Body, Message};
    let bodies = [
        Body::Watchdog { term: 1, sent: Time::us(7) },
        Body::Losses(vec![Losses { dst: 1, path: 2, packets: 3 }; 2]),
        Body::Probe { token: 1, path: 2 },
        Body::Echo { token: 1, path: 2 },
    ];
    let message = |body| Message { source: 1, destination: 2, body };
    bodies.into_iter().map(|body| message(body).emit(&KEY)).collect()
}

fn fcp_message() -> Vec<u8> {
    let acks = Acks { highest: 3, before: 5 };
    let header = Header { source: 0, destination: 1, from: 11, to: 12, number: 4, acks };
    let mut out = vec![];
    let mut writer = Writer::new(&mut out, &header);
    writer.demand();
    writer.total(Total { dst: 2, slots: 9 });
    writer.grants(64, [Grant { dst: 2, path: 1, slots: 0b101 }].into_iter());
    writer.finish(&KEY);
    out
}

fn net_messages() -> Vec<Vec<u8>> {
    let update = bump::Update { seq: 1, packets: vec![(1_500, PortId(2)); 3] };
    let notice = cnm::Cnm {
        destination: Mac::of(HostId(1)),
        source: Mac::of(HostId(2)),
        flow: 3,
        quantised: 63,
        point: 4,
        offset: -5,
        delta: 6,
        priority: 0,
        sampled_to: Mac::of(HostId(0)),
        sample: vec![1; 20],
    };
    let circuits = Circuits::default().with_news(2, true);
    let news = path_news::PathNews { first: HostId(1), hosts: 2, circuits, holds: Time::us(3) };
    let control = Packet { kind: Kind::Control, len: 84, ..Packet::default() };
    let packets = [packet::emit(&Packet::default(), &[]), packet::emit(&control, b"payload")];
    [update.emit(), notice.emit(), news.emit()].into_iter().chain(packets).collect()
}

fn pause_frames() -> Vec<Vec<u8>> {
    let pauses = [
        Pause::All(Quanta(9)),
        Pause::Classes(Classes::all_but(3, Quanta(8))),
        Pause::Extended(Extended::all_but(&[1, 70, 2_047], Quanta(7))),
    ];
    let (destination, source) = (Mac::CONTROL, Mac::of(HostId(1)));
    let frames = pauses.map(|pause| mac_control::Frame { destination, source, pause });
    frames.iter().flat_map(|frame| [frame.emit(), frame.emit_checked()]).collect()
}

/// The name of a format, followed by a mutated message.
pub(crate) fn message(rng: &mut Stream) -> Vec<u8> {
    let formats = formats();
    let (name, messages) = rng.pick(&formats);
    let mut bytes = {
        let (seed, other) = (rng.pick(messages), rng.pick(messages));
        mutated(rng, seed, other)
    };
    match *name {
        "fcp" => seal_fcp(&mut bytes, &KEY),
        "fastpass" => seal_fastpass(&mut bytes, &KEY),
        _ => {}
    }
    [name.as_bytes(), b"\n", &bytes].concat()
}

/// Puts the right length and the right code into a message of FCP.
pub(crate) fn seal_fcp(bytes: &mut [u8], key: &Key) {
    let length = bytes.len();
    let (Some(end), Ok(short)) = (length.checked_sub(CODE), u16::try_from(length)) else { return };
    if let Some(field) = bytes.get_mut(2..4) {
        field.copy_from_slice(&short.to_be_bytes());
    }
    let code = siphash(key, &bytes[..end]);
    bytes[end..].copy_from_slice(&code.to_be_bytes());
}

/// Puts the right code into a message of Fastpass' watchdog or fault isolation.
pub(crate) fn seal_fastpass(bytes: &mut [u8], key: &Key) {
    let &[_, kind, high, low, ..] = &*bytes else { return };
    let body = match kind {
        1 => 16,
        2 => 8 * usize::from(u16::from_be_bytes([high, low])),
        _ => 6,
    };
    let signed = fastpass::Message::len_of_losses(0) - CODE + body;
    let Some(whole) = bytes.get_mut(..signed + CODE) else { return };
    let code = siphash(key, &whole[..signed]);
    whole[signed..].copy_from_slice(&code.to_be_bytes());
}

/// A parsed message is written so that parsing it again gives the same message.
fn same<T: PartialEq + Debug, E: Debug>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, E>,
    emit: impl Fn(&T) -> Vec<u8>,
) -> Result<(), String> {
    let Ok(read) = parse(bytes) else { return Ok(()) };
    let written = emit(&read);
    let again = parse(&written);
    let equal = again.as_ref().is_ok_and(|again| *again == read);
    law(equal, || format!("{read:?} is written as {written:02x?} and read as {again:?}"))
}

/// Tries a message in its format. Messages of the network are tried in all of its formats.
pub(crate) fn judge(input: &[u8]) -> Result<(), String> {
    let (name, bytes) = label_of(input);
    match name.as_str() {
        "xco" => same(bytes, xco::Message::parse, xco::Message::emit),
        "tdma" => same(bytes, tdma::Message::parse, tdma::Message::emit),
        "hedera" => same(bytes, hedera::Message::parse, hedera::Message::emit),
        "hybrid" => same(bytes, hybrid::Message::parse, hybrid::Message::emit),
        "fastpass" => {
            let parse = |bytes: &[u8]| fastpass::Message::parse(bytes, &KEY);
            same(bytes, parse, |message| message.emit(&KEY))
        }
        "fcp" => fcp_records(bytes),
        "pause" => {
            let parse = mac_control::Frame::parse_checked;
            same(bytes, parse, mac_control::Frame::emit_checked)?;
            same(bytes, mac_control::Frame::parse, mac_control::Frame::emit)
        }
        _ => network(bytes),
    }
}

fn network(bytes: &[u8]) -> Result<(), String> {
    same(bytes, bump::Update::parse, bump::Update::emit)?;
    same(bytes, cnm::Cnm::parse, cnm::Cnm::emit)?;
    same(bytes, path_news::PathNews::parse, path_news::PathNews::emit)?;
    let owned =
        |bytes: &[u8]| packet::parse(bytes).map(|(packet, payload)| (packet, payload.to_vec()));
    same(bytes, owned, |(packet, payload)| packet::emit(packet, payload))
}

/// The records of a message are within its bytes.
fn fcp_records(bytes: &[u8]) -> Result<(), String> {
    let Ok(message) = fcp::Message::parse(bytes, &KEY) else { return Ok(()) };
    let entries: usize = message
        .records()
        .map(|record| match record {
            fcp::Record::Demand(totals) | fcp::Record::Report(totals) => totals.iter().len(),
            fcp::Record::Grants(grants) => grants.iter().len(),
            _ => 1,
        })
        .sum();
    law(entries <= bytes.len(), || format!("{entries} entries in {} bytes", bytes.len()))
}
