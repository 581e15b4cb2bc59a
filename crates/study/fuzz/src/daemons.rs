//! The inputs of daemons: datagrams of others, their configuration, and logs.

use crate::mutate::mutated;
use crate::random::{Draw, stream_of};
use crate::readers::label_of;
use crate::scenarios::law;
use slotline_envelope::{Endpoint, Event, KeyPair, Settings, Start};
use slotline_lab::live::recorded_controller;
use slotline_live::clock::{Local, TimeReply};
use slotline_live::config::Config;
use slotline_live::forwarding;
use slotline_live::lease::{Answer, Ask};
use slotline_live::message::Message;
use slotline_live::neighbours::Page;
use slotline_live::record::{Header, Recorder, Sent};
use slotline_live::replay::{Log, replay};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_scenario::Scenario;
use slotline_xco::wire as xco;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// The largest number of datagrams that an end may send at one moment.
const MOST_AT_ONCE: usize = 1_000;

const CONFIG: &str = "scenario = 'fabric.toml'\nnetwork = ['10.1.0.0/24', 'fd00::/8']\n\
    [[arbiter]]\naddress = '10.1.0.100'\nkey = 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo='\n\
    [[host]]\nname = 'h0'\naddress = ['10.1.0.1']\nkey = '3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08='\n\
    [[tenant]]\nname = 'a'\nhosts = ['h0']\nquota = 100\n\
    [[switch]]\nname = 'edge0.0'\naddress = '10.1.0.3'\nkey = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw='\n\
    hosts = { h1 = ['10.2.0.1'] }\nup = { 'agg0.0' = ['10.3.0.1', 'fd00::1'] }\n\
    [agent]\nsilence = '60ms'\nexempt-ports = [22]\n[clock]\nguard = '1ms'\nsource = 'system'\n";

/// A list of nftables.
const COUNTS: &str = r#"{"nftables": [{"set": {"name": "flows4", "elem": [{"elem": {"val": {"concat":
    ["10.0.0.1", "10.0.0.2", "tcp", 40000, 5201]}, "counter": {"packets": 5, "bytes": 1500}}}]}}]}"#;

const SCENARIO: &str = "name = 'log'\nend.at = '1s'\nfabric = { kind = 'star', hosts = 3 }\n\
    [[scheme]]\nname = 'xco'\ncontrol.kind = 'xco'\n\
    [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n";

/// A seed for the events of datagrams.
pub(crate) fn script(rng: &mut Stream) -> Vec<u8> {
    rng.noise(16)
}

/// Two ends, and a network that loses, repeats, reorders and changes their datagrams.
struct Ends {
    rng: Stream,
    now: Time,
    ends: Vec<Endpoint>,
    /// Datagrams in transit, each with the number of its destination.
    channel: Vec<(usize, Vec<u8>)>,
    /// Datagrams that were delivered and may come again.
    past: Vec<(usize, Vec<u8>)>,
    sent: u64,
    /// The messages that arrived, by end.
    arrived: HashSet<(usize, u64)>,
}

fn key(number: u8) -> KeyPair {
    KeyPair::from_private([number + 1; 32])
}

impl Ends {
    fn new(rng: Stream) -> Result<Ends, String> {
        let end = |me: u8| {
            let start = Start { since_1970: Duration::from_secs(9), seed: me.into() };
            let peers = [(u32::from(1 - me), key(1 - me).public())];
            Endpoint::new(key(me), peers, start, Settings::default())
        };
        let ends = [0, 1].map(end).into_iter().collect::<Result<_, _>>();
        Ok(Ends {
            rng,
            now: Time::ms(1),
            ends: ends.map_err(|error| error.to_string())?,
            channel: vec![],
            past: vec![],
            sent: 0,
            arrived: HashSet::new(),
        })
    }

    fn step(&mut self) -> Result<(), String> {
        match self.rng.index(5) {
            0 | 1 => self.say()?,
            2 if self.rng.once_in(20) => self.now = self.now.after(Time::s(self.rng.below(200))),
            2 => self.now = self.now.after(Time::us(self.rng.below(300_000))),
            _ => self.deliver()?,
        }
        self.attend()
    }

    /// An end sends a message with its number and random bytes.
    fn say(&mut self) -> Result<(), String> {
        let from = self.rng.index(2);
        self.sent += 1;
        let rest = self.rng.length(200);
        let message = [&self.sent.to_be_bytes()[..], &[from as u8], &vec![7; rest]].concat();
        let mut out = vec![];
        let sealed = self.ends[from].seal(1 - from as u32, &message, self.now, &mut out);
        sealed.map_err(|error| error.to_string())?;
        self.post(from, out);
        Ok(())
    }
    fn post(&mut self, from: usize, datagram: Vec<u8>) {
        if !datagram.is_empty() {
            self.channel.push((1 - from, datagram));
        }
    }

    /// Delivers one datagram: one in transit, a changed one, or one that has arrived before.
    fn deliver(&mut self) -> Result<(), String> {
        let again = self.channel.is_empty() || self.rng.once_in(5);
        let from = if again { &mut self.past } else { &mut self.channel };
        if from.is_empty() {
            return Ok(());
        }
        let (to, datagram) = from.swap_remove(self.rng.index(from.len()));
        self.past.push((to, datagram.clone()));
        let mut bytes = match self.rng.once_in(4) {
            true => mutated(&mut self.rng, &datagram, &[]),
            false => datagram,
        };
        let to = if self.rng.once_in(10) { 1 - to } else { to };
        self.open(to, &mut bytes)
    }
    fn open(&mut self, to: usize, bytes: &mut [u8]) -> Result<(), String> {
        match self.ends[to].open(bytes, 5, self.now) {
            Ok(Event::Message { peer, message }) => {
                let number = message.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
                let number =
                    number.filter(|&number| number <= self.sent && peer as usize == 1 - to);
                let number = number.ok_or("a message arrived that was not sent")?;
                law(message[8] as usize == 1 - to, || "an end received its own message".into())?;
                law(self.arrived.insert((to, number)), || format!("message {number} arrived twice"))
            }
            Ok(Event::Handshake { reply, .. }) => {
                self.post(to, reply.to_vec());
                Ok(())
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Both ends send the datagrams that are due.
    fn attend(&mut self) -> Result<(), String> {
        for at in 0..self.ends.len() {
            for _ in 0..MOST_AT_ONCE {
                if self.ends[at].next_deadline().is_none_or(|due| due > self.now) {
                    break;
                }
                let mut out = vec![];
                self.ends[at].poll(self.now, &mut out);
                self.post(at, out);
            }
            let due = self.ends[at].next_deadline();
            law(due.is_none_or(|due| due > self.now), || "an end never stops sending".into())?;
        }
        Ok(())
    }
}

/// Each message that arrives was sent by the other end and arrives once. Messages arrive again when the network has no
/// more faults.
pub(crate) fn judge_script(input: &[u8]) -> Result<(), String> {
    let mut ends = Ends::new(stream_of(input, "fuzz.daemons"))?;
    for _ in 0..150 {
        ends.step()?;
    }
    let before = ends.arrived.len();
    for _ in 0..40 {
        ends.now = ends.now.after(Time::s(1));
        ends.say()?;
        ends.attend()?;
        while let Some((to, mut datagram)) = ends.channel.pop() {
            ends.open(to, &mut datagram)?;
            ends.attend()?;
        }
    }
    law(ends.arrived.len() > before, || "no message arrives any more".into())
}

/// A label, and a mutated configuration, message or log.
pub(crate) fn file(rng: &mut Stream) -> Vec<u8> {
    let config = CONFIG.as_bytes().to_vec();
    let counts = COUNTS.as_bytes().to_vec();
    let others = [("config", config), ("log", log()), ("counts", counts)];
    let samples: Vec<_> = messages().map(|of| ("message", of)).into_iter().chain(others).collect();
    let (label, sample) = rng.pick(&samples);
    let changed = if rng.once_in(10) { sample.clone() } else { mutated(rng, sample, &[]) };
    [label.as_bytes(), b"\n", &changed].concat()
}

fn hello() -> (Packet, Vec<u8>) {
    let body = xco::Body::Hello;
    let bytes = xco::Message { host: HostId(1), seq: 0, heard: 0, level: 0, term: 0, body }.emit();
    let packet =
        Packet { dst: HostId(3), flow: 1, len: 84, kind: Kind::Control, ..Packet::default() };
    (packet, bytes)
}

fn messages() -> [Vec<u8>; 7] {
    let reply = TimeReply { asked: Local(1), received: 2, sent: 3, epoch: 4, drained: true };
    let (packet, bytes) = hello();
    let ask = Ask { term: 2, epoch: 4, from: 5, until: 6 };
    let answer = Answer { term: 2, highest: 2, epoch: 4, from: 5, until: 6, free: true };
    let (time, control) = (Message::TimeReply(reply), Message::Control(packet, &bytes));
    let elected = Message::Elected(2, packet, &bytes);
    let page = Page::parse(b"\0\0\0\0\0\0\0\x07\0\x01\0\0\0\x05\x02p1\x03up0");
    let cables = page.map_or(Message::Scenario(8), Message::Neighbours);
    let (ask, answer, scenario) =
        (Message::Ask(ask), Message::Answer(answer), Message::Scenario(9));
    [time, control, elected, ask, answer, scenario, cables].map(|message| {
        let mut out = vec![];
        message.emit(&mut out);
        out
    })
}

fn log() -> Vec<u8> {
    let mut recorder = Recorder::new(Vec::new());
    let text = String::from;
    recorder.begin(&Header {
        program: text("0"),
        scenario: text(SCENARIO),
        scheme: text("xco"),
        station: 3,
        incarnation: 1,
        began: 5,
    });
    for ms in 1..6 {
        let (packet, bytes) = hello();
        recorder.heard(&packet, &bytes, Time::ms(ms));
        recorder.stepped(Sent::default(), Time::ms(ms));
    }
    recorder.into_inner()
}

/// Reads the file, which must not cause a panic.
pub(crate) fn judge_file(input: &[u8]) -> Result<(), String> {
    let (label, bytes) = label_of(input);
    match label.as_str() {
        "counts" => drop(forwarding::counts(&String::from_utf8_lossy(bytes))),
        "config" => drop(Config::parse(&String::from_utf8_lossy(bytes), Path::new("c.toml"))),
        "message" => return judge_message(bytes),
        _ => judge_log(bytes),
    }
    Ok(())
}

fn judge_message(bytes: &[u8]) -> Result<(), String> {
    let Some(message) = Message::parse(bytes) else { return Ok(()) };
    let mut out = vec![];
    message.emit(&mut out);
    law(Message::parse(&out) == Some(message), || {
        "what is read is written as something else".into()
    })
}

fn judge_log(bytes: &[u8]) {
    let Ok(mut log) = Log::open(bytes) else { return };
    let Ok(loaded) = Scenario::parse(Path::new("log"), log.header.scenario.clone()) else { return };
    if let Ok((mut seat, links)) = recorded_controller(&loaded, &log.header) {
        // An error is expected for a damaged log.
        drop(replay(&mut log, &mut seat, &links, false));
    }
}
