//! Messages as bytes: fixed bytes of each kind, and random ones.

use crate::action::{Action, Instruction};
use crate::matching::Field;
use crate::message::{Body, Features, Message, Refusal};
use crate::modify::{Bucket, Command, FlowMod, GroupCommand, GroupKind, GroupMod};
use crate::statistics::{FlowFilter, FlowStats, Port, PortStats};
use crate::{ANY_PORT, DecodeError, Stream};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The bytes of hexadecimal digits, between which there may be blanks.
fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// A kept message: what it means, and its bytes structure by structure as the specification lays them out.
fn kept() -> Vec<(Body, &'static str)> {
    let net = |text: &str| text.parse::<Ipv4Addr>().unwrap();
    let connection = Field::connection(6, (net("10.77.0.1"), 10_000), (net("10.77.0.2"), 7_001));
    let suffix = vec![Field::EthType(0x0800), Field::Ipv4Dst(net("0.0.0.2"), net("0.0.0.255"))];
    vec![
        (Body::Hello, "04 00 0010 00000007  0001 0008 00000010"),
        (Body::FeaturesRequest, "04 05 0008 00000007"),
        (
            Body::Features(Features {
                datapath: 0x1122,
                buffers: 0,
                tables: 254,
                auxiliary: 0,
                capabilities: 0x4f,
            }),
            "04 06 0020 00000007  0000000000001122 00000000 fe 00 0000 0000004f 00000000",
        ),
        (
            Body::Error(Refusal { kind: 4, code: 6, data: vec![4, 14] }),
            "04 01 000e 00000007  0004 0006 040e",
        ),
        (Body::EchoRequest(vec![0xab]), "04 02 0009 00000007  ab"),
        (Body::BarrierRequest, "04 14 0008 00000007"),
        (Body::BarrierReply, "04 15 0008 00000007"),
        (
            Body::FlowMod(FlowMod {
                cookie: 5,
                ..FlowMod::add(100, connection, vec![Instruction::output(3)])
            }),
            "04 0e 0078 00000007  0000000000000005 0000000000000000 00 00 0000 0000 0064 ffffffff ffffffff ffffffff \
             0000 0000
             0001 002b 80000a02 0800 80001401 06 80001604 0a4d0001 80001804 0a4d0002 80001a02 2710 80001c02 1b59
             0000000000
             0004 0018 00000000  0000 0010 00000003 ffff 000000000000",
        ),
        (
            Body::FlowMod(FlowMod {
                command: Command::ModifyStrict,
                table: 1,
                ..FlowMod::add(9, suffix, vec![Instruction::Goto(2)])
            }),
            "04 0e 0050 00000007  0000000000000000 0000000000000000 01 02 0000 0000 0009 ffffffff ffffffff ffffffff \
             0000 0000
             0001 0016 80000a02 0800 80001908 00000002 000000ff  0000
             0001 0008 02 000000",
        ),
        (
            Body::GroupMod(GroupMod::select(8, [1, 2])),
            "04 0f 0050 00000007  0000 01 00 00000008
             0020 0001 ffffffff ffffffff 00000000  0000 0010 00000001 ffff 000000000000
             0020 0001 ffffffff ffffffff 00000000  0000 0010 00000002 ffff 000000000000",
        ),
        (
            Body::FlowStatsRequest(FlowFilter::cookie(0x10, 0xf0)),
            "04 12 0038 00000007  0001 0000 00000000
             ff 000000 ffffffff ffffffff 00000000 0000000000000010 00000000000000f0  0001 0004 00000000",
        ),
        (
            Body::FlowStats(
                vec![FlowStats {
                    table: 0,
                    age_ns: 2_000_000_003,
                    priority: 100,
                    idle_timeout: 0,
                    hard_timeout: 0,
                    flags: 0,
                    cookie: 5,
                    packets: 17,
                    bytes: 25_000,
                    fields: vec![Field::InPort(4)],
                    instructions: vec![Instruction::Apply(vec![Action::Group(8)])],
                }],
                true,
            ),
            "04 13 0060 00000007  0001 0001 00000000
             0050 00 00 00000002 00000003 0064 0000 0000 0000 00000000 0000000000000005 0000000000000011
             00000000000061a8  0001 000c 80000004 00000004 00000000  0004 0010 00000000 0016 0008 00000008",
        ),
        (
            Body::PortStatsRequest(ANY_PORT),
            "04 12 0018 00000007  0004 0000 00000000 ffffffff 00000000",
        ),
        (
            Body::PortStats(
                vec![PortStats { port: 1, rx_packets: 2, tx_bytes: 3, ..PortStats::default() }],
                false,
            ),
            "04 13 0080 00000007  0004 0000 00000000
             00000001 00000000 0000000000000002 0000000000000000 0000000000000000 0000000000000003
             0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000
             0000000000000000 0000000000000000 0000000000000000 00000000 00000000",
        ),
        (Body::PortsRequest, "04 12 0010 00000007  000d 0000 00000000"),
        (
            Body::Ports(
                vec![Port {
                    port: 2,
                    address: [2, 0, 0, 0, 0, 9],
                    name: "p2".into(),
                    config: 0,
                    state: 4,
                    speeds: [0, 0, 0, 0, 10_000, 0],
                }],
                false,
            ),
            "04 13 0050 00000007  000d 0000 00000000
             00000002 00000000 020000000009 0000 70320000000000000000000000000000 00000000 00000004
             00000000 00000000 00000000 00000000 00002710 00000000",
        ),
    ]
}

#[test]
fn kept_messages_have_their_bytes() {
    for (body, text) in kept() {
        let message = Message { xid: 7, body };
        assert_eq!(message.encode(), bytes(text), "{message:?}");
        assert_eq!(Message::decode(&bytes(text)), Ok(message));
    }
}

/// A structure that is too long for its message, or too short for its own fixed part, is named.
#[test]
fn errors_name_the_structure() {
    let wrong = |at: usize, value: u8, which: usize| {
        let mut message = bytes(kept()[which].1);
        message[at] = value;
        Message::decode(&message).unwrap_err().to_string()
    };
    assert_eq!(wrong(25, 9, 7), "OpenFlow: `ofp_flow_mod.command` = 9 is unknown");
    assert_eq!(wrong(51, 0xff, 7), "OpenFlow: `ofp_match` has 68 bytes, it needs 251");
    assert_eq!(wrong(99, 4, 7), "OpenFlow: `ofp_instruction` has 4 bytes, it needs 8");
    assert_eq!(wrong(17, 3, 9), "OpenFlow: `ofp_bucket` has 3 bytes, it needs 16");
    let cut = &bytes(kept()[2].1)[..20];
    let error = Message::decode(cut).unwrap_err();
    assert_eq!(error, DecodeError::Length { what: "ofp_header", has: 20, needs: 32 });
    assert_eq!(
        Message::decode(&[]).unwrap_err().to_string(),
        "OpenFlow: `ofp_header` has 0 bytes, it needs 1"
    );
}

#[test]
fn refusals_are_sentences() {
    let text = |kind| Refusal { kind, code: 6, data: vec![] }.to_string();
    assert_eq!(text(4), "the switch refused a request: BAD_MATCH, code 6");
    assert_eq!(text(99), "the switch refused a request: error of type 99, code 6");
}

fn field() -> impl Strategy<Value = Field> {
    let v4 = || any::<u32>().prop_map(Ipv4Addr::from);
    let v6 = || any::<u128>().prop_map(Ipv6Addr::from);
    prop_oneof![
        any::<u32>().prop_map(Field::InPort),
        (any::<u64>(), any::<u64>()).prop_map(|(value, mask)| Field::Metadata(value, mask)),
        any::<u16>().prop_map(Field::EthType),
        (0u8..64).prop_map(Field::IpDscp),
        any::<u8>().prop_map(Field::IpProto),
        (v4(), v4()).prop_map(|(value, mask)| Field::Ipv4Src(value, mask)),
        (v4(), v4()).prop_map(|(value, mask)| Field::Ipv4Dst(value, mask)),
        v4().prop_map(Field::from),
        v4().prop_map(Field::to),
        any::<u16>().prop_map(Field::TcpSrc),
        any::<u16>().prop_map(Field::TcpDst),
        any::<u16>().prop_map(Field::UdpSrc),
        any::<u16>().prop_map(Field::UdpDst),
        (v6(), v6()).prop_map(|(value, mask)| Field::Ipv6Src(value, mask)),
        (v6(), v6()).prop_map(|(value, mask)| Field::Ipv6Dst(value, mask)),
        // A class of experimenters.
        (any::<u8>(), vec(any::<u8>(), 0..9))
            .prop_map(|(number, payload)| Field::Other(0xffff, number, payload)),
    ]
}

/// The content of an unknown structure: with its header of four bytes, a multiple of eight.
fn content() -> impl Strategy<Value = Vec<u8>> {
    (0usize..3).prop_flat_map(|n| vec(any::<u8>(), 8 * n + 4))
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        any::<u32>().prop_map(Action::Output),
        any::<u32>().prop_map(Action::Group),
        field().prop_map(Action::Set),
        (30u16..99, content()).prop_map(|(kind, content)| Action::Other(kind, content)),
    ]
}

fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        any::<u8>().prop_map(Instruction::Goto),
        (any::<u64>(), any::<u64>())
            .prop_map(|(value, mask)| Instruction::WriteMetadata(value, mask)),
        vec(action(), 0..4).prop_map(Instruction::Apply),
        (7u16..99, content()).prop_map(|(kind, content)| Instruction::Other(kind, content)),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Add),
        Just(Command::Modify),
        Just(Command::ModifyStrict),
        Just(Command::Delete),
        Just(Command::DeleteStrict),
    ]
}

fn flow_mod() -> impl Strategy<Value = FlowMod> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u8>(), any::<[u16; 4]>());
    let lists = (vec(field(), 0..6), vec(instruction(), 0..4));
    (numbers, command(), lists).prop_map(|(numbers, command, (fields, instructions))| {
        let (cookie, cookie_mask, table, [idle_timeout, hard_timeout, priority, flags]) = numbers;
        FlowMod {
            cookie,
            cookie_mask,
            table,
            command,
            idle_timeout,
            hard_timeout,
            priority,
            flags,
            fields,
            instructions,
        }
    })
}

fn group_mod() -> impl Strategy<Value = GroupMod> {
    let bucket = (any::<u16>(), any::<u32>(), any::<u32>(), vec(action(), 0..3)).prop_map(
        |(weight, watch_port, watch_group, actions)| Bucket {
            weight,
            watch_port,
            watch_group,
            actions,
        },
    );
    let kinds = prop_oneof![
        Just(GroupKind::All),
        Just(GroupKind::Select),
        Just(GroupKind::Indirect),
        Just(GroupKind::FastFailover)
    ];
    let commands = prop_oneof![
        Just(GroupCommand::Add),
        Just(GroupCommand::Modify),
        Just(GroupCommand::Delete)
    ];
    (commands, kinds, any::<u32>(), vec(bucket, 0..4))
        .prop_map(|(command, kind, group, buckets)| GroupMod { command, kind, group, buckets })
}

fn flow_stats() -> impl Strategy<Value = FlowStats> {
    (flow_mod(), 0u64..1 << 50, any::<u64>(), any::<u64>()).prop_map(
        |(entry, age_ns, packets, bytes)| FlowStats {
            table: entry.table,
            age_ns,
            priority: entry.priority,
            idle_timeout: entry.idle_timeout,
            hard_timeout: entry.hard_timeout,
            flags: entry.flags,
            cookie: entry.cookie,
            packets,
            bytes,
            fields: entry.fields,
            instructions: entry.instructions,
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let data = || vec(any::<u8>(), 0..20);
    let filter = (any::<u8>(), any::<u64>(), any::<u64>(), vec(field(), 0..4));
    prop_oneof![
        Just(Body::Hello),
        (any::<u16>(), any::<u16>(), data()).prop_map(|(kind, code, data)| Body::Error(Refusal {
            kind,
            code,
            data
        })),
        data().prop_map(Body::EchoRequest),
        data().prop_map(Body::EchoReply),
        Just(Body::FeaturesRequest),
        Just(Body::BarrierRequest),
        Just(Body::BarrierReply),
        Just(Body::PortsRequest),
        flow_mod().prop_map(Body::FlowMod),
        group_mod().prop_map(Body::GroupMod),
        filter.prop_map(|(table, cookie, cookie_mask, fields)| Body::FlowStatsRequest(
            FlowFilter { table, cookie, cookie_mask, fields }
        )),
        (vec(flow_stats(), 0..4), any::<bool>())
            .prop_map(|(entries, more)| Body::FlowStats(entries, more)),
        any::<u32>().prop_map(Body::PortStatsRequest),
        (22u8..99, data()).prop_map(|(kind, data)| Body::Other(kind, data)),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(xid: u32, body in body()) {
        let message = Message { xid, body };
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    /// Any bytes, and messages in which bytes were changed or cut off, are read or refused, and what was read can be
    /// written and read again.
    #[test]
    fn strange_bytes_cause_no_panic(
        noise in vec(any::<u8>(), 0..200),
        body in body(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut: prop::sample::Index,
        kind in 0u8..30,
    ) {
        let mut message = Message { xid: 1, body }.encode();
        for (at, value) in changes {
            let at = at.index(message.len());
            message[at] = value;
        }
        let mut headed = vec![4, kind];
        headed.extend(((noise.len() + 8) as u16).to_be_bytes());
        headed.extend([0; 4]);
        headed.extend(&noise);
        for bytes in [&message[..], &message[..cut.index(message.len())], &noise, &headed] {
            if let Ok(message) = Message::decode(bytes) {
                let again = Message::decode(&message.encode());
                prop_assert_eq!(again.as_ref(), Ok(&message));
            }
            let mut stream = Stream::default();
            stream.push(bytes);
            while let Ok(Some(_)) = stream.take() {}
        }
    }
}
