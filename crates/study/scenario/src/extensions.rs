//! Parts of the calling program that a scenario may name with `kind = "custom"`.

use crate::spec::{Scenario, SchemeSpec};
use slotline_circuits::{CircuitTiming, Planner, Scheduler};
use slotline_hybrid::control::MakePlanner;
use slotline_net::aqm::spec::{Policy, QueueSpec};
use slotline_net::aqm::{QueuePart, Settings};
use slotline_net::custom::{Named, Options};
use slotline_net::error::SpecError;
use slotline_net::scheme::system::{MakeControl, System};
use slotline_net::scheme::{Control, Network};
use slotline_net::transport::congestion::{Congestion, MakeCongestion};
use slotline_net::workload::{Generate, WorkloadSpec};
use slotline_schemes::{ControlSpec, Supplied};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, OnceLock};

/// The page that shows how a program supplies parts.
const HOW_TO: &str = "docs/how-to/bring-your-own.md";

/// Reads the options of a part, and returns the part.
type Read<T> = Arc<dyn Fn(&Options) -> Result<Arc<T>, SpecError> + Send + Sync>;
/// The parts of one kind, by name.
type Parts<T> = BTreeMap<String, Read<T>>;

/// Parts of the calling program by name. A scenario can name them with `kind = "custom"`.
///
/// Each part has a factory. The factory gets the options of the scenario, checks them, and returns the part, or an
/// error with the key of the wrong option. [`Options::read`] reads options into a type of the program.
#[derive(Clone, Default)]
pub struct Extensions {
    controls: Parts<Supplied>,
    queues: Parts<dyn QueuePart>,
    transports: Parts<MakeCongestion>,
    circuits: Parts<MakePlanner>,
    workloads: Parts<dyn Generate + Send + Sync>,
}

static PROVIDED: OnceLock<Extensions> = OnceLock::new();

/// Makes `parts` available to all scenarios of this process. A plug-in calls this before anything else. Only the first
/// call has an effect.
pub fn provide(parts: Extensions) {
    drop(PROVIDED.set(parts));
}

impl Debug for Extensions {
    /// The names of the parts.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions")
            .field("controls", &self.controls.keys())
            .field("queues", &self.queues.keys())
            .field("transports", &self.transports.keys())
            .field("circuits", &self.circuits.keys())
            .field("workloads", &self.workloads.keys())
            .finish()
    }
}

impl Extensions {
    /// The parts that [`provide`] has made available to all scenarios of this process, which are none in Slotline's own
    /// programs.
    pub fn new() -> Extensions {
        PROVIDED.get().cloned().unwrap_or_default()
    }

    /// Adds a central scheduler. XCo's controller and coordinators carry out its decisions. The factory returns a
    /// function that makes a new scheduler for a network.
    pub fn control<C, M>(
        mut self,
        name: &str,
        factory: impl Fn(&Options) -> Result<M, SpecError> + Send + Sync + 'static,
    ) -> Extensions
    where
        C: Control + 'static,
        M: Fn(Network) -> C + Send + Sync + 'static,
    {
        let read = move |options: &Options| {
            factory(options).map(|make| Arc::new(Supplied::Scheduler(MakeControl::new(make))))
        };
        self.controls.insert(name.into(), Arc::new(read));
        self
    }

    /// Adds a whole scheme, with its own stations and its own agents in the hosts. The factory is called for each
    /// run.
    pub fn system<S: System + 'static>(
        mut self,
        name: &str,
        factory: impl Fn(&Options) -> Result<S, SpecError> + Send + Sync + 'static,
    ) -> Extensions {
        let factory = Arc::new(factory);
        let read = move |options: &Options| {
            let (factory, options) = (Arc::clone(&factory), options.clone());
            let make = move || factory(&options).map(|it| Box::new(it) as Box<dyn System>);
            make().map(|_| Arc::new(Supplied::System(Box::new(make))))
        };
        self.controls.insert(name.into(), Arc::new(read));
        self
    }

    /// Adds a queue policy. The factory returns its settings.
    pub fn queue<S>(
        mut self,
        name: &str,
        factory: impl Fn(&Options) -> Result<S, SpecError> + Send + Sync + 'static,
    ) -> Extensions
    where
        S: Settings + Send + Sync + 'static,
        S::Discipline: Clone + Debug + Send + 'static,
    {
        let read = move |options: &Options| {
            factory(options).map(|settings| Arc::new(settings) as Arc<dyn QueuePart>)
        };
        self.queues.insert(name.into(), Arc::new(read));
        self
    }

    /// Adds a congestion control algorithm. The factory returns a function that makes the state of a connection for an
    /// initial window in segments.
    pub fn transport<C, M>(
        mut self,
        name: &str,
        factory: impl Fn(&Options) -> Result<M, SpecError> + Send + Sync + 'static,
    ) -> Extensions
    where
        C: Congestion + Clone + Debug + Send + 'static,
        M: Fn(u32) -> C + Send + Sync + 'static,
    {
        let read = move |options: &Options| {
            let make = factory(options)?;
            let make: Arc<MakeCongestion> = Arc::new(move |window| Box::new(make(window)));
            Ok(make)
        };
        self.transports.insert(name.into(), Arc::new(read));
        self
    }

    /// Adds a circuit scheduler for fabrics of kind `hybrid`. The factory returns a function that makes a new scheduler
    /// for a number of racks.
    pub fn circuits<S, M>(
        mut self,
        name: &str,
        factory: impl Fn(&Options) -> Result<M, SpecError> + Send + Sync + 'static,
    ) -> Extensions
    where
        S: Scheduler + Send + 'static,
        M: Fn(usize, CircuitTiming) -> S + Send + Sync + 'static,
    {
        let read = move |options: &Options| {
            let make = factory(options)?;
            let planner = move |racks, timing| Planner::PerSwitch(Box::new(make(racks, timing)));
            Ok(Arc::new(planner) as Arc<MakePlanner>)
        };
        self.circuits.insert(name.into(), Arc::new(read));
        self
    }

    /// Adds a workload. The factory returns its generator.
    pub fn workload<G: Generate + Send + Sync + 'static>(
        mut self,
        name: &str,
        factory: impl Fn(&Options) -> Result<G, SpecError> + Send + Sync + 'static,
    ) -> Extensions {
        let read = move |options: &Options| {
            factory(options).map(|it| Arc::new(it) as Arc<dyn Generate + Send + Sync>)
        };
        self.workloads.insert(name.into(), Arc::new(read));
        self
    }

    /// Adds the part to each name in `scenario`. Errors have the full path of their key.
    pub(crate) fn supply(&self, scenario: &mut Scenario) -> Vec<SpecError> {
        let mut faults = vec![];
        for (at, workload) in scenario.workload.iter_mut().enumerate() {
            if let WorkloadSpec::Custom(it) = workload {
                let supplied = find(&self.workloads, "workload", &mut it.name, &it.options);
                faults.extend(supplied.err().map(|e| e.within(format_args!("workload[{at}]"))));
            }
        }
        for (at, scheme) in scenario.scheme.iter_mut().enumerate() {
            let own = self.supply_scheme(scheme).into_iter();
            faults.extend(own.map(|e| e.within(format_args!("scheme[{at}]"))));
        }
        faults
    }

    fn supply_scheme(&self, scheme: &mut SchemeSpec) -> Vec<SpecError> {
        let bump = scheme.bump.as_mut().map(|bump| self.supply_queue(&mut bump.queue));
        let transport = &mut scheme.transport;
        let transport = transport.name.as_mut().map_or(Ok(()), |name| {
            find(&self.transports, "congestion control", name, &transport.options)
        });
        let supplied = [
            ("queue", self.supply_queue(&mut scheme.queue)),
            ("bump.queue", bump.unwrap_or(Ok(()))),
            ("transport", transport),
            ("control", self.supply_control(&mut scheme.control)),
        ];
        let fault = |(table, result): (&str, Result<(), SpecError>)| {
            result.err().map(|error| error.within(table))
        };
        supplied.into_iter().filter_map(fault).collect()
    }

    fn supply_queue(&self, queue: &mut QueueSpec) -> Result<(), SpecError> {
        let Policy::Custom(it) = &mut queue.policy else { return Ok(()) };
        find(&self.queues, "queue policy", &mut it.name, &it.options)
    }

    fn supply_control(&self, control: &mut ControlSpec) -> Result<(), SpecError> {
        match control {
            ControlSpec::Custom(it) => {
                find(&self.controls, "central scheduler", &mut it.name, &it.options)
            }
            ControlSpec::Circuits(circuits) => match &mut circuits.custom {
                Some(it) => find(&self.circuits, "circuit scheduler", &mut it.name, &it.options)
                    .map_err(|e| e.within("custom")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Adds the part to its name. `what` describes its kind in messages.
fn find<T: ?Sized>(
    parts: &Parts<T>,
    what: &str,
    name: &mut Named<T>,
    options: &Options,
) -> Result<(), SpecError> {
    let read = parts.get(name.name()).ok_or_else(|| unknown(parts, what, name.name()))?;
    let part = read(options).map_err(|error| match error.key.as_str() {
        "options" => error,
        _ => error.within("options"),
    })?;
    name.supply(part);
    Ok(())
}

fn unknown<T: ?Sized>(parts: &Parts<T>, what: &str, name: &str) -> SpecError {
    let known: Vec<String> = parts.keys().map(|known| format!("\"{known}\"")).collect();
    let there = match known.is_empty() {
        true => format!("needs a program that supplies it: see {HOW_TO}"),
        false => format!("is not there; this program supplies {}", known.join(", ")),
    };
    SpecError::new("name", format!("the {what} `name` = \"{name}\" {there}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "name = 'a'\nend = { at = '1ms' }\nfabric = { kind = 'star', hosts = 4 }\n\
        workload = [{ kind = 'ring' }]\n[[scheme]]\nname = 's'\n\
        transport = { kind = 'custom', name = 'reno', options = { a = 1 } }\n";

    fn refusal(extensions: &Extensions) -> String {
        let loaded = Scenario::parse_with(Path::new("a.toml"), TEXT.into(), extensions);
        loaded.map(drop).expect_err("refused").to_string()
    }

    fn with(name: &str, wrong: bool) -> Extensions {
        use slotline_net::transport::congestion::Reno;
        Extensions::new().transport(name, move |_| match wrong {
            true => Err(SpecError::new("a", "`a` is too small")),
            false => Ok(Reno::new),
        })
    }

    #[test]
    fn a_name_is_found_among_those_of_the_program() {
        assert!(refusal(&Extensions::new()).contains(HOW_TO), "{}", refusal(&Extensions::new()));
        assert!(refusal(&with("cubic", false)).contains("this program supplies \"cubic\""));
        assert!(refusal(&with("reno", true)).contains("`a` is too small"));
        let path = Path::new("a.toml");
        let loaded = Scenario::parse_with(path, TEXT.into(), &with("reno", false));
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        let resolved = loaded.resolved();
        assert!(resolved.contains("name = \"reno\""), "{resolved}");
        let again = Scenario::parse_with(path, resolved, &with("reno", false));
        assert_eq!(again.map(|again| again.scenario).ok(), Some(loaded.scenario));
    }
}
