//! One run that pauses, and to which a program adds flows.

use crate::build::{self, Assembly};
use crate::collect::Scene;
use crate::record::RunRecord;
use crate::run::options;
use crate::usage;
use slotline_net::error::SpecError;
use slotline_net::id::{FlowId, HostId, NodeId};
use slotline_net::node::host::{LateFlow, Plan};
use slotline_net::time::Time;
use slotline_net::topology::Graph;
use slotline_net::workload::{in_order, workload_key};
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use slotline_sim::Watch;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The kind of the workload that the added flows make in the scenario of the result.
const KIND: &str = "trace";

/// A flow that a program adds.
#[derive(Clone, Debug)]
pub struct NewFlow {
    /// The name of the sending host.
    pub src: String,
    /// The name of the receiving host.
    pub dst: String,
    /// Payload bytes.
    pub bytes: u64,
    /// When it starts; `None` for now.
    pub at: Option<Time>,
    /// The priority class of its packets.
    pub class: u8,
}

/// A run in progress. Its result does not depend on when flows are added, but on their start.
pub struct Session {
    loaded: Loaded,
    scene: Scene,
    plan: Arc<Plan>,
    graph: Graph,
    hosts: HashMap<String, HostId>,
    session: slotline_sim::Session,
    end: Time,
    added: Vec<(LateFlow, FlowId)>,
    /// Added flows that are not complete, by their place in `added`.
    open: Vec<u32>,
    began: Instant,
    cpu_s: f64,
}

fn refused(why: impl Into<String>) -> ScenarioError {
    ScenarioError::Session(why.into())
}

/// Refuses what cannot take flows that are not known before.
fn check(scenario: &Scenario, seed: u64) -> Result<(), ScenarioError> {
    if !scenario.engine.is_packet() || scenario.engine.emulated().is_some() {
        return Err(refused(
            "flows can be added in the packet engine only: use engine = \"packet\"",
        ));
    }
    let system = build::system(scenario, &scenario.scheme[0], seed);
    let takes = system.ok().flatten().is_none_or(|system| system.takes_new_flows());
    takes.then_some(()).ok_or_else(|| {
        let name = &scenario.scheme[0].name;
        refused(format!("no flows can be added under `{name}`: its scheduler knows all connections before the run"))
    })
}

impl Session {
    /// Starts the run of the only scheme of `loaded` with its only seed. Without `workload`, its traffic is that which
    /// is added.
    ///
    /// # Errors
    /// The scenario cannot be built, or its scheme takes no flows that are not known before.
    pub fn start(
        mut loaded: Loaded,
        workload: bool,
        threads: usize,
    ) -> Result<Session, ScenarioError> {
        let seed = loaded.scenario.seeds()[0];
        check(&loaded.scenario, seed)?;
        if !workload {
            loaded.scenario.workload.clear();
        }
        let scenario = &loaded.scenario;
        let fabric = scenario.fabric_of(&scenario.scheme[0]).build();
        let fabric = fabric.map_err(|error| loaded.blame(error))?;
        let names = fabric.hosts.iter().map(|node| fabric.nodes[node.at()].name.clone());
        let hosts = names.zip((0..).map(HostId)).collect();
        let assembly = build::build_open(&loaded.scenario, 0, seed, &loaded);
        let Assembly { network, plan, routes, wiring, flows, .. } =
            assembly.map_err(|error| loaded.blame(error))?;
        let (graph, sampled) = (network.graph.clone(), network.sampled.clone());
        let options = options(&loaded.scenario, flows, threads);
        let scene = Scene::of(&loaded.scenario, 0, graph.clone(), wiring, &plan, routes, sampled);
        let session = slotline_sim::Session::new(network, options);
        let (added, open, began) = (Vec::new(), Vec::new(), Instant::now());
        let end = options.end;
        Ok(Session {
            loaded,
            scene,
            plan,
            graph,
            hosts,
            session,
            end,
            added,
            open,
            began,
            cpu_s: 0.0,
        })
    }

    /// The time before which all events have happened.
    pub fn now(&self) -> Time {
        self.session.now()
    }
    /// When the run ends at the latest.
    pub fn end(&self) -> Time {
        self.end
    }
    /// Complete flows, of the scenario and added ones.
    pub fn completed(&self) -> u64 {
        self.session.completed()
    }
    /// All flows so far.
    pub fn flows(&self) -> u64 {
        self.plan.all_flows().into()
    }

    /// Adds a flow on a connection of its own. Returns its number among added flows.
    ///
    /// # Errors
    /// A host is unknown, the time is past, or there is nothing to send.
    pub fn add(&mut self, new: &NewFlow) -> Result<u32, SpecError> {
        let at = new.at.unwrap_or(self.now());
        let (src, dst) = (self.host("src", &new.src)?, self.host("dst", &new.dst)?);
        let wrong = |key: &str, why: String| Err(SpecError::new(key, why));
        if src == dst {
            return wrong("dst", format!("`{}` would send to itself", new.src));
        }
        if new.bytes == 0 {
            return wrong("size", "a flow has at least 1 byte".into());
        }
        if new.class > 7 {
            return wrong("class", format!("class {}: there are classes 0 to 7", new.class));
        }
        if at < self.now() {
            return wrong("at", format!("{at} is past: the run has reached {}", self.now()));
        }
        if at >= self.end {
            return wrong("at", format!("{at} is not before the end of the run at {}", self.end));
        }
        Ok(self.add_checked(LateFlow {
            src,
            dst,
            bytes: new.bytes,
            at,
            class: new.class,
            group: self.loaded.scenario.workload.len() as u16,
            workload: workload_key(KIND, self.traces()),
        }))
    }

    fn add_checked(&mut self, flow: LateFlow) -> u32 {
        let Scene { wiring, routes, .. } = &self.scene;
        let number = self.plan.add(&flow, &self.graph, wiring, routes);
        self.session.add(number, [flow.src, flow.dst].map(|host| self.graph.hosts[host.at()]));
        let place = self.added.len() as u32;
        self.added.push((flow, number));
        self.open.push(place);
        place
    }

    /// The number of traces in the scenario.
    fn traces(&self) -> u64 {
        self.loaded.scenario.workload.iter().filter(|it| it.kind() == KIND).count() as u64
    }

    fn host(&self, key: &str, name: &str) -> Result<HostId, SpecError> {
        self.hosts.get(name).copied().ok_or_else(|| {
            let mut known: Vec<(&HostId, &String)> =
                self.hosts.iter().map(|(name, id)| (id, name)).collect();
            known.sort();
            let ends = known.first().zip(known.last());
            let (first, last) = ends.map_or(("", ""), |(a, b)| (a.1, b.1));
            SpecError::new(
                key,
                format!("there is no host `{name}`: the hosts are `{first}` to `{last}`"),
            )
        })
    }

    /// Continues until `to`. Without `to`, it continues until one more flow is complete, and does nothing if all are.
    /// Returns the added flows that have become complete, with the times at which their last bytes arrived, in the
    /// order of these times.
    pub fn advance(&mut self, to: Option<Time>, watch: &Watch) -> Vec<(u32, Time)> {
        let cpu = usage::process_cpu_s();
        let completed = self.completed();
        match to {
            Some(to) => self.session.advance(to, u64::MAX, watch),
            None if completed < self.flows() => {
                self.session.advance(self.end, completed + 1, watch);
            }
            None => {}
        }
        self.cpu_s += usage::process_cpu_s() - cpu;
        self.done()
    }

    fn done(&mut self) -> Vec<(u32, Time)> {
        let mut done = Vec::new();
        let Session { open, added, session, graph, .. } = self;
        open.retain(|&place| {
            let (flow, number) = added[place as usize];
            let node: NodeId = graph.hosts[flow.dst.at()];
            let finished =
                session.host(node).map_or(Time::MAX, |host| host.received(number).finished);
            if finished < Time::MAX {
                done.push((place, finished));
            }
            finished == Time::MAX
        });
        done.sort_by_key(|(place, at)| (*at, *place));
        done
    }

    /// The added flows as a trace in CSV.
    pub fn trace(&self) -> String {
        let row = |(flow, _): &(LateFlow, FlowId)| {
            let ps = flow.at.as_ps();
            let (s, rest) = (ps / 1_000_000_000_000, ps % 1_000_000_000_000);
            let LateFlow { src, dst, bytes, class, .. } = flow;
            format!("{},{},{bytes},{s}.{rest:012},{class}\n", src.0, dst.0)
        };
        let rows: String = self.added.iter().map(row).collect();
        format!("src,dst,bytes,start_s,class\n{rows}")
    }

    /// Runs to the end. Returns the record of a run of the scenario whose last workload is the trace of added flows;
    /// `None` if it was stopped.
    pub fn finish(mut self, watch: &Watch) -> Option<RunRecord> {
        let cpu = usage::process_cpu_s();
        let all = match self.loaded.scenario.end.when {
            slotline_scenario::EndWhen::FlowsDone => self.flows(),
            slotline_scenario::EndWhen::Time => u64::MAX,
        };
        self.session.advance(self.end, all, watch);
        if watch.cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return None;
        }
        let numbers = self.numbers();
        let mut outcome = self.session.finish(watch, |flow| numbers[flow as usize]);
        let mut record = self.scene.record(&mut outcome);
        record.flows.iter_mut().for_each(|row| row.flow = numbers[row.flow as usize]);
        record.flows.sort_by_key(|row| row.flow);
        record.scheme.clone_from(&self.loaded.scenario.scheme[0].name);
        record.seed = self.loaded.scenario.seeds()[0];
        record.engine.cpu_s = self.cpu_s + usage::process_cpu_s() - cpu;
        record.engine.wall_s = self.began.elapsed().as_secs_f64();
        record.engine.peak_rss_bytes = usage::peak_rss_bytes();
        Some(record)
    }

    /// By flow, its number in the scenario whose last workload is the trace of added flows: flows are ordered by source,
    /// then by workload.
    fn numbers(&self) -> Vec<u32> {
        let workloads = in_order(&self.loaded.scenario.workload);
        let before =
            |(_, workload): &&(u16, &slotline_net::workload::WorkloadSpec)| workload.kind() <= KIND;
        let place = workloads.iter().filter(before).count();
        let mut rank: Vec<usize> = vec![0; workloads.len() + 1];
        for (at, (group, _)) in workloads.iter().enumerate() {
            rank[usize::from(*group)] = at + usize::from(at >= place);
        }
        rank[workloads.len()] = place;
        let key = |flow: &u32| {
            let info = self.plan.flow(*flow);
            (self.plan.conn(info.conn.0).src, rank[usize::from(info.group)])
        };
        let mut order: Vec<u32> = (0..self.plan.all_flows()).collect();
        order.sort_by_key(key);
        let mut numbers = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&flow, number)| numbers[flow as usize] = number);
        numbers
    }
}
