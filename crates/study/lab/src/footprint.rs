//! Estimates whether the runs of a scenario fit into the memory, from their number of flows.

use crate::output::format::{grouped, quantity};
use crate::usage;
use slotline_scenario::Loaded;
use slotline_scenario::metric::Unit;

/// The least number of bytes of a flow during its run: its description, its state, and its row in the result.
const AT_WORK: u64 = 200;
/// Bytes of a flow of a complete run.
const COMPLETE: u64 = 90;

/// The least memory that all runs need, if `at_once` of them run at a time.
pub fn least_bytes(loaded: &Loaded, at_once: usize) -> u64 {
    let runs = loaded.scenario.scheme.len() as u64 * u64::from(loaded.scenario.repeat);
    let at_work = runs.min(at_once.max(1) as u64).saturating_mul(AT_WORK);
    let each = at_work.saturating_add(runs.saturating_mul(COMPLETE));
    loaded.flows().saturating_mul(each)
}

/// The reason why the runs do not fit into the memory, and a remedy; `None` if they fit as far as is known.
pub fn excess(loaded: &Loaded, at_once: usize) -> Option<String> {
    let machine = usage::machine_memory_bytes()?;
    excess_of(loaded, at_once, machine)
}

fn excess_of(loaded: &Loaded, at_once: usize, machine: u64) -> Option<String> {
    let need = least_bytes(loaded, at_once);
    let bytes = |bytes: u64| quantity(Unit::Bytes, bytes as f64);
    (need > machine).then(|| {
        format!(
            "{} flows in a run need at least {} of memory for all runs, and this machine has {}: use fewer flows, \
             a shorter run, fewer repetitions, or fewer threads",
            grouped(loaded.flows()),
            bytes(need),
            bytes(machine)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_scenario::check::SAMPLE;
    use slotline_scenario::{Scenario, ScenarioError};

    fn parsed(workload: &str, measure: &str) -> Result<Loaded, ScenarioError> {
        let text = format!(
            "name = \"many\"\nend = {{ at = \"10ms\" }}\nfabric = {{ kind = \"star\", hosts = 16 }}\n\
             workload = [{{ {workload} }}]\nmeasure = {{ {measure} }}\n[[scheme]]\nname = \"tcp\"\n"
        );
        Scenario::parse("many.toml".as_ref(), text)
    }

    fn loaded(workload: &str) -> Loaded {
        parsed(workload, "").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn flows_are_followed_by_number_only_among_few() {
        let poisson = "kind = \"poisson\", sizes = \"10B\", load = 0.25";
        let error = parsed(poisson, "follow = [0]").expect_err("5 million flows").to_string();
        assert!(error.contains("`follow` needs at most 4194304 flows"), "{error}");
        // More than the sample has.
        let few = "kind = \"short-flows\", size = \"1B\", flows = 10000, sequences = 1, handshake = false, senders = \"0-11\", receivers = \"12\"";
        assert!(parsed(few, "follow = [119999]").is_ok());
        assert!(parsed(few, "follow = [120000]").is_err());
    }

    #[test]
    fn many_flows_are_counted_and_not_made() {
        // 12.5 MB in 10 ms from each of 8 hosts, and four times that for sequences that get more than others.
        let short = loaded(
            "kind = \"short-flows\", size = \"1B\", flows = 500000, sequences = 4, handshake = false, \
             senders = \"0-7\", receivers = \"8-15\"",
        );
        assert_eq!(short.flows(), 16_000_000);
        let poisson = loaded("kind = \"poisson\", sizes = \"10B\", load = 0.25");
        // 16 hosts at 10 Gbit/s, of which a quarter is used, for 10 ms, in flows of 10 bytes.
        assert!((poisson.flows() as f64 / 5e6 - 1.0).abs() < 0.01, "{}", poisson.flows());
        let made = |loaded: &Loaded| loaded.counts()[0].made;
        let pairs = loaded("kind = \"random\", size = \"10B\", load = 0.25, duration = \"10ms\"");
        assert!((pairs.flows() as f64 / 5e6 - 1.0).abs() < 0.01, "{}", pairs.flows());
        for loaded in [&short, &pairs] {
            assert!(made(loaded) <= SAMPLE, "the others are only counted");
        }
        assert_eq!(made(&poisson), 1_000, "all flows of the workload are drawn in the same way");
        assert_eq!(least_bytes(&short, 4), 16_000_000 * 290);
        assert!(excess_of(&short, 4, 16_000_000 * 290).is_none());
        let text = excess_of(&short, 4, 1_000_000_000).expect("too many");
        assert!(text.contains("16,000,000 flows") && text.contains("fewer flows"), "{text}");
    }
}
