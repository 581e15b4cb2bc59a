//! How many flows the workloads of a run have, and how many of them a sample keeps.

use slotline_base::error::{SpecError, SpecErrorKind};

/// The most flows one run may have: about 4 GB of traffic description.
pub const MAX_FLOWS: u64 = 1 << 26;

/// The number of flows of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// The flows that were made.
    pub made: u64,
    /// The flows that a run has, as far as is known before it.
    pub all: u64,
}

/// Counts the flows of workloads. In a sample it also ends a workload that has made enough.
///
/// `flows` is the number of all flows that were made so far, those of earlier workloads included.
#[derive(Clone, Debug, Default)]
pub(super) struct Sampling {
    /// The largest number of flows that are kept of each workload, if there is a limit.
    most: Option<u64>,
    /// The largest number of flows that are made of a workload whose flows are all drawn in the same way, if there is a limit.
    most_drawn: Option<u64>,
    /// The first flow of the current workload.
    first: u64,
    /// The number of flows that the current workload has announced, plus all earlier flows.
    announced: u64,
    /// Whether flows of the current workload were left out.
    full: bool,
    /// Whether these are drawn in the same way as those that were made.
    drawn: bool,
    /// Whether other flows of a workload that has ended were left out.
    lacks: bool,
    counts: Vec<Count>,
    /// The counts of all workloads, if they are known from an earlier sample.
    known: Option<Vec<Count>>,
}

impl Sampling {
    /// Keeps the first `most` flows of each workload.
    pub(super) fn of(most: u64) -> Sampling {
        Sampling { most: Some(most), ..Sampling::default() }
    }

    /// Makes at most `most` flows of a workload whose flows are all drawn in the same way.
    pub(super) fn drawing(self, most: u64) -> Sampling {
        Sampling { most_drawn: Some(most), ..self }
    }

    /// The number of flows to make of a workload whose flows are all drawn in the same way, if a run has at most `most`, and
    /// `expected` on average.
    pub(super) fn drawn(&mut self, most: u64, expected: u64) -> u64 {
        // Where a run may have as few, all are made, so that their number is known.
        let few = self.most_drawn.filter(|few| expected / 2 > *few);
        self.drawn = few.is_some();
        few.unwrap_or(most)
    }

    /// Takes the number of all flows from an earlier sample of the same traffic.
    pub(super) fn with_known(self, known: &[Count]) -> Sampling {
        Sampling { known: Some(known.to_vec()), ..self }
    }

    /// Whether the rest of the current workload need not be counted.
    pub(super) fn is_complete(&self) -> bool {
        self.full && self.known.is_some()
    }

    /// The number of flows of each workload that has ended, by its number.
    pub(super) fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// Whether flows of the current workload were left out.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether no flow of any workload was left out, unless it is drawn in the same way as those that were made.
    pub(super) fn is_whole(&self) -> bool {
        !self.lacks
    }

    /// Begins another workload.
    pub(super) fn begin(&mut self, flows: u64) {
        (self.first, self.announced, self.full, self.drawn) = (flows, 0, false, false);
    }

    /// Ends workload `group`, whose generator returned `made`. A full sample is not an error.
    pub(super) fn end(
        &mut self,
        group: u16,
        flows: u64,
        made: Result<(), SpecError>,
    ) -> Result<(), SpecError> {
        made.or_else(|error| match error.kind {
            SpecErrorKind::SampleFull => Ok(()),
            _ => Err(error),
        })?;
        let made = flows - self.first;
        let announced = self.announced.saturating_sub(self.first);
        let known = self.known.as_ref().and_then(|known| known.get(usize::from(group)));
        let all = match known {
            _ if !self.full => made,
            Some(known) => known.all.max(made),
            None => announced.max(made),
        };
        let groups = self.counts.len().max(usize::from(group) + 1);
        self.counts.resize(groups, Count::default());
        self.counts[usize::from(group)] = Count { made, all };
        self.lacks |= made != all && !self.drawn;
        Ok(())
    }

    /// Checks that there is room for one more flow.
    ///
    /// # Errors
    /// The sample or the run already has all the flows that it may have.
    pub(super) fn admit(&mut self, flows: u64) -> Result<(), SpecError> {
        if self.most.is_some_and(|most| flows - self.first >= most) {
            self.full = true;
            let why = "the sample has all the flows that it may have";
            return Err(SpecError::new("workload", why).of_kind(SpecErrorKind::SampleFull));
        }
        self.check_room("workload", flows, 1)
    }

    /// Counts a flow that is left out.
    pub(super) fn count_one(&mut self, key: &str, flows: u64) -> Result<(), SpecError> {
        let left_out = self.announced - flows.min(self.announced);
        self.check_room(key, flows, left_out + 1)
    }

    /// Announces `more` flows.
    ///
    /// # Errors
    /// The run would have more flows than it may have.
    pub(super) fn check_room(&mut self, key: &str, flows: u64, more: u64) -> Result<(), SpecError> {
        let left_out: u64 = self.counts.iter().map(|count| count.all - count.made).sum();
        let total = more.saturating_add(flows + left_out);
        self.announced = self.announced.max(flows.saturating_add(more));
        if total <= MAX_FLOWS {
            return Ok(());
        }
        let why = format!("{total} flows in one run: at most {MAX_FLOWS} are possible");
        Err(SpecError::new(key, why))
    }

    /// The number of `more` flows of a workload that are kept.
    pub(super) fn kept(&self, more: u64) -> u64 {
        self.most.map_or(more, |most| more.min(most))
    }

    /// The number of flows to make for a sequence of `flows`, if all sequences together have `all`. Each sequence gets
    /// its share of the sample.
    pub(super) fn thinned(&self, flows: u64, all: u64) -> u64 {
        match self.most {
            Some(most) if all > most => {
                let share = u128::from(flows) * u128::from(most) / u128::from(all);
                (share as u64).clamp(1, flows.max(1))
            }
            _ => flows,
        }
    }

    /// Ends a workload that may have fewer flows than it has announced.
    pub(super) fn end_thinned(&mut self, flows: u64) {
        self.full = self.announced > flows;
    }
}
