//! Unmodified programs under virtual time.

use crate::{Virtual, installed, run, text};
use slotline_preload::Clock;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn date_shows_virtual_time() {
    let time = Virtual::new("date", 20);
    let before = time.now();
    let (shown, _) = run(time.command("date").arg("+%s%N"));
    let shown: i64 = shown.trim().parse().unwrap();
    assert!((before..=time.now()).contains(&shown), "{shown}");
}

#[test]
fn a_sleep_of_100_ms_really_takes_2_s() {
    let (_, span) = run(Virtual::new("sleep", 20).command("sleep").arg("0.1"));
    assert!((2.0..20.0).contains(&span.as_secs_f64()), "{span:?}");
}

/// By ctypes, Python also calls the C library's own function.
const PYTHON: &str = r#"
import asyncio, ctypes, select, threading, time
class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("ns", ctypes.c_long)]
libc = ctypes.CDLL("libc.so.6")
def real():
    now = Timespec()
    libc.clock_gettime(1, ctypes.byref(now))
    return now.seconds + now.ns * 1e-9
def measure(name, clock, wait):
    shown, begin = clock(), real()
    wait()
    shown, span = clock() - shown, real() - begin
    print(name, shown, span)
measure("sleep", time.time, lambda: time.sleep(0.02))
measure("monotonic", time.monotonic, lambda: time.sleep(0.02))
measure("select", time.monotonic, lambda: select.select([], [], [], 0.02))
measure("poll", time.monotonic, lambda: select.poll().poll(20))
measure("event", time.monotonic, lambda: threading.Event().wait(0.02))
measure("join", time.perf_counter, lambda: threading.Timer(0.02, print, [""]).run())
measure("asyncio", time.monotonic, lambda: asyncio.run(asyncio.sleep(0.02)))
"#;

#[test]
fn python_waits_in_virtual_time() {
    if !installed("python3", "--version") {
        return;
    }
    let (out, _) = run(Virtual::new("python", 20).command("python3").args(["-c", PYTHON]));
    let lines: Vec<&str> = out.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 7, "{out}");
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let (shown, real): (f64, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        assert!(shown >= 0.0199, "{line}");
        assert!((15.0..25.0).contains(&(real / shown)), "{line}");
    }
}

/// Without the translation of the times at which packets arrive, round trips would be an hour long.
#[test]
fn ping_measures_virtual_round_trips() {
    if !installed("ping", "-V") {
        return;
    }
    let ping = ["-c", "3", "-i", "0.2", "127.0.0.1"];
    if !Command::new("ping")
        .args(["-c", "1", "127.0.0.1"])
        .output()
        .is_ok_and(|done| done.status.success())
    {
        eprintln!("skipped: ping is not permitted here");
        return;
    }
    let (out, span) = run(Virtual::new("ping", 5).command("ping").args(ping));
    let number = |after: &str, end: char| -> f64 {
        let rest = out.split(after).nth(1).unwrap_or_else(|| panic!("{out}"));
        rest.split(end).next().unwrap().parse().unwrap_or_else(|_| panic!("{out}"))
    };
    assert!(span >= Duration::from_secs(2), "{span:?}");
    assert!((390.0..1500.0).contains(&number("packet loss, time ", 'm')), "{out}");
    assert!((0.0..100.0).contains(&number("icmp_seq=2 ttl=64 time=", ' ')), "{out}");
}

/// The rate that iperf3 shows is higher than the real one, by the dilation.
#[test]
fn iperf3_shows_the_virtual_rate() {
    if !installed("iperf3", "--version") {
        return;
    }
    let time = Virtual::new("iperf3", 5);
    // The port is free again when the listener is dropped.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let mut server = time.command("iperf3");
    let mut server = server.args(["-s", "-1", "-p", &port]).stdout(Stdio::null()).spawn().unwrap();
    let client = [
        "-c",
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        "1",
        "-b",
        "200M",
        "-J",
        "--connect-timeout",
        "2000",
    ];
    std::thread::sleep(Duration::from_secs(1));
    let (out, span) = run(time.command("iperf3").args(client));
    server.wait().unwrap();
    let sent = out.split("\"sum_sent\"").nth(1).unwrap();
    let number = |key: &str| -> f64 {
        let rest = sent.split(&format!("\"{key}\":")).nth(1).unwrap();
        rest.split(',').next().unwrap().trim().parse().unwrap()
    };
    let real_rate = number("bytes") * 8.0 / span.as_secs_f64();
    let ratio = number("bits_per_second") / real_rate;
    assert!((180e6..220e6).contains(&number("bits_per_second")), "{sent}");
    assert!((4.9..8.0).contains(&ratio), "{ratio} {span:?} {sent}");
}

const JAVA: &str = r#"
public class Waits {
    interface Wait { void run() throws Exception; }
    static void measure(String name, Wait wait) throws Exception {
        long begin = System.nanoTime(), day = System.currentTimeMillis();
        wait.run();
        System.out.println(name + " " + (System.nanoTime() - begin) / 1000000 + " " + (System.currentTimeMillis() - day));
    }
    public static void main(String[] arguments) throws Exception {
        Object object = new Object();
        measure("sleep", () -> Thread.sleep(50));
        measure("wait", () -> { synchronized (object) { object.wait(50); } });
        measure("queue", () -> new java.util.concurrent.ArrayBlockingQueue<Object>(1)
            .poll(50, java.util.concurrent.TimeUnit.MILLISECONDS));
    }
}
"#;

#[test]
fn java_waits_in_virtual_time() {
    if !installed("java", "-version") || !installed("javac", "-version") {
        return;
    }
    let source = crate::folder("java").join("Waits.java");
    std::fs::write(&source, JAVA).unwrap();
    let (out, span) = run(Virtual::new("java", 20).command("java").arg("-Xint").arg(source));
    assert_eq!(out.lines().count(), 3, "{out}");
    for line in out.lines() {
        let spans: Vec<i64> = line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
        assert!(spans.iter().all(|span| (49..500).contains(span)), "{line}");
    }
    assert!(span >= Duration::from_millis(3 * 20 * 49), "{span:?}");
}

#[test]
fn curl_gives_up_in_virtual_time() {
    if !installed("curl", "--version") {
        return;
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let begin = std::time::Instant::now();
    let mut curl = Virtual::new("curl", 20).command("curl");
    let done = curl
        .args(["-s", "--noproxy", "*", "-w", "%{time_total}", "--max-time", "0.1", &url])
        .output()
        .unwrap();
    let (shown, real) = (text(&done.stdout).parse::<f64>().unwrap(), begin.elapsed().as_secs_f64());
    assert_eq!(done.status.code(), Some(28), "{}", text(&done.stderr));
    assert!((0.095..1.0).contains(&shown) && (1.9..20.0).contains(&real), "{shown} {real}");
}

#[test]
fn netcat_gives_up_in_virtual_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let begin = std::time::Instant::now();
    let mut command = Virtual::new("netcat", 3).command("nc");
    let netcat = command.args(["-w", "1", "127.0.0.1", &port]).stdin(Stdio::piped());
    let Ok(mut netcat) = netcat.spawn() else {
        eprintln!("skipped: nc is not installed");
        return;
    };
    // nc reads from this process, which sends nothing.
    let input = netcat.stdin.take();
    let status = netcat.wait().unwrap();
    drop(input);
    assert!((2.9..20.0).contains(&begin.elapsed().as_secs_f64()), "{status} {:?}", begin.elapsed());
}

/// sockperf sends for 1.4 s, and reports how much of that is measured.
#[test]
fn sockperf_measures_for_a_virtual_second() {
    if !installed("sockperf", "--version") {
        return;
    }
    let time = Virtual::new("sockperf", 2);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let address = ["-i", "127.0.0.1", "-p", &port];
    let mut server = time.command("sockperf");
    let mut server = server.arg("server").args(address).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let (out, span) =
        run(time.command("sockperf").arg("ping-pong").args(address).args(["-t", "1"]));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(out.contains("[Total Run] RunTime=1.0"), "{out}");
    assert!(span >= Duration::from_millis(2_800), "{span:?}");
}

/// A program must not run in real time unnoticed.
#[test]
fn a_wrong_file_of_time_ends_the_program() {
    let time = Virtual::new("wrong", 20);
    let wrong = time.library.clone();
    for file in [wrong.as_os_str(), "/no/such/file".as_ref()] {
        let done = time.command("date").env("SLOTLINE_TIME", file).output().unwrap();
        assert_eq!(done.status.code(), Some(126));
        assert!(
            text(&done.stderr).starts_with("slotline: SLOTLINE_TIME names a file that"),
            "{done:?}"
        );
    }
    let done = time.command("date").env_remove("SLOTLINE_TIME").output().unwrap();
    assert!(done.status.success(), "without the variable, time is real");
}

#[test]
fn a_program_that_runs_sees_a_step() {
    if !installed("bash", "--version") {
        return;
    }
    let mut of = Virtual::new("steps", 1);
    let mut bash = of.command("bash");
    let read = "printf '%(%s)T\\n'; read wait; printf '%(%s)T\\n'";
    bash.args(["-c", read]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut bash = bash.spawn().unwrap();
    let mut out = BufReader::new(bash.stdout.take().unwrap()).lines();
    let mut time = || out.next().unwrap().unwrap().parse::<i64>().unwrap();
    let before = time();
    of.time.step(Clock::Realtime, -1_000 * 1_000_000_000).unwrap();
    let shown = of.now() / 1_000_000_000;
    drop(bash.stdin.take());
    let after = time();
    assert!((900..=1_000).contains(&(before - after)), "{before} {after}");
    assert!((0..100).contains(&(after - shown)), "{shown} {after}");
    bash.wait().unwrap();
}
