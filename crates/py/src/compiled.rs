//! Parts that numba has compiled from functions in Python. Runs call them without Python's lock.

use crate::compiled_circuits::Days;
use crate::control::{Faults, Kind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use slotline_circuits::CircuitTiming;
use slotline_native::Function;
use slotline_net::custom::Options;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::{Control, Decision, Network, News};
use slotline_net::time::Time;
use slotline_net::transport::congestion::{Ack, Congestion, Loss};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A compiled part, as `slotline.compiled` describes it.
pub struct Compiled {
    function: Function,
    /// Calls the same function in Python, which raises the exception that the compiled one noticed.
    again: Py<PyAny>,
    /// Interval between two calls of a scheduler, in picoseconds.
    every: u64,
    /// The size of its memory.
    memory: usize,
    /// The names of its options, in the order in which it gets them.
    options: Vec<String>,
    pub kind: Kind,
}

impl Compiled {
    /// The part that `object` describes; `None` if it is something else.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Compiled>> {
        let Some(address) = object.getattr_opt("__slotline_address__")? else { return Ok(None) };
        let address: Option<NonZeroUsize> = NonZeroUsize::new(address.call0()?.extract()?);
        let address = address.ok_or_else(|| PyRuntimeError::new_err("no address"))?;
        Ok(Some(Compiled {
            function: Function::vouched(address),
            again: object.getattr("again")?.unbind(),
            every: object.getattr("every_ps")?.extract::<u64>()?.max(1),
            memory: object.getattr("memory")?.extract()?,
            options: object.getattr("options")?.extract()?,
            kind: Kind::named(&object.getattr("kind")?.extract::<String>()?)?,
        }))
    }

    /// The memory at the start: the options, then zeros.
    fn memory(&self, options: &Options) -> Result<Vec<f64>, SpecError> {
        let given: std::collections::BTreeMap<String, f64> = options.read()?;
        let own = |name: &String| name.replace('_', "-");
        if let Some(unknown) =
            given.keys().find(|key| !self.options.iter().any(|it| own(it) == **key))
        {
            let known: Vec<String> = self.options.iter().map(own).collect();
            let why = format!("unknown option `{unknown}`: its options are {}", known.join(", "));
            return Err(SpecError::new("options", why));
        }
        let value = |name: &String| {
            let missing = || SpecError::new("options", format!("`{}` is missing", own(name)));
            given.get(&own(name)).copied().ok_or_else(missing)
        };
        let mut memory: Vec<f64> = self.options.iter().map(value).collect::<Result<_, _>>()?;
        memory.resize(self.options.len() + self.memory, 0.0);
        Ok(memory)
    }

    /// A function that makes a scheduler for a network.
    pub fn scheduler(
        self: &Arc<Compiled>,
        options: &Options,
        faults: Arc<Faults>,
    ) -> Result<impl Fn(Network) -> Epochs + Send + Sync + use<>, SpecError> {
        let (part, memory) = (Arc::clone(self), self.memory(options)?);
        Ok(move |network: Network| {
            let call = Call::new(&part, memory.clone(), Arc::clone(&faults));
            Epochs::new(call, network.hosts(), Time::ps(part.every))
        })
    }

    /// A function that makes a circuit scheduler.
    pub fn circuits(
        self: &Arc<Compiled>,
        options: &Options,
        faults: Arc<Faults>,
    ) -> Result<impl Fn(usize, CircuitTiming) -> Days + Send + Sync + use<>, SpecError> {
        let (part, memory) = (Arc::clone(self), self.memory(options)?);
        Ok(move |racks: usize, timing: CircuitTiming| {
            Days::new(Call::new(&part, memory.clone(), Arc::clone(&faults)), racks, timing)
        })
    }

    /// A function that makes the state of a connection.
    pub fn congestion(
        self: &Arc<Compiled>,
        options: &Options,
        faults: Arc<Faults>,
    ) -> Result<impl Fn(u32) -> Window + Send + Sync + use<>, SpecError> {
        let (part, memory) = (Arc::clone(self), self.memory(options)?);
        Ok(move |initial: u32| {
            let mut call = Call::new(&part, memory.clone(), Arc::clone(&faults));
            call.output = vec![i64::from(initial)];
            let mut window = Window { call };
            window.report(Event { kind: 0, initial, ..Event::default() });
            window
        })
    }
}

/// A function with its arrays.
#[derive(Clone)]
pub struct Call {
    part: Arc<Compiled>,
    pub input: Vec<i64>,
    pub output: Vec<i64>,
    memory: Vec<f64>,
    /// The arrays before the call, to repeat it in Python.
    before: (Vec<i64>, Vec<f64>),
    faults: Arc<Faults>,
    failed: bool,
}

impl Call {
    fn new(part: &Arc<Compiled>, memory: Vec<f64>, faults: Arc<Faults>) -> Call {
        let (input, output, before) = (Vec::new(), Vec::new(), Default::default());
        Call { part: Arc::clone(part), input, output, memory, before, faults, failed: false }
    }

    /// Calls the function. After an exception it is not called again.
    pub fn make(&mut self) {
        if self.failed {
            return;
        }
        self.before.0.clone_from(&self.output);
        self.before.1.clone_from(&self.memory);
        if !self.part.function.call(&mut self.input, &mut self.output, &mut self.memory) {
            let (output, memory) = &self.before;
            self.output.clone_from(output);
            self.fail(Python::attach(|py| self.raised(py, output, memory)));
        }
    }

    /// Ends the run with this exception.
    pub fn fail(&mut self, error: PyErr) {
        self.failed = true;
        self.faults.note(error);
    }

    /// The exception that the same call raises in Python.
    fn raised(&self, py: Python<'_>, output: &[i64], memory: &[f64]) -> PyErr {
        let called =
            self.part.again.call1(py, (self.input.clone(), output.to_vec(), memory.to_vec()));
        let silent = "the compiled function raised an exception, and the same call in Python none";
        called.err().unwrap_or_else(|| PyRuntimeError::new_err(silent))
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("input", &self.input).field("memory", &self.memory).finish()
    }
}

/// A scheduler that is called once in an epoch, while hosts wait.
pub struct Epochs {
    /// Its input: the time, then for each host and destination the number of flows that wait. Its output: for each host
    /// its destination.
    call: Call,
    hosts: usize,
    every: Time,
    reported: Vec<bool>,
    /// When the present epoch ends.
    until: Time,
    waiting: u64,
}

impl Epochs {
    fn new(mut call: Call, hosts: usize, every: Time) -> Epochs {
        call.input = vec![0; 1 + hosts * hosts];
        call.output = vec![-1; hosts];
        let reported = vec![false; hosts];
        Epochs { call, hosts, every, reported, until: Time::ZERO, waiting: 0 }
    }
    fn set(&mut self, src: HostId, dst: HostId, flows: u32) {
        let cell = &mut self.call.input[1 + src.at() * self.hosts + dst.at()];
        let before = std::mem::replace(cell, flows.into());
        self.waiting = self.waiting + u64::from(flows > 0) - u64::from(before > 0);
    }
    fn clear(&mut self, src: HostId) {
        (0..self.hosts as u32).for_each(|dst| self.set(src, HostId(dst), 0));
    }
    fn decision(&self, host: usize) -> Option<Decision> {
        let waits =
            |dst: &usize| *dst < self.hosts && self.call.input[1 + host * self.hosts + dst] > 0;
        let dst = usize::try_from(self.call.output[host]).ok().filter(waits);
        let decided = dst.is_some() || self.reported[host];
        let (src, dst) = (HostId(host as u32), dst.map(|dst| HostId(dst as u32)));
        decided.then_some(Decision::Window { src, dst, until: self.until, rate: None })
    }
}

impl Control for Epochs {
    fn observe(&mut self, news: &News<'_>, _now: Time) {
        let host = news.host();
        match *news {
            News::Backlog { destinations, flows, .. } => {
                self.reported[host.at()] = true;
                self.clear(host);
                for (at, dst) in destinations.iter().enumerate() {
                    self.set(host, *dst, flows.get(at).copied().unwrap_or(1));
                }
            }
            News::Released { dst, .. } => self.set(host, dst, 0),
            News::Left(_) => self.clear(host),
            _ => {}
        }
    }
    fn decide(&mut self, now: Time, plan: &mut Vec<Decision>) -> Option<Time> {
        if now < self.until {
            return Some(self.until);
        }
        if self.waiting == 0 && !self.reported.contains(&true) {
            return None;
        }
        self.until = now.after(self.every);
        self.call.input[0] = now.as_ps() as i64;
        self.call.output.fill(-1);
        self.call.make();
        plan.extend((0..self.hosts).filter_map(|host| self.decision(host)));
        self.reported.fill(false);
        Some(self.until)
    }
}

/// What happened to a connection.
#[derive(Default)]
struct Event {
    /// 0: it begins; 1: an acknowledgement; 2: a fast retransmission; 3: a time-out; 4: it was idle.
    kind: i64,
    now: Time,
    ack: Option<Ack>,
    flight: u32,
    initial: u32,
}

/// Congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its output is the window.
    call: Call,
}

impl Window {
    fn report(&mut self, event: Event) {
        let Event { kind, now, ack, flight, initial } = event;
        let of = |get: fn(&Ack) -> i64| ack.as_ref().map_or(0, get);
        let ps = |time: Option<Time>| time.map_or(-1, |time| time.as_ps() as i64);
        self.call.input.clear();
        self.call.input.extend([
            kind,
            now.as_ps() as i64,
            of(|ack| ack.acked.into()),
            of(|ack| ack.una.into()),
            of(|ack| ack.nxt.into()),
            of(|ack| ack.echo.into()),
            ps(ack.and_then(|ack| ack.rtt)),
            ps(ack.map(|ack| ack.srtt)),
            of(|ack| ack.limited.into()),
            of(|ack| ack.recovering.into()),
            flight.into(),
            initial.into(),
        ]);
        self.call.make();
    }
}

impl Congestion for Window {
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        self.report(Event { kind: 1, now, ack: Some(*ack), ..Event::default() });
    }
    fn on_loss(&mut self, loss: Loss, now: Time) {
        let (kind, flight) = match loss {
            Loss::Fast { flight } => (2, flight),
            Loss::Timeout { flight } => (3, flight),
        };
        self.report(Event { kind, now, flight, ..Event::default() });
    }
    fn restart(&mut self, initial: u32) {
        self.report(Event { kind: 4, initial, ..Event::default() });
    }
    fn window(&self) -> u32 {
        self.call.output[0].clamp(1, 1 << 20) as u32
    }
}
