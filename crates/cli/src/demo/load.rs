//! The traffic of the demonstration, and the measurements.

use super::Demo;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// The first port of servers of iperf3.
const PORT: usize = 5_201;
/// The interval at which the queue of the switch is read.
const SAMPLE: Duration = Duration::from_millis(20);
/// The time that servers have to open their ports.
const START: Duration = Duration::from_millis(300);
/// The seconds that clients have to end after their time.
const LATE: u32 = 30;
/// The exit status of `timeout` if it ended its program.
const OVERDUE: i32 = 124;

/// The measured values.
#[derive(Serialize)]
pub struct Load {
    /// The goodput of each sender in Mbit/s, as counted by the receiver.
    pub goodput: Vec<f64>,
    /// The goodput of all senders together in each second, in Mbit/s, as counted by receivers, where a link breaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_second: Vec<f64>,
    /// Segments that TCP sent again.
    pub retransmits: u64,
    /// The round-trip times of pings in ms, in order of time.
    pub pings: Vec<f64>,
    /// The times of day at which they were answered, in seconds.
    #[serde(skip)]
    pub answered: Vec<f64>,
    /// Pings without an answer.
    pub pings_lost: u64,
    /// Packets that the network dropped: in a star, of those for the receiver.
    pub dropped: u64,
    /// The largest number of bytes that were seen in the network's queues: in a star, of those for the receiver. A fat-tree
    /// has too many queues to read them often.
    pub most_waiting: Option<u64>,
    /// Packets that were sent to the optical switch in a night.
    pub lost_in_nights: Option<u64>,
}

impl Load {
    /// The longest round trip, in ms, of pings that were under way within a second after a time of day.
    pub fn longest_after(&self, time: f64) -> f64 {
        let answers = self.answered.iter().zip(&self.pings);
        let under_way = answers.filter(|(at, ms)| **at >= time && **at - **ms / 1e3 <= time + 1.0);
        under_way.map(|(_, ms)| *ms).fold(f64::NAN, f64::max)
    }
    /// The longest round trip, in ms, of pings that were sent and answered in the second before a time of day.
    pub fn longest_before(&self, time: f64) -> f64 {
        let answers = self.answered.iter().zip(&self.pings);
        let within = answers.filter(|(at, ms)| **at < time && **at - **ms / 1e3 >= time - 1.0);
        within.map(|(_, ms)| *ms).fold(f64::NAN, f64::max)
    }
    /// The mean goodput of all senders together in a third of the time.
    pub fn third(&self, third: usize) -> f64 {
        let length = self.by_second.len() / 3;
        let of = self.by_second.iter().skip(third * length).take(length);
        of.sum::<f64>() / length as f64
    }
    /// The goodput of all senders together.
    pub fn goodput(&self) -> f64 {
        self.goodput.iter().sum()
    }
    /// The goodput of the slowest sender.
    pub fn least(&self) -> f64 {
        self.goodput.iter().copied().fold(f64::INFINITY, f64::min)
    }
    /// The goodput of the fastest sender.
    pub fn most(&self) -> f64 {
        self.goodput.iter().copied().fold(0.0, f64::max)
    }
    /// A quantile of the pings, by nearest rank.
    pub fn ping(&self, share: f64) -> f64 {
        let mut sorted = self.pings.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

impl Demo<'_> {
    /// Runs the traffic once. Tells `begun` when it has begun.
    pub fn load(&self, seconds: u16, begun: Option<Sender<()>>) -> Result<Load> {
        let testbed = &self.testbed;
        let (dropped, dark) = (testbed.dropped()?, testbed.lost_in_nights()?);
        let flows = || (0..).zip(&testbed.flows);
        let servers = flows().map(|(n, flow)| self.server(n, *flow)).collect::<Result<Vec<_>>>()?;
        std::thread::sleep(START);
        let clients =
            flows().map(|(n, flow)| self.client(n, *flow, seconds)).collect::<Result<Vec<_>>>()?;
        let ping = self.pinger(seconds)?;
        if let Some(begun) = begun {
            // Nobody has to listen.
            let _ = begun.send(());
        }
        let stop = AtomicBool::new(false);
        let (ended, most_waiting) = std::thread::scope(|scope| {
            let most = scope.spawn(|| self.watch(&stop));
            // A pipe has room for the answers of some seconds only.
            let pings = scope.spawn(|| outputs(vec![ping]));
            let clients = outputs(clients);
            let pings = pings.join().unwrap_or_else(|_| bail!("cannot read the output of ping"));
            let ended = clients.and_then(|clients| Ok((clients, pings?)));
            stop.store(true, Ordering::Relaxed);
            (ended, most.join().ok().flatten())
        });
        servers.into_iter().for_each(end);
        let (clients, pings) = ended?;
        let reports = clients.iter().map(Report::new).collect::<Result<Vec<Report>>>()?;
        let (answers, pings_lost) = read_pings(&String::from_utf8_lossy(&pings[0].stdout));
        let (answered, pings) = answers.into_iter().unzip();
        Ok(Load {
            goodput: reports.iter().map(|report| report.goodput).collect(),
            by_second: by_second(&reports),
            retransmits: reports.iter().map(|report| report.retransmits).sum(),
            pings,
            answered,
            pings_lost,
            dropped: testbed.dropped()?.saturating_sub(dropped),
            most_waiting,
            lost_in_nights: dark
                .zip(testbed.lost_in_nights()?)
                .map(|(before, after)| after.saturating_sub(before)),
        })
    }

    fn server(&self, n: usize, (_, to): (usize, usize)) -> Result<Child> {
        self.start(to, &format!("iperf3 -s -1 -J -p {}", PORT + n))
    }
    fn client(&self, n: usize, (from, to): (usize, usize), seconds: u16) -> Result<Child> {
        let (to, port) = (self.options.target(self.testbed.addresses[to]), PORT + n);
        let seen = if self.options.breaks_link() { " --get-server-output" } else { "" };
        let (connections, longest) = (self.options.connections(), u32::from(seconds) + LATE);
        self.start(
            from,
            &format!(
                "timeout {longest} iperf3 -c {to} -p {port} -P {connections} -t {seconds} -J{seen}"
            ),
        )
    }
    fn pinger(&self, seconds: u16) -> Result<Child> {
        let (from, to) = self.testbed.ping;
        let to = self.options.target(self.testbed.addresses[to]);
        self.start(from, &format!("ping -D -n -i 0.02 -w {seconds} {to}"))
    }
    /// Starts a program on a host.
    fn start(&self, host: usize, line: &str) -> Result<Child> {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or_default();
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.testbed
            .inside(host, || command.spawn())
            .with_context(|| format!("cannot start `{program}`, which the demonstration needs"))
    }
    /// Returns the largest number of bytes that wait in the network, until `stop` is set.
    fn watch(&self, stop: &AtomicBool) -> Option<u64> {
        let mut most = None;
        while !stop.load(Ordering::Relaxed) {
            most = self.testbed.waiting().ok().flatten().max(most);
            std::thread::sleep(SAMPLE);
        }
        most
    }
}

fn outputs(children: Vec<Child>) -> Result<Vec<Output>> {
    children.into_iter().map(|child| Ok(child.wait_with_output()?)).collect()
}

/// Ends a server. A server that has served its client has ended already.
fn end(mut server: Child) {
    let _ = server.kill();
    let _ = server.wait();
}

/// The final report of iperf3.
struct Report {
    goodput: f64,
    /// What the receiver got in each second, if it told.
    by_second: Vec<f64>,
    retransmits: u64,
}

/// The goodput of all senders in each whole second.
fn by_second(reports: &[Report]) -> Vec<f64> {
    let seconds = reports.iter().map(|report| report.by_second.len()).min().unwrap_or(0);
    (0..seconds).map(|at| reports.iter().map(|report| report.by_second[at]).sum()).collect()
}

impl Report {
    fn new(output: &Output) -> Result<Report> {
        if output.status.code() == Some(OVERDUE) {
            bail!(
                "a client of iperf3 did not end within {LATE} s after its time: it got no answer"
            );
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let value: serde_json::Value = serde_json::from_str(&text)
            .with_context(|| format!("cannot read the report of iperf3: {text}"))?;
        if let Some(error) = value["error"].as_str() {
            bail!("iperf3: {error}");
        }
        let end = &value["end"];
        let seconds = value["server_output_json"]["intervals"].as_array();
        let rate = |second: &serde_json::Value| second["sum"]["bits_per_second"].as_f64();
        Ok(Report {
            goodput: end["sum_received"]["bits_per_second"].as_f64().unwrap_or_default() / 1e6,
            by_second: (seconds.into_iter().flatten())
                .map(|second| rate(second).unwrap_or_default() / 1e6)
                .collect(),
            retransmits: end["sum_sent"]["retransmits"].as_u64().unwrap_or_default(),
        })
    }
}

/// The times of day of answers in seconds and their round-trip times in ms, and the number of requests without an answer.
fn read_pings(text: &str) -> (Vec<(f64, f64)>, u64) {
    let time = |line: &str| {
        let day = line.strip_prefix('[')?.split(']').next()?.parse().ok()?;
        let trip = line.split("time=").nth(1)?.split(' ').next()?.parse().ok()?;
        Some((day, trip))
    };
    let times: Vec<(f64, f64)> = text.lines().filter_map(time).collect();
    let sent = |line: &str| line.split(" packets transmitted").next()?.parse::<u64>().ok();
    let sent = text.lines().filter(|line| line.contains("transmitted")).find_map(sent);
    let lost = sent.unwrap_or_default().saturating_sub(times.len() as u64);
    (times, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_are_read() {
        let text = "[100.5] 64 bytes from 10.79.0.1: icmp_seq=1 ttl=64 time=0.5 ms\n[101.25] 64 bytes from 10.79.0.1: icmp_seq=3 ttl=64 time=12.25 ms\n\
                    \n--- 10.79.0.1 ping statistics ---\n4 packets transmitted, 2 received, 50% packet loss, time 60ms\n";
        assert_eq!(read_pings(text), (vec![(100.5, 0.5), (101.25, 12.25)], 2));
    }

    #[test]
    fn the_longest_ping_after_a_kill_was_under_way() {
        let load = Load {
            goodput: Vec::new(),
            by_second: Vec::new(),
            retransmits: 0,
            pings: vec![900.0, 30.0, 5.0, 700.0],
            answered: vec![9.9, 10.02, 10.5, 12.0],
            pings_lost: 0,
            dropped: 0,
            most_waiting: None,
            lost_in_nights: None,
        };
        assert_eq!(load.longest_after(10.0), 30.0);
        assert!(load.longest_after(20.0).is_nan());
    }
}
