//! Every intercepted function of clocks, waits and sockets, called from C.

use crate::{Virtual, compiled, folder, run};

/// Ways to wait in `c/waits.c`.
const WAYS: usize = 44;
/// The duration of each wait.
const SPAN_NS: f64 = 20e6;

#[test]
fn every_wait_takes_its_span_in_virtual_time() {
    let Some(program) = compiled("waits", &folder("waits"), &[]) else { return };
    let (out, _) = run(&mut Virtual::new("waits", 20).command(program));
    for line in out.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let (shown, real): (f64, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        assert_eq!(words[3], "ended", "{line}");
        // In some ways the kernel waits for whole ticks.
        assert!(shown >= 0.98 * SPAN_NS, "too short: {line}");
        assert!((15.0..25.0).contains(&(real / shown)), "wrong ratio: {line}");
    }
    assert_eq!(out.lines().count(), WAYS, "{out}");
}

#[test]
fn times_and_rates_of_the_kernel_are_translated_both_ways() {
    let Some(program) = compiled("values", &folder("values"), &[]) else { return };
    let (out, _) = run(&mut Virtual::new("values", 20).command(program));
    for line in out.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (seen, real): (f64, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        let factor = match words[0] {
            "keep-alive-count" | "unlimited-pacing" | "segment-size" | "alarm-left"
            | "sleep-left" | "select-left" | "timerfd-disarmed" => 1.0,
            "arrival" | "exact-arrival" | "gettimeofday" | "clock-by-number" | "seconds"
            | "processor-time" => 1.0,
            _ => 20.0,
        };
        // A rest of 59 s and a little more may be seen as 60 s.
        assert!((seen * factor - real).abs() <= 0.02 * real, "{line}");
    }
    assert_eq!(out.lines().count(), 26, "{out}");
}
