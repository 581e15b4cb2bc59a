//! A central scheduler of one's own, compared with plain TCP and with XCo: pairs of hosts take turns, first
//! come, first served. `docs/how-to/my-scheduler.md` explains it.
//!
//! `cargo run --release -p slotline-lab --example my_scheduler`

use slotline_lab::output::{terminal, write};
use slotline_lab::record::RunSet;
use slotline_lab::run::Jobs;
use slotline_net::id::HostId;
use slotline_net::scheme::{Control, Decision, News, Plan};
use slotline_net::time::Time;
use slotline_scenario::scheduler::Scheduler;
use slotline_scenario::{Scenario, ScenarioError};
use std::error::Error;
use std::path::Path;

/// A sender and a receiver.
type Pair = (HostId, HostId);

/// No host sends to two others at once, and none receives from two.
struct Turns {
    slice: Time,
    /// Pairs with packets waiting, the longest wait first.
    waiting: Vec<Pair>,
    /// Pairs whose turn it is, and until when.
    sending: Vec<(Pair, Time)>,
    /// Hosts that reported and expect an answer.
    reported: Vec<HostId>,
}

impl Turns {
    fn new(slice: Time) -> Turns {
        Turns { slice, waiting: vec![], sending: vec![], reported: vec![] }
    }
    fn forget(&mut self, gone: impl Fn(Pair) -> bool) {
        self.waiting.retain(|pair| !gone(*pair));
        self.sending.retain(|(pair, _)| !gone(*pair));
    }
    fn is_known(&self, pair: Pair) -> bool {
        self.waiting.contains(&pair) || self.sending.iter().any(|(sending, _)| *sending == pair)
    }
    fn is_free(&self, (src, dst): Pair) -> bool {
        self.sending.iter().all(|((from, to), _)| *from != src && *to != dst)
    }
    /// What a host may do now: send to its receiver, or wait.
    fn window(&self, src: HostId, now: Time) -> Decision {
        let turn = self.sending.iter().find(|((from, _), _)| *from == src);
        let dst = turn.map(|((_, to), _)| *to);
        Decision::Window { src, dst, until: turn.map_or(now, |(_, until)| *until), rate: None }
    }
}

impl Control for Turns {
    fn observe(&mut self, news: &News<'_>, _now: Time) {
        match *news {
            News::Load { .. } | News::Flows { .. } => {}
            News::Joined(host) | News::Left(host) => self.forget(|(src, _)| src == host),
            News::Released { host, dst } => self.forget(|pair| pair == (host, dst)),
            News::Backlog { host, destinations, .. } => {
                self.waiting.retain(|(src, dst)| *src != host || destinations.contains(dst));
                let new = destinations.iter().map(|dst| (host, *dst));
                let new: Vec<Pair> = new.filter(|pair| !self.is_known(*pair)).collect();
                self.waiting.extend(new);
                self.reported.push(host);
            }
        }
    }

    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
        // Who has more to send when its turn is over reports it, and waits again.
        self.sending.retain(|(_, until)| *until > now);
        for pair in std::mem::take(&mut self.waiting) {
            if self.is_free(pair) {
                self.sending.push((pair, now.after(self.slice)));
                plan.push(self.window(pair.0, now));
            } else {
                self.waiting.push(pair);
            }
        }
        for host in std::mem::take(&mut self.reported) {
            if plan.iter().all(|decision| decision.host() != host) {
                plan.push(self.window(host, now));
            }
        }
        self.sending.iter().map(|(_, until)| *until).min()
    }
}

/// Runs the scenario with [`Turns`] in its scheme `turns`.
fn compare(file: &Path) -> Result<RunSet, ScenarioError> {
    let mut loaded = Scenario::load(file)?;
    let turns = Scheduler::new("turns, slices of 200 us", |_network| Turns::new(Time::us(200)));
    loaded.schedule("turns", turns)?;
    let records = Jobs::of(&loaded).run(&loaded, 2)?;
    Ok(RunSet::new(&loaded, records))
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_scheduler.toml");
    let set = compare(&file)?;
    println!("{}", terminal::table(&set, 100));
    println!(
        "Results: {}",
        write(&set, Path::new("results"), true, &[slotline_report::PAGE])?.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::RunRecord;
    use slotline_net::scheme::Network;
    use slotline_schemes::ControlSpec;
    use slotline_xco::spec::XcoSpec;

    const H: fn(u32) -> HostId = HostId;

    fn file() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_scheduler.toml")
    }
    fn windows(turns: &mut Turns, now: Time) -> Vec<(u32, Option<u32>)> {
        let mut plan = Plan::new();
        turns.decide(now, &mut plan);
        let window = |decision: &Decision| match *decision {
            Decision::Window { src, dst, .. } => (src.0, dst.map(|dst| dst.0)),
            _ => panic!("no window"),
        };
        plan.iter().map(window).collect()
    }

    #[test]
    fn no_host_sends_or_receives_twice() {
        let mut turns = Turns::new(Time::us(100));
        for (host, destinations) in [(0, vec![H(5), H(6)]), (1, vec![H(5), H(6)]), (2, vec![H(5)])]
        {
            let news = News::backlog(H(host), &destinations);
            turns.observe(&news, Time::ZERO);
        }
        assert_eq!(windows(&mut turns, Time::ZERO), [(0, Some(5)), (1, Some(6)), (2, None)]);
        turns.observe(&News::Released { host: H(0), dst: H(5) }, Time::us(10));
        assert_eq!(windows(&mut turns, Time::us(10)), [(2, Some(5))]);
        assert_eq!(windows(&mut turns, Time::us(100)), [(0, Some(6))], "1 is over");
    }

    #[test]
    fn it_decides_instead_of_xco() {
        let set = compare(&file()).unwrap_or_else(|error| panic!("{error}"));
        let mean =
            |run: &RunRecord| run.flows.iter().map(|f| f.finish_ps - f.start_ps).sum::<u64>();
        let of = |scheme: &str| set.of(scheme).into_iter().map(mean).collect::<Vec<_>>();
        assert!(set.runs.iter().all(|run| run.flows.iter().all(|flow| flow.finished())));
        assert_ne!(of("turns"), of("xco"));
        let drops = |run: &&RunRecord| run.census.dropped.iter().sum::<u64>();
        assert_eq!(set.of("turns").iter().map(drops).sum::<u64>(), 0);
        assert!(
            set.scenario.contains(r#"# scheme "turns": scheduled by "turns, slices of 200 us""#)
        );
    }

    /// XCo's own scheduler put in by hand gives what `control = "xco"` gives.
    #[test]
    fn the_same_scheduler_gives_the_same_result() {
        let mut loaded = Scenario::load(&file()).expect("a scenario");
        let ControlSpec::Xco(spec) = loaded.scenario.scheme[1].control.clone() else {
            panic!("scheme 1 is xco's")
        };
        let make = move |network: Network| XcoSpec::build(&spec).expect("options").control(network);
        struct Boxed(Box<dyn Control>);
        impl Control for Boxed {
            fn observe(&mut self, news: &News<'_>, now: Time) {
                self.0.observe(news, now);
            }
            fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
                self.0.decide(now, plan)
            }
        }
        let scheduler = Scheduler::new("xco by hand", move |network| Boxed(make(network)));
        loaded.schedule("turns", scheduler).expect("a scheme with a scheduler");
        let records = Jobs::of(&loaded).run(&loaded, 2).expect("runs");
        let set = RunSet::new(&loaded, records);
        let digests =
            |scheme| set.of(scheme).iter().map(|run| run.engine.digest).collect::<Vec<_>>();
        assert_eq!(digests("turns"), digests("xco"));
    }

    #[test]
    fn a_scheme_without_agents_is_refused() {
        let mut loaded = Scenario::load(&file()).expect("a scenario");
        let mut error = |scheme: &str| {
            let scheduler = Scheduler::new("mine", |_| Turns::new(Time::us(1)));
            loaded.schedule(scheme, scheduler).expect_err("no agents").to_string()
        };
        assert!(error("tcp").contains("`mine` needs `control = \"xco\"`"), "{}", error("tcp"));
        assert!(error("tpc").contains("there are tcp, xco, turns"), "{}", error("tpc"));
    }
}
