//! Central schedulers that are written in Python.

use crate::compiled::Compiled;
use crate::errors::wrong;
use crate::plan::{NetworkView, Plan};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use slotline_net::custom::Options;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::{Control, Decision, Network, News};
use slotline_net::time::Time;
use slotline_scenario::Extensions;
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of the Python parts of a run. It ends the run, and is raised again there.
#[derive(Default)]
pub struct Faults(Mutex<Option<PyErr>>);

impl Faults {
    /// Keeps `error`, if it is the first.
    pub fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
    /// The exception, if there was one.
    pub fn raise(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// What a part of a program is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A central scheduler.
    Control,
    /// Congestion control.
    Congestion,
    /// A circuit scheduler.
    Circuits,
}

impl Kind {
    /// The kind with this name.
    pub fn named(name: &str) -> PyResult<Kind> {
        match name {
            "control" => Ok(Kind::Control),
            "congestion" => Ok(Kind::Congestion),
            "circuits" => Ok(Kind::Circuits),
            _ => Err(wrong(format!("no part of a program is a `{name}`"))),
        }
    }
}

/// The parts in `parts`, which has a class or a compiled function for each name.
pub fn extensions(parts: &Bound<'_, PyDict>, faults: &Arc<Faults>) -> PyResult<Extensions> {
    let mut extensions = Extensions::new();
    for (name, part) in parts {
        let (name, faults): (String, _) = (name.extract()?, Arc::clone(faults));
        let compiled = Compiled::of(&part)?.map(Arc::new);
        extensions = match compiled {
            None => {
                let class = Arc::new(part.unbind());
                let maker = move |options: &Options| {
                    maker(Arc::clone(&class), options, Arc::clone(&faults))
                };
                extensions.control(&name, maker)
            }
            Some(part) => with_compiled(extensions, &name, part, faults),
        };
    }
    Ok(extensions)
}

fn with_compiled(
    extensions: Extensions,
    name: &str,
    part: Arc<Compiled>,
    faults: Arc<Faults>,
) -> Extensions {
    match part.kind {
        Kind::Control => {
            extensions.control(name, move |options| part.scheduler(options, Arc::clone(&faults)))
        }
        Kind::Congestion => {
            extensions.transport(name, move |options| part.congestion(options, Arc::clone(&faults)))
        }
        Kind::Circuits => {
            extensions.circuits(name, move |options| part.circuits(options, Arc::clone(&faults)))
        }
    }
}

/// A function that makes a scheduler for a network.
fn maker(
    class: Arc<Py<PyAny>>,
    options: &Options,
    faults: Arc<Faults>,
) -> Result<impl Fn(Network) -> PythonControl + Send + Sync + use<>, SpecError> {
    let options: serde_json::Value = options.read()?;
    let options = options.to_string();
    Ok(move |network| {
        let methods = Python::attach(|py| Methods::of(py, &class, &options, network));
        let methods = methods.map_err(|error| faults.note(error)).ok();
        PythonControl { methods, faults: Arc::clone(&faults) }
    })
}

/// A scheduler whose methods are called for each event.
struct PythonControl {
    /// `None` after an exception: the run ends soon, and nothing more is called.
    methods: Option<Methods>,
    faults: Arc<Faults>,
}

/// The methods of an object, which it may lack except for `decide`.
struct Methods {
    joined: Option<Py<PyAny>>,
    left: Option<Py<PyAny>>,
    backlog: Option<Py<PyAny>>,
    load: Option<Py<PyAny>>,
    released: Option<Py<PyAny>>,
    rewired: Option<Py<PyAny>>,
    decide: Py<PyAny>,
    plan: Py<Plan>,
}

impl Methods {
    /// The methods of a new object of `class`.
    fn of(py: Python<'_>, class: &Py<PyAny>, options: &str, network: Network) -> PyResult<Methods> {
        let options = py.import("json")?.call_method1("loads", (options,))?;
        let arguments = PyDict::new(py);
        for (key, value) in options.cast::<PyDict>()? {
            let key: String = key.extract()?;
            arguments.set_item(PyString::new(py, &key.replace('-', "_")), value)?;
        }
        let object = class.bind(py).call((NetworkView(network),), Some(&arguments))?;
        let method = |name: &str| object.getattr_opt(name).map(|it| it.map(Bound::unbind));
        Ok(Methods {
            joined: method("joined")?,
            left: method("left")?,
            backlog: method("backlog")?,
            load: method("load")?,
            released: method("released")?,
            rewired: method("rewired")?,
            decide: object.getattr("decide")?.unbind(),
            plan: Py::new(py, Plan::default())?,
        })
    }

    fn observe(&self, py: Python<'_>, news: &News<'_>, now: u64) -> PyResult<()> {
        let (method, host) =
            (|it: &Option<Py<PyAny>>| it.as_ref().map(|it| it.bind(py).clone()), news.host().0);
        let numbers = |hosts: &[HostId]| hosts.iter().map(|host| host.0).collect::<Vec<u32>>();
        let called = match *news {
            News::Joined(_) => method(&self.joined).map(|call| call.call1((now, host))),
            News::Left(_) => method(&self.left).map(|call| call.call1((now, host))),
            News::Backlog { destinations, flows, .. } => {
                let flows =
                    if flows.is_empty() { vec![1; destinations.len()] } else { flows.to_vec() };
                method(&self.backlog)
                    .map(|call| call.call1((now, host, numbers(destinations), flows)))
            }
            News::Load { span, loads, .. } => {
                let loads: Vec<(u32, u64)> =
                    loads.iter().map(|(dst, bytes)| (dst.0, *bytes)).collect();
                method(&self.load).map(|call| call.call1((now, host, span.as_ps(), loads)))
            }
            News::Released { dst, .. } => {
                method(&self.released).map(|call| call.call1((now, host, dst.0)))
            }
            // Edge switches report flows to Hedera's scheduler only.
            News::Flows { .. } => None,
        };
        called.transpose().map(drop)
    }

    fn decide(&self, py: Python<'_>, now: u64, out: &mut Vec<Decision>) -> PyResult<Option<Time>> {
        let next: Option<u64> = self.decide.call1(py, (now, &self.plan))?.extract(py)?;
        self.plan.get().drain(out);
        // The next call is later than this one.
        Ok(next.map(|next| Time::ps(next.max(now + 1))))
    }
}

impl PythonControl {
    /// Calls the object. After an exception it is not called again.
    fn call<T>(&mut self, act: impl FnOnce(Python<'_>, &Methods) -> PyResult<T>) -> Option<T> {
        let methods = self.methods.as_ref()?;
        let called = Python::attach(|py| act(py, methods));
        called.map_err(|error| self.faults.note(error)).inspect_err(|()| self.methods = None).ok()
    }
}

impl Control for PythonControl {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        self.call(|py, methods| methods.observe(py, news, now.as_ps()));
    }
    fn decide(&mut self, now: Time, plan: &mut Vec<Decision>) -> Option<Time> {
        self.call(|py, methods| methods.decide(py, now.as_ps(), plan)).flatten()
    }
    fn rewire(&mut self, network: &Network, now: Time) {
        let network = network.clone();
        self.call(|py, methods| match &methods.rewired {
            Some(call) => call.call1(py, (now.as_ps(), NetworkView(network))).map(drop),
            None => Ok(()),
        });
    }
}
