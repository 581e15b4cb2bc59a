//! A star of real hosts.

use slotline_emulate::classify::{Addresses, Classifier};
use slotline_emulate::clock::Dilation;
use slotline_emulate::fabric::{Ended, Fabric};
use slotline_emulate::namespace::{GateKind, Host, KernelTcp};
use slotline_emulate::seat::Seat;
use slotline_emulate::shared::Shared;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::external_host::{ExternalHost, add_shared_conns};
use slotline_net::node::host::{Egress, Nic, NicConfig, Plan, Spread};
use slotline_net::node::notify::Senders;
use slotline_net::node::station::Loss;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, StarSpec, TopologySpec};
use slotline_net::transport::TransportSpec;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::Traffic;
use slotline_sim::{Follow, Network, Place, Queue, Stepper};
use std::sync::Arc;

/// Hosts, or the reason why this machine cannot make any.
pub fn hosts(count: u32, gate: GateKind) -> Result<Vec<Host>, String> {
    let addresses = Addresses { hosts: count };
    let make = |n| {
        Host::new(&format!("h{n}"), addresses.of(HostId(n)), &KernelTcp::default(), gate)
            .map_err(|error| error.to_string())
    };
    (0..count).map(make).collect()
}

/// Runs `work` while `hosts` are joined by a star.
pub fn joined<T: Send>(
    hosts: Vec<Host>,
    star: StarSpec,
    dilation: Dilation,
    work: impl FnOnce(&[std::os::fd::BorrowedFd<'_>]) -> T + Send,
) -> (T, Ended) {
    let count = hosts.len() as u32;
    let graph = TopologySpec::Star(star).build().unwrap();
    let mut traffic = Traffic::default();
    add_shared_conns(&mut traffic, count);
    let transport = TransportSpec::of(slotline_net::transport::congestion::AlgorithmKind::NewReno)
        .build()
        .unwrap();
    let plan = Plan::new(traffic, transport, Spread::PerFlow, graph.host_keys(), 1).unwrap();
    let (plan, addresses) = (Arc::new(plan), Addresses { hosts: count });
    let routes = Arc::new(Routes::build(&graph, RoutingSpec::Ecmp, &Down::default(), 1));
    let wiring = graph.wiring();
    let host = |n: u32| {
        let node = graph.hosts[n as usize];
        let config = NicConfig {
            node,
            routes: Arc::clone(&routes),
            egress: Egress::Classes,
            priorities: false,
            tsq_limit: Bytes(64_000),
        };
        let pace = wiring.of(node)[0].lane.rate.inverse_rate();
        let nic = Nic::new(config, &[pace]);
        Place::Node(Box::new(ExternalHost::new(
            HostId(n),
            Arc::clone(&plan),
            nic,
            Loss::default(),
            1,
        )))
    };
    let mut places: Vec<Place> = (0..count).map(host).collect();
    places.push(Place::Switch);
    let pulled = Queue { pulled: true, ..Queue::default() };
    let mut queues: Vec<Vec<Queue>> = (0..count).map(|_| vec![pulled.clone()]).collect();
    queues.push(vec![Queue::default(); count as usize]);
    let nodes: Vec<NodeId> = graph.hosts.clone();
    let network = Network {
        routes,
        places,
        queues,
        buffers: std::collections::BTreeMap::new(),
        senders: Senders::default(),
        timeline: vec![],
        sampled: vec![],
        interval: Time::ZERO,
        follow: Follow::default(),
        graph,
    };
    let stepper = Stepper::new(network, Time::MAX, Time::us(20));
    let shared = Shared::default();
    let namespaces: Vec<_> =
        hosts.iter().map(|host| host.namespace().try_clone_to_owned().unwrap()).collect();
    let seat = |(host, node)| Seat::new(host, node, Rate(1_000_000_000));
    let fabric = Fabric::new(
        hosts.into_iter().zip(nodes).map(seat).collect(),
        stepper,
        Classifier::new(plan, addresses),
        Time::MAX,
        &shared,
    );
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            use std::os::fd::AsFd;
            shared.begin();
            let result = work(&namespaces.iter().map(AsFd::as_fd).collect::<Vec<_>>());
            shared.stop();
            result
        });
        let ended = fabric.run(dilation).unwrap();
        (work.join().unwrap(), ended)
    })
}
