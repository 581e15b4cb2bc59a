//! Connection matrices of htsim as traces. Without triggers a matrix is read line by line, as other lists of flows are;
//! with triggers all its flows are in memory.

use super::cm::{Begin, CmFlow, Item, Matrix, Priorities, Reader};
use super::cm_traffic::{self, Classes, Fault};
use super::job::Job;
use super::rows::Entry;
use super::text::LineError;
use super::trace::Trace;
use slotline_base::error::SpecError;
use slotline_base::time::Time;
use std::collections::BTreeMap;

/// The largest number of flows of a matrix with triggers.
const MOST: u64 = 1 << 23;

fn too_many() -> String {
    format!("more than {MOST} flows: a matrix with triggers has at most that many")
}

/// What is observed while a matrix is read.
#[derive(Default)]
struct Seen {
    flows: u64,
    starts: bool,
    priorities: bool,
    /// The first flow that names a trigger, in a matrix without triggers.
    triggered: Option<CmFlow>,
}

impl Trace {
    /// Adds the flows of a connection matrix.
    pub(super) fn matrix(&self, job: &mut Job) -> Result<(), SpecError> {
        let classes = if self.priorities { self.priority_classes(job)? } else { BTreeMap::new() };
        let (mut seen, mut matrix) = (Seen::default(), Matrix::default());
        let reader = self.each_item(job, |reader, item, job| {
            fits(reader, job)?;
            let Item::Flow(flow) = item else { return other(item, &mut matrix) };
            seen.add(&flow);
            if reader.has_triggers() {
                return if seen.flows <= MOST { matrix.add(item) } else { Err(too_many()) };
            }
            let CmFlow { src, dst, bytes, prio, begin: Begin::At(start), .. } = flow else {
                return Ok(());
            };
            let class = prio.and_then(|prio| classes.get(&prio).copied());
            let entry = Entry { src, dst, bytes, start, class };
            self.row(&entry, job).map_err(|error| error.message)
        })?;
        let Some(reader) = reader else { return Ok(()) };
        reader.end().map_err(|error| self.wrong(error))?;
        fits(&reader, job).map_err(|why| self.wrong(why))?;
        if seen.flows == 0 {
            return Err(self.wrong("the trace has no flows"));
        }
        self.note_assumptions(&seen, job);
        if !reader.has_triggers() {
            return seen.check_triggers().map_err(|error| self.wrong(error));
        }
        matrix.check_references().map_err(|error| self.wrong(error))?;
        job.out.check_room("file", seen.flows)?;
        let by_priority = self.priorities.then_some(&classes);
        let classes = Classes { default: self.class, by_priority };
        cm_traffic::generate(&matrix, classes, self.start, job).map_err(|fault| match fault {
            Fault::Line(error) => self.wrong(error),
            Fault::Spec(error) => error,
        })
    }

    /// Reads the file and calls `each` for every line below the header. The reader is none if a sample is complete.
    fn each_item(
        &self,
        job: &mut Job,
        mut each: impl FnMut(&Reader, Item, &mut Job) -> Result<(), String>,
    ) -> Result<Option<Reader>, SpecError> {
        let mut reader = Reader::new(self.time_unit.unwrap_or_default());
        let whole = self.each_line(job, |number, line, job| {
            let Some(item) = reader.line(number, line)? else { return Ok(()) };
            each(&reader, item, job)
        })?;
        Ok(whole.then_some(reader))
    }

    /// The class of each priority in the file.
    fn priority_classes(&self, job: &mut Job) -> Result<BTreeMap<u32, u8>, SpecError> {
        let mut found = Priorities::default();
        self.each_item(job, |_, item, _| match item {
            Item::Flow(CmFlow { prio: Some(prio), .. }) => found.add(prio),
            _ => Ok(()),
        })?;
        Ok(found.classes())
    }

    fn note_assumptions(&self, seen: &Seen, job: &mut Job) {
        if seen.starts && self.time_unit.is_none() {
            job.out.note(format!(
                "{}: `start` is read as picoseconds; for microseconds, set time-unit = \"us\"",
                self.file
            ));
        }
        if seen.priorities && !self.priorities {
            job.out.note(format!(
                "{}: `prio` is not used; priorities = true turns it into classes",
                self.file
            ));
        }
    }
}

impl Seen {
    fn add(&mut self, flow: &CmFlow) {
        self.flows += 1;
        self.starts |= flow.begin != Begin::At(Time::ZERO);
        self.priorities |= flow.prio.is_some();
        if self.triggered.is_none() && flow.triggers().next().is_some() {
            self.triggered = Some(*flow);
        }
    }

    /// Refuses flows that name triggers, in a matrix without triggers.
    fn check_triggers(&self) -> Result<(), LineError> {
        self.triggered.map_or(Ok(()), |flow| flow.check_triggers(|_| false))
    }
}

/// Checks that the fabric has all hosts of the matrix.
fn fits(reader: &Reader, job: &Job) -> Result<(), String> {
    let (nodes, hosts) = (reader.nodes(), job.setting.fabric.hosts.len());
    if nodes as usize <= hosts {
        Ok(())
    } else {
        Err(format!("{nodes} nodes: the fabric has {hosts} hosts"))
    }
}

/// Adds a line that is no flow.
fn other(item: Item, matrix: &mut Matrix) -> Result<(), String> {
    match item {
        Item::Failure(_) => Err(
            "failures are not traffic; `slotline import htsim-cm` turns them into `event` tables"
                .into(),
        ),
        _ => matrix.add(item),
    }
}
