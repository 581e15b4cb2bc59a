//! Hosts whose applications are outside of the network: every frame arrives once or is lost once, under every scheme.

use crate::common::load;
use proptest::prelude::*;
use slotline_lab::build::build;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_sim::Stepper;
use std::collections::BTreeMap;

const HOSTS: u32 = 4;
const END: Time = Time::ms(20);

const SCHEMES: [&str; 7] = [
    "",
    r#"queue = { kind = "drop-tail", limit = "9KB" }"#,
    r#"queue = { priorities = true, shared = { total = "1MB" }, pfc = { xoff = "20KB", xon = "15KB" } }"#,
    r#"control = { kind = "xco", slice = "100us" }"#,
    r#"control = { kind = "tdma", scale = "auto" }"#,
    r#"control = { kind = "fastpass", scale = "auto" }"#,
    r#"routing = "spray""#,
];

fn scenario(scheme: &str) -> String {
    format!(
        "name = \"external\"\nend = {{ at = \"20ms\" }}\nengine = \"emulate\"\n[fabric]\nkind = \"star\"\n\
         hosts = {HOSTS}\nrate = \"1Gbps\"\ndelay = \"2us\"\n[[workload]]\nkind = \"ring\"\n[[scheme]]\n\
         name = \"scheme\"\n{scheme}\n"
    )
}

/// The frames that are sent: time, source, destination and length.
fn sent() -> impl Strategy<Value = (u64, u32, u32, u16)> {
    (0u64..10_000, 0..HOSTS, 1..HOSTS, 64u16..1_538)
        .prop_map(|(us, src, other, len)| (us, src, (src + other) % HOSTS, len))
}

/// The fate of a frame.
#[derive(Default, Debug)]
struct Fate {
    left: Vec<Time>,
    arrived: Vec<Time>,
    lost: u32,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn each_frame_arrives_once_or_is_lost_once(
        mut frames in prop::collection::vec(sent(), 1..400),
        scheme in 0..SCHEMES.len(),
    ) {
        frames.sort_unstable();
        let loaded = load(&scenario(SCHEMES[scheme]));
        let assembly = build(&loaded.scenario, 0, 1, &loaded).expect("a good scenario");
        let (nodes, plan) = (assembly.network.graph.hosts.clone(), assembly.plan);
        let mut stepper = Stepper::new(assembly.network, END, Time::us(1));
        let mut fates: BTreeMap<u32, Fate> = BTreeMap::new();
        let mut take = |stepper: &mut Stepper| {
            for (at, what) in stepper.handovers() {
                match what {
                    Handover::Left(packet) => fates.entry(packet.stamp).or_default().left.push(at),
                    Handover::Arrived(packet) => {
                        assert_eq!(frames[packet.stamp as usize].2, packet.dst.0);
                        fates.entry(packet.stamp).or_default().arrived.push(at);
                    }
                    Handover::Notified(..) => {}
                }
            }
            for frame in stepper.lost_frames() {
                fates.entry(frame).or_default().lost += 1;
            }
        };
        for (stamp, &(us, src, dst, len)) in (0u32..).zip(&frames) {
            stepper.advance(Time::us(us));
            let mut conns = plan.sends(HostId(src));
            let flow = conns.find(|&conn| plan.traffic.conns[conn as usize].dst == HostId(dst));
            let flow = flow.expect("each two hosts have connections");
            let packet = Packet { dst: HostId(dst), flow, stamp, len, kind: Kind::Data, ..Packet::default() };
            prop_assert!(stepper.inject(nodes[src as usize], Time::us(us), packet));
            take(&mut stepper);
        }
        stepper.advance(END);
        take(&mut stepper);
        let outcome = stepper.finish(END);
        prop_assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
        for (frame, fate) in &fates {
            let sent = Time::us(frames[*frame as usize].0);
            prop_assert!(fate.left.len() <= 1 && fate.arrived.len() + fate.lost as usize <= 1, "{fate:?}");
            for arrived in &fate.arrived {
                prop_assert!(fate.left[0] >= sent && *arrived >= fate.left[0] + Time::us(4), "{fate:?}");
            }
        }
        let arrived = fates.values().filter(|fate| !fate.arrived.is_empty()).count();
        let lost = fates.values().filter(|fate| fate.lost > 0).count();
        prop_assert!(arrived > 0);
        if !matches!(scheme, 1) {
            prop_assert_eq!((arrived, lost), (frames.len(), 0), "{}", SCHEMES[scheme]);
        }
    }
}
