//! Counts the verdicts on one scheme, for the headline, the terminal and `summary.json`.

use super::format::{extent, several, verdict};
use crate::statistics::{Comparison, Verdict};
use crate::summary::Summary;
use slotline_scenario::metric::Metric;

/// A metric, and its comparison with the baseline.
pub type Compared = (Metric, Comparison);

/// The comparisons of a scheme with the baseline on the shown metrics, in their order.
#[derive(Clone, PartialEq, Debug)]
pub struct Tally {
    scheme: String,
    base: String,
    /// The comparisons by verdict, in the order of [`ORDER`].
    groups: [Vec<Compared>; ORDER.len()],
}

/// Verdicts in the order in which they are shown. The worse ones are first.
pub const ORDER: [Verdict; 6] = [
    Verdict::Worse,
    Verdict::Better,
    Verdict::Open,
    Verdict::TooFew,
    Verdict::Idle,
    Verdict::NoDifference,
];

/// The most metrics of one kind that a headline names.
const NAMED: usize = 3;

/// A tally of each scheme except the first, on the `shown` metrics.
pub fn tallies(summary: &Summary, shown: &[Metric]) -> Vec<Tally> {
    let Some(base) = summary.schemes.first() else { return vec![] };
    let tally = |(at, scheme): (usize, &crate::summary::SchemeSummary)| {
        let against = |m: &Metric| Some((*m, summary.cell(at, *m)?.against?));
        Tally::of(&scheme.name, &base.name, shown.iter().filter_map(against).collect())
    };
    summary.schemes.iter().enumerate().skip(1).map(tally).collect()
}

impl Tally {
    fn of(scheme: &str, base: &str, all: Vec<Compared>) -> Tally {
        let group = |verdict| all.iter().filter(|(_, c)| c.verdict == verdict).copied().collect();
        Tally { scheme: scheme.into(), base: base.into(), groups: ORDER.map(group) }
    }
    /// The metrics with this verdict.
    pub fn those(&self, verdict: Verdict) -> &[Compared] {
        let at = ORDER.iter().position(|v| *v == verdict);
        at.map_or(&[], |at| &self.groups[at])
    }
    /// The number of metrics.
    pub fn len(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }
    /// Whether there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// One sentence: the number of metrics on which the scheme is worse or better, and the first of them.
    pub fn headline(&self) -> String {
        let (scheme, base, n) = (&self.scheme, &self.base, self.len());
        let [worse, better, open, few, idle, alike] = &self.groups;
        let undecided = undecided(open.len());
        match (worse.len(), better.len()) {
            _ if n == 0 => format!("{scheme}: there is nothing to compare with {base}."),
            _ if !idle.is_empty() => {
                format!("{scheme}: no verdict, because its scheduler never acted.")
            }
            _ if few.len() + alike.len() == n && !few.is_empty() => self.of_one_seed(),
            (0, 0) if alike.len() == n => {
                format!("{scheme} and {base}: no significant difference on any of {n} metrics.")
            }
            (0, 0) => format!("{scheme} and {base}: no significant difference{undecided}."),
            (0, b) => format!(
                "{scheme} is better than {base} on {b} of {n} metrics: {}{undecided}.",
                listed(better)
            ),
            (w, 0) => format!(
                "{scheme} is worse than {base} on {w} of {n} metrics: {}{undecided}.",
                listed(worse)
            ),
            (w, b) => format!(
                "{scheme} is worse than {base} on {w} of {n} metrics ({}), and better on {b} ({}){undecided}.",
                listed(worse),
                listed(better)
            ),
        }
    }
    fn of_one_seed(&self) -> String {
        let (scheme, base, n) = (&self.scheme, &self.base, self.len());
        let few = self.those(Verdict::TooFew);
        let unlike: Vec<Compared> = few.iter().filter(|(_, c)| !c.is_equal()).copied().collect();
        match unlike.len() {
            0 => {
                let metrics = several(n as u64, "metric");
                format!("{scheme} and {base} do not differ on {metrics}, with one seed.")
            }
            _ => format!(
                "{scheme} against {base}, one seed, so differences may be chance: {}.",
                listed(&unlike)
            ),
        }
    }
    /// The metrics with a difference, in the order of verdicts: title and sentence.
    pub fn sentences(&self) -> impl Iterator<Item = (&'static str, String)> {
        let shown = |verdict: &Verdict| !matches!(verdict, Verdict::NoDifference | Verdict::Idle);
        let of = |verdict| self.those(verdict).iter().filter(|(_, c)| !c.is_equal()).map(sentence);
        ORDER.into_iter().filter(shown).flat_map(of)
    }
    /// The metrics without a difference, if there is only one seed.
    pub fn same(&self) -> Vec<&'static str> {
        let few = self.those(Verdict::TooFew).iter();
        few.filter(|(_, c)| c.is_equal()).map(|(metric, _)| metric.title()).collect()
    }
}

fn undecided(open: usize) -> String {
    match open {
        0 => String::new(),
        n => format!("; {n} undecided, because of unfinished flows"),
    }
}

fn listed(some: &[Compared]) -> String {
    let one = |(m, c): &Compared| format!("{} {}", m.title(), extent(*m, c));
    let named: Vec<String> = some.iter().take(NAMED).map(one).collect();
    let more = match some.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("; {n} more"),
    };
    named.join("; ") + &more
}

fn sentence((metric, comparison): &Compared) -> (&'static str, String) {
    let text = match comparison.verdict {
        Verdict::TooFew => extent(*metric, comparison),
        _ => verdict(*metric, comparison),
    };
    (metric.title(), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Measured;
    use crate::record::RunSet;

    fn against(metric: Metric, values: &[f64]) -> Compared {
        let exact = |value| Measured { value, at_least: false };
        let pairs: Vec<_> = values.iter().map(|value| (exact(10.0), exact(*value))).collect();
        (metric, Comparison::paired(&pairs, metric.better()).expect("pairs of a metric"))
    }
    fn headline(all: &[Compared]) -> String {
        Tally::of("new", "old", all.to_vec()).headline()
    }

    #[test]
    fn what_became_worse_is_named_first() {
        let all = [
            against(Metric::FctMean, &[7.0; 2]),
            against(Metric::FctP99, &[40.0; 2]),
            against(Metric::Drops, &[10.0; 2]),
        ];
        let expected = "new is worse than old on 1 of 3 metrics (FCT 99th 4.0 times as high), and better on 1 \
                        (FCT mean 30.0 % lower).";
        assert_eq!(headline(&all), expected);
        assert!(headline(&all[2..]).contains("no significant difference"));
        assert!(headline(&[]).contains("nothing to compare"));
        let many = [Metric::FctMean, Metric::FctP50, Metric::FctP99, Metric::FctMax, Metric::Drops]
            .map(|metric| against(metric, &[40.0; 2]));
        assert!(headline(&many).ends_with("FCT 99th 4.0 times as high; 2 more."));
    }

    #[test]
    fn one_seed_is_no_verdict() {
        let all = [
            against(Metric::Drops, &[10.0]),
            against(Metric::FctMean, &[7.0]),
            against(Metric::FctP99, &[40.0]),
        ];
        let found = headline(&all);
        let expected = "may be chance: FCT mean 30.0 % lower; FCT 99th 4.0 times as high.";
        assert!(found.ends_with(expected), "{found}");
        assert!(headline(&all[..1]).contains("do not differ on 1 metric,"));
    }

    /// The headline, the terminal, the page and `summary.json` count the same.
    #[test]
    fn every_place_counts_the_same_metrics() {
        let set = RunSet::example(3);
        let summary = Summary::of(&set);
        let shown = summary.shown(&set);
        let text = crate::output::summary_json::text("id", &set, &summary);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys: Vec<&str> = shown.iter().map(|metric| metric.key()).collect();
        assert_eq!(json["shown"], serde_json::json!(keys));
        for tally in tallies(&summary, &shown) {
            let scheme = &json["schemes"][&tally.scheme];
            let count = |verdict: Verdict| {
                let metrics = scheme["metrics"].as_object().unwrap().values();
                metrics.filter(|m| m["against_baseline"]["verdict"] == verdict.text()).count()
            };
            for verdict in [Verdict::Worse, Verdict::Better, Verdict::Open] {
                assert_eq!(tally.those(verdict).len(), count(verdict), "{verdict:?}");
            }
            assert_eq!(scheme["headline"], tally.headline());
        }
    }
}
