use slotline_net::id::{NodeId,HostId};
use slotline_net::node::host::*;
use slotline_net::route::*;
use slotline_net::time::Time;
use slotline_net::topology::*;
use slotline_net::transport::*;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::*;
use slotline_net::workload::{Carrier, Start, TrafficBuilder};
use slotline_sim::{Network, Options, Place, Queue, Watch, run};
use std::sync::Arc;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let k: u32 = args[1].parse().unwrap();
    let threads: usize = args[3].parse().unwrap();
    let kind = match args[4].as_str() { "dctcp" => AlgorithmKind::Dctcp, "cubic" => AlgorithmKind::Cubic, _ => AlgorithmKind::NewReno };
    let text = std::fs::read_to_string(&args[2]).unwrap();
    let graph = TopologySpec::FatTree(FatTreeSpec::new(k)).build().unwrap();
    let mut b = TrafficBuilder::new(graph.hosts.len() as u32);
    let m = slotline_net::workload::cm::parse(&text, slotline_net::workload::cm::TimeUnit::Ps).unwrap();
    for e in &m.entries { let c = b.connect(HostId(e.src), HostId(e.dst), Carrier::Tcp, 0).unwrap(); b.flow(c, e.bytes, Start::At(Time::ZERO), None, 0).unwrap(); }
    let traffic = b.finish().unwrap();
    let mut spec = TransportSpec::of(kind);
    spec.framing = Bytes(0); spec.min_rto = Time::ms(10);
    let flows = traffic.flows.len() as u64;
    let plan = Arc::new(Plan::new(traffic, spec.build().unwrap(), Spread::PerFlow, graph.hosts.len(), 1).unwrap());
    let routes = Arc::new(Routes::build(&graph, RoutingSpec::Ecmp, &Down::default(), 1));
    let mut of = vec![None; graph.nodes.len()];
    for (h, n) in graph.hosts.iter().enumerate() { of[n.at()] = Some(HostId(h as u32)); }
    let places = of.iter().enumerate().map(|(n,h)| match h { None => Place::Switch, Some(h) => Place::Host(Box::new(Host::new(HostConfig{id:*h,node:NodeId(n as u32),plan:plan.clone(),routes:routes.clone(),rates:vec![Rate(10_000_000_000)],egress:Egress::Fifo,priorities:false,seed:1})))}).collect();
    let queues = graph.ports().iter().zip(&of).map(|(p,h)| vec![match h {Some(_) => Queue::default(), None => Queue{pulled:false,limit:Some(Bytes(150_000)),mark:(kind==AlgorithmKind::Dctcp).then_some(Bytes(22_500)),red:None}}; *p as usize]).collect();
    let net = Network{graph,routes,places,queues,timeline:vec![],sampled:vec![],interval:Time::ZERO};
    let t=std::time::Instant::now();
    let out = run(net, Options{threads,end:Time::s(10),completions:flows}, &Watch::default());
    let el=t.elapsed().as_secs_f64();
    let mut fct: Vec<f64> = vec![]; let (mut rt, mut to)=(0,0);
    for p in &out.places { if let Place::Host(h)=p { for r in h.results() { match r { FlowResult::Received(_,r) => fct.push(r.finished.as_secs_f64()*1e3), FlowResult::Sent(_,s)=>{rt+=s.retransmissions;to+=s.timeouts;} } } } }
    fct.sort_by(f64::total_cmp);
    println!("hops {} events {} wall {:.3} ns/hop {:.1} fct mean {:.2} p99 {:.2} retx {} to {} cons {:?} {} digest {:x} thr {}", out.packet_hops, out.events, el, el*1e9/out.packet_hops as f64, fct.iter().sum::<f64>()/fct.len() as f64, fct[fct.len()*99/100], rt,to, out.conservation, out.conservation.holds(), out.digest, out.threads);
}
