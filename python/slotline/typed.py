"""The tables of a scenario as classes. Written by `generate.py` from the types of the library: do not edit.

Values that are left out have the scenario's defaults. Quantities are texts with a unit: `"10Gbps"`, `"20us"`, `"64KB"`.
"""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from ._typed import FabricBase, Table

Time = str | timedelta
"""A time with its unit, such as `"20us"`."""
Size = str
"""A number of bytes, such as `"64KB"`."""
Rate = str
"""A rate, such as `"10Gbps"`."""

__all__ = [
    "AnyControl",
    "AnyEngine",
    "AnyEvent",
    "AnyFabric",
    "AnyPolicy",
    "AnyQueue",
    "AnyTransport",
    "AnyWorkload",
    "App",
    "Application",
    "Bump",
    "ChosenFlows",
    "CircuitNet",
    "Classifier",
    "Control",
    "ControlCircuits",
    "ControlCustom",
    "ControlFastpass",
    "ControlFlowScheduler",
    "ControlHedera",
    "ControlNone",
    "ControlTdma",
    "ControlXco",
    "CoreNet",
    "CustomCircuits",
    "End",
    "Engine",
    "EngineEmulate",
    "EngineFlow",
    "EnginePacket",
    "Event",
    "EventControllerDown",
    "EventControllerUp",
    "EventJoin",
    "EventLeave",
    "EventLinkDown",
    "EventLinkUp",
    "EventRate",
    "EventSwitchDown",
    "EventSwitchUp",
    "Expect",
    "Fabric",
    "FabricFatTree",
    "FabricGraph",
    "FabricHybrid",
    "FabricLeafSpine",
    "FabricStar",
    "FabricTree",
    "GraphLink",
    "Limit",
    "LinkOverride",
    "LogColumns",
    "Measure",
    "Notify",
    "OnDemand",
    "PacketNet",
    "Pfc",
    "Policy",
    "PolicyAvq",
    "PolicyCodel",
    "PolicyCustom",
    "PolicyDropTail",
    "PolicyEcn",
    "PolicyObject",
    "PolicyPie",
    "PolicyQcn",
    "PolicyRed",
    "Quantity",
    "Queue",
    "QueueAvq",
    "QueueCodel",
    "QueueCustom",
    "QueueDropTail",
    "QueueEcn",
    "QueueObject",
    "QueuePie",
    "QueueQcn",
    "QueueRed",
    "Rack",
    "Rate",
    "Reaction",
    "Recovery",
    "Relay",
    "Resize",
    "ScenarioTable",
    "Scheme",
    "Shared",
    "Size",
    "Tenant",
    "Time",
    "Transport",
    "TransportCubic",
    "TransportCustom",
    "TransportDctcp",
    "TransportFixed",
    "TransportNewreno",
    "TransportRetcp",
    "TransportTdtcp",
    "Voq",
    "Workload",
    "WorkloadBulk",
    "WorkloadCollective",
    "WorkloadCustom",
    "WorkloadHdfs",
    "WorkloadHotSpot",
    "WorkloadIncast",
    "WorkloadMigration",
    "WorkloadPoisson",
    "WorkloadProbe",
    "WorkloadRackRings",
    "WorkloadRandom",
    "WorkloadRandomBijective",
    "WorkloadRequestResponse",
    "WorkloadRing",
    "WorkloadShortFlows",
    "WorkloadShuffle",
    "WorkloadStaggered",
    "WorkloadStride",
    "WorkloadTrace",
    "WorkloadUdp",
    "XcoOptions",
]


@dataclass(slots=True, kw_only=True, repr=False)
class App(Table):
    """A program that runs on an emulated host, under `slotline emulate`.

    :param host: Name of the host.
    :param run: The command for the host's shell. It can use the names of hosts.
    :param at: When it starts. Default: "0ps".
    :param background: Whether the run does not wait for its end, as for servers.
    """
    host: str
    run: str
    at: Time | None = None
    background: bool | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Application(Table):
    """A further application of a bump: a policy for the same virtual queues.

    :param policy: Which packets it marks or drops, and whose senders it notifies.
    :param flows: The flows on which it acts.
    """
    policy: AnyPolicy | Mapping[str, Any]
    flows: ChosenFlows | Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Bump(Table):
    """Bumps on the wires of unmodified switches. They see the packets that enter a switch, have a virtual queue for each
    of its ports, and mark packets, drop them or notify senders as a switch would.

    Source: M. Al-Fares, doctoral thesis, UC San Diego, chapter 5 (NetBump).

    :param also: Further applications on the same virtual queues. Each packet is judged by all of them, and then by
        `queue`. Source: M. Al-Fares, doctoral thesis, UC San Diego, 5.1.1: "it is possible to compose multiple
        applications", and "AQM functionality can act only on particular flows".
    :param at: Their places, as `s1-s0`: the switch, and the node at the other end of the wire. If empty: all ports of
        switches that lead to other switches.
    :param flows: The flows on which the discipline of `queue` acts. Packets of all flows count in virtual queues.
    :param jitter: The largest additional delay. It is distributed uniformly, and packets stay in order. Default: "0ps".
    :param latency: The delay of a packet in a bump. Default: "0ps".
    :param notify: Whose sender is notified, if the discipline notifies. Default: "sampled".
    :param observe: Whether bumps only estimate queues, and do not mark, drop or notify. Default: false.
    :param queue: The virtual queues: capacity and discipline. They have no classes, shared buffers or pauses.
    :param rate: The rate at which virtual queues drain. Default: the rate of the port of the switch.
    :param reaction: Bumps that limit the flows whose senders are notified, in place of the hosts.
    :param sharing: How several bumps of one switch share their virtual queues. Default: "table".
    :param update_delay: With `sharing = "updates"`: the delay of an update. Default: "0ps".
    :param update_every: With `sharing = "updates"`: the number of packets that one update reports. Default: 1.
    :param update_loss: With `sharing = "updates"`: the share of updates that get lost. Default: 0.0.
    :param update_path: With `sharing = "updates"`: the path of updates. Default: "dedicated".
    """
    also: Sequence[Application | Mapping[str, Any]] | None = None
    at: Sequence[str] | None = None
    flows: ChosenFlows | Mapping[str, Any] | None = None
    jitter: Time | None = None
    latency: Time | None = None
    notify: Literal["sampled", "largest"] | None = None
    observe: bool | None = None
    queue: AnyQueue | Literal["drop-tail", "ecn", "red", "codel", "pie", "avq", "qcn"] | Mapping[str, Any] | None = None
    rate: Rate | None = None
    reaction: Limit | Mapping[str, Any] | None = None
    sharing: Literal["table", "updates", "nothing"] | None = None
    update_delay: Time | None = None
    update_every: int | None = None
    update_loss: float | None = None
    update_path: Literal["dedicated", "in-band"] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ChosenFlows(Table):
    """Flows by their hosts. All packets count in virtual queues, those of other flows, too.

    :param from_: Hosts that send them. Default: "all".
    :param to: Hosts that receive them. Default: "all".
    """
    from_: int | str | None = None
    to: int | str | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class CircuitNet(Table):
    """The circuit switches of a hybrid fabric, all alike.

    :param rate: Rate of a circuit.
    :param dark: The circuits that are dark in a night. Default: "all".
    :param delay: Propagation delay from rack to rack. Default: "30us".
    :param reconfiguration: Length of a night: the time for which a circuit switch is dark while it reconfigures.
        Default: "20us".
    :param switches: Circuit switches; each rack has a link to each. Default: 1.
    """
    rate: Rate
    dark: Literal["all", "changed"] | None = None
    delay: Time | None = None
    reconfiguration: Time | None = None
    switches: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Classifier(Table):
    """The settings of switches that move flows under `routing = "classifier"`.

    :param moves: The largest number of flows that a switch moves each time. Default: 3.
    :param period: The time from one rearrangement to the next. Default: "1s".
    """
    moves: int | None = None
    period: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ControlNone(Table):
    """No central scheduler: hosts send at any time.
    """
    KIND: ClassVar[str] = "none"


@dataclass(slots=True, kw_only=True, repr=False)
class ControlXco(Table):
    """XCo: a controller, on a host of its own, gives pairs of hosts timeslices or rates.

    Source: Rajanna, Shah, Jahagirdar and Gopalan, "XCo: Explicit Coordination to Prevent Network Fabric Congestion in
    Cloud Computing Cluster Platforms", HPDC 2010.

    Section numbers are those of the paper.

    :param controllers: How many controllers there are, and what each decides about. Default: "single".
    :param decision_time: The time from an event at the controller to its directives. Default: "10us".
    :param exempt_acks: Whether any number of pure acknowledgements counts as a small flow. Otherwise the receiver of a
        controlled flow also needs timeslices. Default: true.
    :param fairness: How capacity is divided. Default: "round-robin".
    :param guard: The time at the end of each slice in which nobody sends. It absorbs different delays to the hosts.
        Default: "0ps".
    :param hysteresis: The time for which a host waits for more packets before it gives the rest back; "a few tens of
        microseconds" (§3.1). Default: "50us".
    :param mode: Timeslices or rates. Default: "timeslice".
    :param on_demand: If given, only pairs of hosts with a link near saturation are coordinated. Default: all pairs, at
        all times.
    :param protect: The shortest time for which a host keeps a destination before another of its destinations may take
        the timeslice (pre-emption, §3.2.1). Default: half a slice.
    :param report_interval: How often a busy host repeats its report and gets an answer. A lost control message has no
        effect for longer than this. Default: a slice.
    :param scale: `"auto"`: periods that are not given get values that fit this network and traffic. The resolved
        scenario has these values.
    :param setup: How long it takes to set up a queue for a V2V flow, from its first packet. Packets wait until then.
        The paper has 75 ms (§4.8), where a script sets up the queue. Default: "0ps".
    :param slice: Length of a timeslice; the paper uses 2 ms and 10 ms (§4). Default: "10ms".
    :param small_flow: Small flows need no permission (§4.4): a host may send this many bytes to each destination per
        `slice` without permission. Default: two full packets. Default: "3KB".
    :param takeover: With a standby: how long the other has to be silent before it takes over. Default: a slice and a
        half, so that what was permitted before is over.
    :param timeout: A host that waits and receives nothing for this long sends uncontrolled. A controller that receives
        nothing from a busy host for this long removes it (§7). Default: five slices, but at least two report intervals.
    :param weights: By name of a host, its weight against others (§7, quality of service): how many times as long its
        timeslices are or, with `max-min` or `rate-limit`, how many V2V flows each of its flows counts as. Other hosts
        have weight 1.
    :param work_conserving: Whether a host gives the rest of a timeslice back when it has nothing left to send (§3.1).
        Default: true.
    """
    KIND: ClassVar[str] = "xco"
    controllers: Literal["single", "standby", "hierarchical"] | None = None
    decision_time: Time | None = None
    exempt_acks: bool | None = None
    fairness: Literal["round-robin", "max-min"] | None = None
    guard: Time | None = None
    hysteresis: Time | None = None
    mode: Literal["timeslice", "rate-limit"] | None = None
    on_demand: OnDemand | Mapping[str, Any] | None = None
    protect: Time | None = None
    report_interval: Time | None = None
    scale: Literal["auto"] | None = None
    setup: Time | None = None
    slice: Time | None = None
    small_flow: Size | None = None
    takeover: Time | None = None
    timeout: Time | None = None
    weights: Mapping[str, Any] | None = None
    work_conserving: bool | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ControlTdma(Table):
    """TDMA: a fabric manager, on a host of its own, gives hosts slots in which no other host uses their paths.

    Source: Vattikonda, Porter, Vahdat and Snoeren, "Practical TDMA for Datacenter Ethernet", EuroSys 2012.

    Section and figure numbers are those of the paper.

    :param clock_drift: By how much the clocks of hosts diverge in a second (§3.2.1: 100 µs). Each clock is fast or slow
        by at most half of this. The drift matters with `self-ending`. Default: "100us".
    :param control_delay: The delay of each link of the control network. Default: 1us.
    :param control_rate: The rate of the links of the control network (`triggers = "broadcast"`, `reports = "control-
        network"`). It is one switch. Default: 1Gbps.
    :param controllers: Which controllers send pause frames. Default: "one".
    :param drain: With `receive-buffer`: the rate at which applications read. Default: they read at once.
    :param guard: The unused time between slots (§5.4: 15 µs). Default: "15us".
    :param host_timeout: A host that is silent for this long gets no slots any more, neither as a sender nor as a
        destination. Default: two rounds.
    :param hosts: The hosts that take part, as a list such as `"0-15"` (§2, §3.2: a portion of the network). The others
        send as without a scheme. What is sent to them needs no slots, and uses `short-share`. Default: all hosts.
    :param jitter: The largest random delay of the effect in addition to `reaction`. Default: 4 µs for `pause` (Fig. 1:
        2 to 6 µs), 5 µs for the others (§3.2.3: "on the order of 5 µs or less").
    :param lead: The last message about a round leaves the fabric manager at least this long before the round begins.
        Default: "50us".
    :param manager_timeout: A host with waiting packets that gets no message for this long sends them without slots.
        Default: five rounds.
    :param min_slot: If given, slots are as long as suits the demand of the round, from this to `slot` (§4.1).
    :param pipelined: Whether a round is planned and announced while the one before it runs (§4). Default: true.
    :param planning_time: How long the planning of a round takes. Default: "100us".
    :param reaction: The shortest time from the arrival of a pause frame to its effect. The packet in transmission is
        always finished. Default: as measured, 2 µs for `pause`, which NICs implement (Fig. 1), and 150 µs for the
        others, which software implements (Fig. 5: 100 to 200 µs).
    :param receive_buffer: The bytes that each host can receive before its applications read them (§4.2). No host gets a
        slot for more. Default: no limit.
    :param report_interval: The shortest interval between reports of a host with new packets. Other hosts report once a
        `round`. Default: a tenth of the round.
    :param report_slot: With `reports = "slot"`: how long that slot is. Default: 30 µs.
    :param reports: How demand is collected. Default: "out-of-band".
    :param round: A round has as many slots as its demand needs and as fit into this (§4.1: for example 10 ms). Default:
        "10ms".
    :param scale: `"auto"`: periods that are not given get values that fit this network and traffic. The resolved
        scenario has these values.
    :param scheduler: How rounds are planned (§4.3). Default: "any".
    :param self_ending: Whether a host ends its slot by itself, as it knows the length of slots, so that a lost pause
        frame does no harm. If not, it sends until it is stopped, as in the paper (§3.2.2). Default: true.
    :param short_flow: The bytes to each destination that count as short flows in each `round`, as long as no packet
        waits for the destination. Pure acknowledgements are always short. Default: 10 KB, or less if all hosts together
        would otherwise send more to one host in a round than `short-share` of the slowest host's link carries.
    :param short_share: The share of every link for short flows, which need no slots (§4.1, §7), from 0 to below 1. A
        host sends them at not more than this share of its link, in class 6. Default: 0.0.
    :param signalling: The form of pause frames. Default: "extended".
    :param slot: How long a host may send in a slot (§6.1: 300 µs); the longest slot if `min-slot` is given. Default:
        "300us".
    :param switch_buffer: If given, a host sends to a slower one as fast as the rest of the path carries, in one slot up
        to this many bytes. The last switch holds them and forwards them in the following slots, in which nothing else
        is sent to that host (§4.3). The queues of switches need this room. Default: hosts send at the rate of the path.
    :param triggers: With `controllers = "per-switch"`: how they are triggered.
    :param weights: By name of a host, the slots that it gets in turn before the next host. Other hosts get 1.
    """
    KIND: ClassVar[str] = "tdma"
    clock_drift: Time | None = None
    control_delay: Time | None = None
    control_rate: Rate | None = None
    controllers: Literal["one", "per-switch"] | None = None
    drain: Rate | None = None
    guard: Time | None = None
    host_timeout: Time | None = None
    hosts: int | str | None = None
    jitter: Time | None = None
    lead: Time | None = None
    manager_timeout: Time | None = None
    min_slot: Time | None = None
    pipelined: bool | None = None
    planning_time: Time | None = None
    reaction: Time | None = None
    receive_buffer: Size | None = None
    report_interval: Time | None = None
    report_slot: Time | None = None
    reports: Literal["out-of-band", "slot", "control-network"] | None = None
    round: Time | None = None
    scale: Literal["auto"] | None = None
    scheduler: Literal["weighted-round-robin", "tree", "any"] | None = None
    self_ending: bool | None = None
    short_flow: Size | None = None
    short_share: float | None = None
    signalling: Literal["pause", "pfc", "extended"] | None = None
    slot: Time | None = None
    switch_buffer: Size | None = None
    triggers: Literal["one-by-one", "broadcast"] | None = None
    weights: Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ControlFastpass(Table):
    """Fastpass: an arbiter, on a host of its own, gives each packet a timeslot and a path.

    Source: Perry, Ousterhout, Balakrishnan, Shah and Fugal, "Fastpass: A Centralized "Zero-Queue" Datacenter Network",
    SIGCOMM 2014.

    Section numbers are those of the paper. Hosts' clocks are exact unless `clock-offset`, `clock-drift` or `jitter`
    says otherwise.

    :param allocators: How many allocators share the pairs of hosts; one by default. Each allocates a `batch` of its own
        at the same time, so this number of batches is allocated at once. On real machines each can have a core. With
        another number, pairs get other timeslots.
    :param arbiter_rate: Rate of the arbiters' own links. Default: that of the first host.
    :param batch: How many timeslots are allocated at once. A packet waits for up to this number of timeslots in
        addition to `lead`. Fewer timeslots are useful if timeslots are long, but are more work for an arbiter. Default:
        64.
    :param clock_drift: How far hosts' clocks drift apart in a second, in addition to `clock-offset`. Each clock is fast
        or slow by at most half of it, which is drawn at the start. Quartz clocks drift apart by 100 µs. Zero means no
        drift. Default: "0ps".
    :param clock_offset: The largest error of hosts' clocks, early or late. Each clock has a fixed error, which is drawn
        at the start. With PTP it is below 1 µs (§6.3). Default: "0ps".
    :param clock_resync: How often a host's clock is corrected, except for `clock-offset`. Each host has its own times.
        The default is the usual interval of PTP. Default: "1s".
    :param fault_losses: The least number of lost packets for which a link or switch can count as faulty. Default: 10.
    :param fault_share: A link or switch is faulty when it loses more than this share of the timeslots allocated over
        it. Default: 0.3.
    :param fault_window: Losses and timeslots are counted over one to two times this period. Default: "1ms".
    :param gap: The least time between messages of one host to the arbiter, or of the arbiter to one host; 20 µs in the
        released code. Default: "20us".
    :param isolate_faults: Whether hosts report lost packets, and the arbiter avoids links and switches that lose most
        packets (§5.2). Default: true.
    :param jitter: The transmission of a timeslot begins late by up to this much, because of timers and locks (§6.3).
        The delay is drawn for each timeslot. Default: "0ps".
    :param late: A host that is later than this for a timeslot does not use it, and asks for another one (§6.3).
        Default: four timeslots; one timeslot with exact clocks, unless `messages = "first"`.
    :param lead: The time from the allocation of a timeslot until it begins; 65 µs in the paper (§5.1). Timeslots are
        allocated `batch` at a time. Default: "65us".
    :param messages: When messages to and from the arbiter leave. Default: "reserved".
    :param policy: Which pair of hosts gets a timeslot first. Default: "max-min".
    :param probe_interval: How often a faulty link or switch is probed. After three successful probes in a row it is
        used again. Default: "5ms".
    :param processing: The time from the allocation of timeslots until the arbiter sends the grants. Default: "5us".
    :param quantum: Timeslots that a pair of hosts gets per turn under `max-min`. 1 is fairest. More timeslots are less
        work for an arbiter. Default: 1.
    :param reserve: Share of each timeslot that is left for messages to and from the arbiter, which are not scheduled;
        about 1 % in the paper (§7.1). Default: as much as the messages of all hosts need on links next to the arbiter,
        from 1 to 25 %; 1 % with `messages = "first"`. Where messages need more, the arbiter allocates fewer timeslots.
    :param scale: `"auto"`: periods that are not given get values that fit this network and traffic. The resolved
        scenario has these values.
    :param secondary: Whether a second arbiter takes over when the first falls silent (§5.1). The stations are called
        `arbiter` and `arbiter-secondary`. Default: false.
    :param slot: Length of a timeslot. Default: a full packet at the slowest host's rate, and `reserve` on top.
    :param strict_turns: Whether a pair's first turn in a batch is a `quantum`, too. Otherwise, where hosts have few
        pairs, it is an equal share of the batch at the busier host, which is less work for an arbiter and a little
        further from max-min fairness.
    :param tenants: Groups of hosts with a weight and a class; only under `max-min`, where all hosts have one rate.
    :param timeout: Demand or slots that are not acknowledged after this time are reported again. 200 µs in the released
        code. Default: "200us".
    :param watchdog_interval: Interval between the keep-alive messages of the active arbiter. 100 µs in the released
        code. Default: "100us".
    :param watchdog_timeout: The other arbiter takes over when the last such message is older than this; 1 ms in the
        paper (§5.1). Default: "1ms".
    """
    KIND: ClassVar[str] = "fastpass"
    allocators: int | None = None
    arbiter_rate: Rate | None = None
    batch: int | None = None
    clock_drift: Time | None = None
    clock_offset: Time | None = None
    clock_resync: Time | None = None
    fault_losses: int | None = None
    fault_share: float | None = None
    fault_window: Time | None = None
    gap: Time | None = None
    isolate_faults: bool | None = None
    jitter: Time | None = None
    late: Time | None = None
    lead: Time | None = None
    messages: Literal["reserved", "first"] | None = None
    policy: Literal["max-min", "shortest-first"] | None = None
    probe_interval: Time | None = None
    processing: Time | None = None
    quantum: int | None = None
    reserve: float | None = None
    scale: Literal["auto"] | None = None
    secondary: bool | None = None
    slot: Time | None = None
    strict_turns: bool | None = None
    tenants: Sequence[Tenant | Mapping[str, Any]] | None = None
    timeout: Time | None = None
    watchdog_interval: Time | None = None
    watchdog_timeout: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ControlHedera(Table):
    """Hedera: edge switches report large flows to a scheduler, which gives them paths without conflict.

    Source: Al-Fares, Radhakrishnan, Raghavan, Huang and Vahdat, "Hedera: Dynamic Flow Scheduling for Data Center
    Networks", NSDI 2010.

    Section numbers are those of Al-Fares' dissertation.

    :param c: With annealing: the factor c of the acceptance probability, as a multiple of the number of steps (§4.2.4).
        Default: 0.5 for up to 16 hosts, 1,000 for more.
    :param computing: How long estimation and placement take, in addition to the messages (§4.4.4: 100 ms). Default:
        "100ms".
    :param expire: How long a path is used after the scheduler last sent it. Then the hash of the connection decides
        again. Default: three times `poll`.
    :param gather: How long the scheduler waits for further reports after the first of a poll. Default: "1ms".
    :param install: How long it takes from the arrival of a path at an edge switch until packets follow it. Default:
        "1ms".
    :param iterations: With annealing: the number of steps in each poll (§4.4.4: 1,000 to 2,000,000). Default: 10000.
    :param placement: How paths for large flows are found. Default: "annealing".
    :param poll: How often edge switches report their counts (§4.3.4: 5 s). Default: "5s".
    :param scale: `"auto"`: periods that are not given get values that fit this network and traffic. The resolved
        scenario has these values.
    :param scheduler_rate: The rate of the scheduler's link (§4.4.4: 10 Gbit/s for large networks). Default: that of a
        host's link.
    :param threshold: The least share of its host's link for which a flow is large (§4.1.1: 0.1). Default: 0.1.
    """
    KIND: ClassVar[str] = "hedera"
    c: float | None = None
    computing: Time | None = None
    expire: Time | None = None
    gather: Time | None = None
    install: Time | None = None
    iterations: int | None = None
    placement: Literal["first-fit", "annealing", "annealing-per-flow", "best"] | None = None
    poll: Time | None = None
    scale: Literal["auto"] | None = None
    scheduler_rate: Rate | None = None
    threshold: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ControlFlowScheduler(Table):
    """The fat-tree's flow scheduler: a large flow gets the first path without a reserved link.

    Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008,
    section 3.7.

    Section numbers are those of Al-Fares' dissertation.

    :param computing: How long the search for paths takes, in addition to the messages. Default: "1ms".
    :param forget: How long a flow that is not reported keeps its path and its links. Default: three times `poll`.
    :param install: How long it takes from the arrival of a path at an edge switch until packets follow it. Default:
        "1ms".
    :param poll: How often edge switches report their large flows. Default: "1s".
    :param scale: `"auto"`: periods that are not given get values that fit this network and traffic. The resolved
        scenario has these values.
    :param scheduler_rate: The rate of the scheduler's link. Default: that of a host's link.
    :param threshold: The least share of its host's link for which a flow is large. Default: 0.1.
    """
    KIND: ClassVar[str] = "flow-scheduler"
    computing: Time | None = None
    forget: Time | None = None
    install: Time | None = None
    poll: Time | None = None
    scale: Literal["auto"] | None = None
    scheduler_rate: Rate | None = None
    threshold: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ControlCircuits(Table):
    """Circuits between racks change by a schedule, in `hybrid` fabrics.

    Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section 2.2.

    How circuits are scheduled.

    :param adu_delay: With `demand = "adu"`: hosts report each flow in a message over a control network when the
        application writes it, and the message arrives after this time. Default: the report is a field in the first
        segment of the flow. Source: Etalon, section 5.2.
    :param adu_loss: With `adu-delay`: the share of these messages that are lost, from 0 to below 1. TCP sends them
        again after the transport's `min-rto`, and holds back later messages of the same host until then.
    :param computing: How long planning takes, in addition to the messages. Default: "20us".
    :param custom: With `custom`: the scheduler of the calling program.
    :param day: The shortest day. Default: nine nights, so that circuits are up for nine tenths of the time.
    :param decomposition_only: With `solstice`: whether the week is filled by longer days, as in Etalon's code.
        Otherwise time and circuits that the decomposition leaves serve the remaining demand.
    :param demand: The source of the demand. Default: "voq".
    :param fallback: With `solstice`: the replacement of a week that serves little demand.
    :param gather: How long the scheduler waits for further reports after the first of a week. Default: "20us".
    :param hold: With `max-weight`: how long circuits are held. Default: the whole week.
    :param inflate: With `solstice`: whether demand is scaled up until it fills half of the week, as in Etalon's code.
    :param prefilter: With `solstice`: if a pair of racks has at least this demand, pairs with less are left to the
        packet switch, as in Etalon's code. Default: no pair is left out.
    :param report_ahead: How long before a week racks report their demand for it. Default: a whole week.
    :param scale: `"auto"`: periods that are not given get values that fit this network and traffic. The resolved
        scenario has these values.
    :param schedule: With `fixed`: the week, in microseconds, as "2 180 1/2/3/0 20 -1/-1/-1/-1". The first number is the
        number of slices. Each slice has its length and, by destination rack, the source; -1 means none. Each circuit
        switch has a line.
    :param scheduler: How the circuits of a week are planned. Default: "rotor".
    :param stretch: With `phases`: how long each phase has its circuits, as a multiple of the time that its bytes take
        on a circuit, from 1 to 100. Default: 1.25.
    :param week: The time that is planned at once. Default: with `rotor` the time that all pairs take, otherwise 2ms.
        With `fixed` the schedule determines it.
    """
    KIND: ClassVar[str] = "circuits"
    adu_delay: Time | None = None
    adu_loss: float | None = None
    computing: Time | None = None
    custom: CustomCircuits | Mapping[str, Any] | None = None
    day: Time | None = None
    decomposition_only: bool | None = None
    demand: Literal["voq", "adu", "perfect"] | None = None
    fallback: Literal["if-better", "if-empty", "ring"] | None = None
    gather: Time | None = None
    hold: Time | None = None
    inflate: bool | None = None
    prefilter: Size | None = None
    report_ahead: Time | None = None
    scale: Literal["auto"] | None = None
    schedule: str | None = None
    scheduler: Literal["rotor", "fixed", "solstice", "eclipse", "birkhoff-von-neumann", "max-weight", "portfolio", "mesh", "clos", "clos-direct", "phases", "phases-on-demand", "custom"] | None = None
    stretch: float | None = None
    week: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class ControlCustom(Table):
    """A central scheduler, or a whole scheme, that the calling program supplies in Rust.

    A central scheduler, or a whole scheme, that the calling program supplies.

    :param name: The name under which the program supplies it.
    :param options: The options of the scheduler or scheme itself.
    :param xco: Options of XCo's controller and coordinators, which carry out the decisions of a scheduler. They are
        refused with a whole scheme, which has its own. The options of XCo's own schedulers have no effect.
    """
    KIND: ClassVar[str] = "custom"
    name: str
    options: Mapping[str, Any] | None = None
    xco: XcoOptions | Mapping[str, Any] | None = None


class Control:
    """A central scheduler and its options. In a scenario, it is a table or only a name.
    """
    none = ControlNone
    xco = ControlXco
    tdma = ControlTdma
    fastpass = ControlFastpass
    hedera = ControlHedera
    flow_scheduler = ControlFlowScheduler
    circuits = ControlCircuits
    custom = ControlCustom


AnyControl = ControlNone | ControlXco | ControlTdma | ControlFastpass | ControlHedera | ControlFlowScheduler | ControlCircuits | ControlCustom


@dataclass(slots=True, kw_only=True, repr=False)
class CoreNet(Table):
    """Core packet switches (`core0`, …), all alike, whose ports end at the circuit switches.

    Source: Poutievski et al., "Jupiter Evolving: Transforming Google's Datacenter Network via Optical Circuit Switches
    and Software-Defined Networking", SIGCOMM 2022, section 2: blocks and spines are joined by optical circuit switches.

    :param ports: Ports of each core switch. They are divided evenly among the circuit switches, and evenly among the
        racks.
    :param switches: Core switches.
    :param rate: Rate at which these ports send. Default: the rate of a circuit.
    """
    ports: int
    switches: int
    rate: Rate | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class CustomCircuits(Table):
    """A circuit scheduler that the calling program supplies.

    :param name: The name that the program has for it.
    :param options: Its own options.
    """
    name: str
    options: Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class End(Table):
    """When a run ends.

    :param at: The latest end.
    :param when: What ends a run before `at`. Default: "flows-done".
    """
    at: Time | None = None
    when: Literal["flows-done", "time"] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EnginePacket(Table):
    """Simulates every packet.
    """
    KIND: ClassVar[str] = "packet"


@dataclass(slots=True, kw_only=True, repr=False)
class EngineFlow(Table):
    """Simulates flows as fluids without packets: each flow has a rate at any time. For very large networks and long times.

    How the flow-level engine computes rates.

    :param increase: Increase of a flow's rate in each tick after slow start, with rates = "aimd"; 120Mbps unless given,
        which is a segment of 1500 B each 100us.
    :param rates: The model of rates. Default: "max-min".
    :param tick: Time from one update of all rates to the next, with rates = "aimd"; 100us unless given.
    :param tolerance: With rates = "max-min": if the rate that a link gives to its flows changes by less than this
        share, the change is not propagated. From 0 (rates are exact) to 0.01.
    :param weights: With rates = "max-min", weights of flows by priority class, from class 0 on; those not given are 1.
        Rates are max-min fair for a weight of one.
    """
    KIND: ClassVar[str] = "flow"
    increase: Rate | None = None
    rates: Literal["max-min", "aimd"] | None = None
    tick: Time | None = None
    tolerance: float | None = None
    weights: Sequence[float] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EngineEmulate(Table):
    """Emulates a network with real hosts: network namespaces of this machine, connected by a network that is simulated
    packet by packet. For `slotline emulate`.

    How a scenario is emulated.

    :param circuit_signal: How hosts with the transport `retcp` learn of circuits.
    :param dilation: How many times slower than real time the network runs, 1 to 100000. Default: 1.0.
    :param exact: Whether the hosts are in a guest machine with virtual time (QEMU, without KVM), where runs repeat
        themselves.
    :param gate: How packets of applications reach the modelled network. Default: "auto".
    :param stay: Whether the hosts stay up until the run is stopped, regardless of `end`.
    :param switches: What joins the hosts.
    """
    KIND: ClassVar[str] = "emulate"
    circuit_signal: Literal["map", "ecn-echo"] | None = None
    dilation: float | None = None
    exact: bool | None = None
    gate: Literal["auto", "queue", "interface", "packet", "xdp"] | None = None
    stay: bool | None = None
    switches: Literal["modelled", "open-vswitch"] | None = None


class Engine:
    """The engine and its options: in a scenario a table, or only the name.
    """
    packet = EnginePacket
    flow = EngineFlow
    emulate = EngineEmulate


AnyEngine = EnginePacket | EngineFlow | EngineEmulate


@dataclass(slots=True, kw_only=True, repr=False)
class EventLinkDown(Table):
    """A link loses the packets on it and carries no more packets.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param link: The link: the names of its two ends, as in `overrides` of the fabric.
    :param every: Time from one repetition to the next. Only with `times`.
    :param reroute_after: Time until the routes change; zero means at once. Default: "0ps".
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "link-down"
    at: Time
    link: str
    every: Time | None = None
    reroute_after: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventLinkUp(Table):
    """A link carries packets again.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param link: The link: the names of its two ends, as in `overrides` of the fabric.
    :param every: Time from one repetition to the next. Only with `times`.
    :param reroute_after: Time until the routes change; zero means at once. Default: "0ps".
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "link-up"
    at: Time
    link: str
    every: Time | None = None
    reroute_after: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventSwitchDown(Table):
    """All links of a switch go down.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param switch: The switch's name.
    :param every: Time from one repetition to the next. Only with `times`.
    :param reroute_after: Time until the routes change; zero means at once. Default: "0ps".
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "switch-down"
    at: Time
    switch: str
    every: Time | None = None
    reroute_after: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventSwitchUp(Table):
    """All links of a switch carry packets again.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param switch: The switch's name.
    :param every: Time from one repetition to the next. Only with `times`.
    :param reroute_after: Time until the routes change; zero means at once. Default: "0ps".
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "switch-up"
    at: Time
    switch: str
    every: Time | None = None
    reroute_after: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventRate(Table):
    """A link gets another rate, in both directions; routes do not change.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param link: The link: the names of its two ends, as in `overrides` of the fabric.
    :param rate: The new rate, in both directions.
    :param every: Time from one repetition to the next. Only with `times`.
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "rate"
    at: Time
    link: str
    rate: Rate
    every: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventControllerDown(Table):
    """A controller of a central scheme stops and loses its state.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param controller: The controller's name. Schemes without such a controller are not affected.
    :param every: Time from one repetition to the next. Only with `times`.
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "controller-down"
    at: Time
    controller: str
    every: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventControllerUp(Table):
    """A controller starts again, without its previous state.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param controller: The controller's name. Schemes without such a controller are not affected.
    :param every: Time from one repetition to the next. Only with `times`.
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "controller-up"
    at: Time
    controller: str
    every: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventLeave(Table):
    """A host leaves. It first informs XCo's controller, which no longer schedules it; then its links go down.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param host: The host's name.
    :param every: Time from one repetition to the next. Only with `times`.
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "leave"
    at: Time
    host: str
    every: Time | None = None
    times: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class EventJoin(Table):
    """A host returns: its links go up, and it registers with XCo's controller.

    :param at: Time of the event; of the first repetition, if it is repeated.
    :param host: The host's name.
    :param every: Time from one repetition to the next. Only with `times`.
    :param times: How often it happens. More than once needs `every`. Default: 1.
    """
    KIND: ClassVar[str] = "join"
    at: Time
    host: str
    every: Time | None = None
    times: int | None = None


class Event:
    """One event.

    ```toml [[event]] at = "5ms" kind = "link-down" link = "edge0.0-agg0.1" reroute-after = "1ms" ```
    """
    link_down = EventLinkDown
    link_up = EventLinkUp
    switch_down = EventSwitchDown
    switch_up = EventSwitchUp
    rate = EventRate
    controller_down = EventControllerDown
    controller_up = EventControllerUp
    leave = EventLeave
    join = EventJoin


AnyEvent = EventLinkDown | EventLinkUp | EventSwitchDown | EventSwitchUp | EventRate | EventControllerDown | EventControllerUp | EventLeave | EventJoin


@dataclass(slots=True, kw_only=True, repr=False)
class Expect(Table):
    """A value that a metric or a counter is expected to have, for example one from a paper.

    :param at: In a file with a `sweep`, the points to which it applies: paths of varied keys, each with a value.
        Default: all points.
    :param at_least: The mean is at least this.
    :param at_most: The mean is at most this.
    :param counter: Instead of a metric, a count of the table `control` by its name, such as `voq_drops`. Its value is a
        number, in the count's unit.
    :param metric: The metric.
    :param note: Why a result differs from it, in one sentence.
    :param quantity: Instead of a metric, a quantity of `measure` by its name.
    :param relative_to: The value is the mean divided by that of this scheme: a number.
    :param scheme: The scheme. Default: every scheme.
    :param source: Where the value comes from.
    :param tolerance: How far the mean may be from `value`, as a share of it. Default: 0.1.
    :param value: The expected value, a number or a quantity with its unit.
    """
    at: Mapping[str, Any] | None = None
    at_least: float | str | None = None
    at_most: float | str | None = None
    counter: str | None = None
    metric: Literal["fct-mean", "fct-p50", "fct-p99", "fct-max", "fct-small-p99", "fct-large-mean", "slowdown-mean", "slowdown-p99", "qct-mean", "qct-p99", "makespan", "goodput", "goodput-per-flow", "goodput-tcp", "goodput-udp", "fairness", "retransmissions", "timeouts", "drops", "loss", "marks", "pauses", "queue-p50", "queue-p99", "queue-max", "circuit-utilisation", "fabric-latency-p50", "fabric-latency-p99", "bump-error", "bump-within-2", "limiter-queue-max", "completed", "unfinished", "not-started"] | None = None
    note: str | None = None
    quantity: str | None = None
    relative_to: str | None = None
    scheme: str | None = None
    source: str | None = None
    tolerance: float | None = None
    value: float | str | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class GraphLink(Table):
    """A full-duplex link. Several may join the same two nodes.

    :param a: Name of one end.
    :param b: Name of the other.
    :param delay: Propagation delay from `a` to `b`.
    :param rate: Rate from `a` to `b`.
    :param reverse_delay: Propagation delay from `b` to `a`. Default: the delay from `a` to `b`.
    :param reverse_rate: Rate from `b` to `a`. Default: the rate from `a` to `b`.
    """
    a: str
    b: str
    delay: Time | None = None
    rate: Rate | None = None
    reverse_delay: Time | None = None
    reverse_rate: Rate | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Limit(Table):
    """Bumps as reaction points. They take notices for the senders behind them off the wire. They hold no packets, so they
    drop the packets of a flow that exceed its rate. The virtual queue of a flow drains at its rate. The `reaction` of
    the scheme sets the rate, as in hosts.

    Source: M. Al-Fares, doctoral thesis, UC San Diego, 5.3.3, 5.5.1 and 5.5.3.

    :param at: Their places, as `s0-h0`: the switch, and the node at the other end of the wire. If empty: all ports of
        switches that lead to hosts.
    :param limit: The size of the virtual queue of a flow. Packets that find no room in it are dropped. Default: 100 KB,
        as in the thesis. Default: "100KB".
    """
    at: Sequence[str] | None = None
    limit: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class LinkOverride(Table):
    """A link that differs from the rest of its fabric. `rate` and `delay` hold for both directions unless `reverse-rate`
    or `reverse-delay` gives another value for the reverse direction.

    :param link: The names of its two ends, `"h3-edge0.1"`: all parallel links between them, or with `#n` only the n-th,
        counted from 0.
    :param delay: Propagation delay from the first end to the second.
    :param rate: Rate from the first end to the second.
    :param reverse_delay: Propagation delay from the second end to the first.
    :param reverse_rate: Rate from the second end to the first.
    """
    link: str
    delay: Time | None = None
    rate: Rate | None = None
    reverse_delay: Time | None = None
    reverse_rate: Rate | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class LogColumns(Table):
    """The names of columns in a log of flows. Those that are not given are recognized by their usual names.

    :param bytes: Bytes that the sender sent.
    :param bytes_back: Bytes that the receiver sent back.
    :param dst: The address of the receiver.
    :param packets: Packets that the sender sent.
    :param packets_back: Packets that the receiver sent back.
    :param protocol: The protocol above IP, as its name or number. Only TCP and UDP are used.
    :param src: The address of the sender.
    :param start: When the flow began: a date with time, or a number since 1970.
    :param start_unit: The unit of `start`. Default: the one in the name of the column, or else seconds.
    """
    bytes: str | None = None
    bytes_back: str | None = None
    dst: str | None = None
    packets: str | None = None
    packets_back: str | None = None
    protocol: str | None = None
    src: str | None = None
    start: str | None = None
    start_unit: Literal["s", "ms", "us", "ns"] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Measure(Table):
    """What is measured.

    :param capture: Ports whose departing packets are all captured, such as `s0-h0`: the node, and the node at the other
        end of the link. Simulations capture in the runs of the first seed, emulations in all.
    :param capture_limit: Packets captured at each port; later packets are only counted. Default: 1000000.
    :param follow: Numbers of flows that are always followed.
    :param ideal: Whether each flow's completion time alone in the network is computed, for the slowdown. Default: true.
    :param metrics: The metrics to show. If empty, all that are not zero in every run. All metrics are saved in any
        case.
    :param ports: Switch ports that are sampled, such as `s0-h0`: the switch, and its neighbour. If empty, all ports,
        but at most 256: those that lead to hosts come first.
    :param quantity: Quantities that the scenario defines, beside the metrics.
    :param sample: Interval between samples of queues and throughput. Without it, no samples are taken.
    :param until: Flows that start at this time or later do not count, nor do samples from then on.
    :param warmup: Flows that start before this time do not count, nor do earlier samples. Default: "0ps".
    :param why: Whether to find where the time of flows was spent. The run of the first seed may be repeated with
        recorded packets: those of the slowest 1 % of flows, and of as many others as memory allows. Default: true.
    """
    capture: Sequence[str] | None = None
    capture_limit: int | None = None
    follow: Sequence[int] | None = None
    ideal: bool | None = None
    metrics: Sequence[Literal["fct-mean", "fct-p50", "fct-p99", "fct-max", "fct-small-p99", "fct-large-mean", "slowdown-mean", "slowdown-p99", "qct-mean", "qct-p99", "makespan", "goodput", "goodput-per-flow", "goodput-tcp", "goodput-udp", "fairness", "retransmissions", "timeouts", "drops", "loss", "marks", "pauses", "queue-p50", "queue-p99", "queue-max", "circuit-utilisation", "fabric-latency-p50", "fabric-latency-p99", "bump-error", "bump-within-2", "limiter-queue-max", "completed", "unfinished", "not-started"]] | None = None
    ports: Sequence[str] | None = None
    quantity: Sequence[Quantity | Mapping[str, Any]] | None = None
    sample: Time | None = None
    until: Time | None = None
    warmup: Time | None = None
    why: bool | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Notify(Table):
    """Messages by which the switch of a rack notifies its hosts that a circuit to another rack begins or ends. They are
    ICMP packets of 84 B on the wire.

    Source: Chen et al., "Time-Division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022, section 3.2.

    :param ahead: How long before a day hosts are notified that it begins. Default: "0ps".
    :param end_ahead: How long before the end of a day hosts are notified of it; at most `ahead`. Default: "0ps".
    :param to: Which hosts are notified. Default: "all".
    """
    ahead: Time | None = None
    end_ahead: Time | None = None
    to: Literal["all", "senders"] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class OnDemand(Table):
    """Coordination on demand (§7): only pairs of hosts whose path has a link near saturation.

    :param interval: Interval at which hosts measure and report the bytes that they send. Default: "10ms".
    :param release: A link is calm again when its load has been below this share for three intervals. Default: 0.6.
    :param threshold: A link that several hosts load with this share of its rate, or more, is near saturation. Default:
        0.9.
    """
    interval: Time | None = None
    release: float | None = None
    threshold: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PacketNet(Table):
    """The packet switch of a hybrid fabric.

    :param rate: Rate of the link from each rack.
    :param delay: Propagation delay of each link. A packet crosses two of them. Default: "5us".
    :param down_rate: Rate of the link to each rack. Default: `rate`.
    :param inner_full: What happens to packets for which the packet switch has no room. Default: "hold".
    :param inner_queue: Packets of one pair of racks that may wait in the packet switch before the source rack holds
        them back. Default: 3.
    """
    rate: Rate
    delay: Time | None = None
    down_rate: Rate | None = None
    inner_full: Literal["hold", "return"] | None = None
    inner_queue: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Pfc(Table):
    """Priority flow control (IEEE 802.1Qbb), accounted per port and class of arrival.

    :param classes: The lossless classes. Under `xco`, class 7 carries control messages and should not be lossless.
    :param headroom: Room per port and class for packets that still arrive after a pause. Default: computed from the
        rate and delay of each link.
    :param xoff: The sender is paused if more than this number of bytes from one port are in one class. Default: "30KB".
    :param xon: At this number of bytes, or fewer, the sender may resume. Default: "27KB".
    """
    classes: Sequence[int] | None = None
    headroom: Size | None = None
    xoff: Size | None = None
    xon: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyDropTail(Table):
    """Drops packets that do not fit.

    Drop-tail has no settings.
    """
    KIND: ClassVar[str] = "drop-tail"


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyEcn(Table):
    """Marks ECN-capable packets that find more than a threshold queued.

    Source: RFC 3168 for the mark; RFC 8257 (DCTCP), section 3.1, for the threshold.

    The settings of an instantaneous threshold.

    :param drop_non_ect: Whether packets that cannot be marked are dropped above the threshold, instead of queued.
        Source: RFC 3168, section 5. Default: false.
    :param threshold: Packets that find more than this in the queue are marked, if they can be marked. Default:
        "22500B".
    """
    KIND: ClassVar[str] = "ecn"
    drop_non_ect: bool | None = None
    threshold: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyRed(Table):
    """Random early detection on the average backlog, optionally gentle and with ECN.

    Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
    Networking 1(4), 1993, whose recommendations are the defaults.

    The settings of random early detection, named as by Floyd and Jacobson. The defaults are the values that they
    recommend.

    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param gentle: Whether the probability rises linearly to 1 between `max` and twice `max`, instead of jumping to 1 at
        `max`. Default: true.
    :param max: The average backlog at which the probability reaches `max-p`. Default: "22500B".
    :param max_p: The probability at `max`. Default: 0.1.
    :param min: The average backlog above which packets are chosen. Default: "7500B".
    :param weight: The weight of a new value in the average. Default: 0.002.
    """
    KIND: ClassVar[str] = "red"
    ecn: bool | None = None
    gentle: bool | None = None
    max: Size | None = None
    max_p: float | None = None
    min: Size | None = None
    weight: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyCodel(Table):
    """Drops or marks packets, more and more often, if they wait longer than a target during an interval.

    Source: RFC 8289 (CoDel), whose recommendations are the defaults; they are for the Internet.

    CoDel's settings (RFC 8289, 4.2 and 4.3). The defaults are for the Internet; within a datacenter choose about the
    base round-trip time for `interval` and a tenth of it for `target`.

    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param interval: The time for which the delay may exceed the target before a packet is dropped. Default: "100ms".
    :param target: The target of the queueing delay. Default: "5ms".
    """
    KIND: ClassVar[str] = "codel"
    ecn: bool | None = None
    interval: Time | None = None
    target: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyPie(Table):
    """Drops or marks packets with a probability. A controller sets it so that the delay approaches a target.

    Source: RFC 8033 (PIE), whose recommendations are the defaults; they are for the Internet.

    PIE's settings (RFC 8033, 4 and 5).

    :param alpha: Weight of the difference between the delay and the target, per second. Default: 0.125.
    :param beta: Weight of the change of the delay, per second. Default: 1.25.
    :param burst: The length of a burst after an idle time. Nothing is dropped during it. Default: "150ms".
    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param target: The target of the queueing delay. Default: "15ms".
    :param update: Interval between updates of the probability. Default: "15ms".
    """
    KIND: ClassVar[str] = "pie"
    alpha: float | None = None
    beta: float | None = None
    burst: Time | None = None
    ecn: bool | None = None
    target: Time | None = None
    update: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyAvq(Table):
    """Drops or marks packets that overflow a virtual queue. Its capacity adapts to a target of the utilisation.

    Source: Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management", IEEE/ACM
    Transactions on Networking 12(2), 2004.

    The settings of the adaptive virtual queue, named as in the article's section II.

    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param gain: The rate at which the virtual capacity adapts, per second. Default: 0.15.
    :param size: Room of the virtual queue. Default: "150KB".
    :param utilisation: The target of the utilisation of the link. Default: 0.98.
    """
    KIND: ClassVar[str] = "avq"
    ecn: bool | None = None
    gain: float | None = None
    size: Size | None = None
    utilisation: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyQcn(Table):
    """Quantized congestion notification: samples packets and sends their senders the severity of the congestion.

    Source: IEEE 802.1Q-2018, clauses 30 to 32 (802.1Qau).

    The settings of a QCN congestion point (IEEE 802.1Q, 32.8).

    :param equilibrium: The queue length that the congestion point aims at. Default: "26KB".
    :param full_at: The quantised feedback above which samples become no more frequent. Default: 63.
    :param growth_weight: Weight of the growth of the queue in the feedback. Default: 2.0.
    :param least_sample: Bytes between two samples at the highest congestion. Default: "15KB".
    :param most_feedback: The highest quantised feedback. Each step of feedback lowers the rate of the sender by 1/128.
        Default: 63.
    :param sample: Bytes between two samples without congestion. Default: "150KB".
    """
    KIND: ClassVar[str] = "qcn"
    equilibrium: Size | None = None
    full_at: int | None = None
    growth_weight: float | None = None
    least_sample: Size | None = None
    most_feedback: int | None = None
    sample: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyObject(Table):
    """A program of the user, in C or another language, compiled to an eBPF object file.

    Source: RFC 9669 for its instructions.

    The settings of a program in an object file.

    :param file: The object file, as clang makes it for eBPF. Its path is relative to the scenario.
    :param instructions: The most instructions for one packet. A program that exceeds this, or breaks another rule, is
        stopped. All packets of its queue pass from then on. Default: 10000.
    :param notifies: Whether the program notifies senders. Hosts then have reaction points, as under `qcn`. Default:
        false.
    """
    KIND: ClassVar[str] = "object"
    file: str
    instructions: int | None = None
    notifies: bool | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class PolicyCustom(Table):
    """A policy that the calling program supplies, in Rust.

    A queue policy that the calling program supplies.

    :param name: The name of the policy in the calling program.
    :param options: The policy's own options.
    """
    KIND: ClassVar[str] = "custom"
    name: str
    options: Mapping[str, Any] | None = None


class Policy:
    """Which packets are marked or dropped before the queue is full, and whose senders are notified. If a port has eight
    queues, the policy of each uses its own backlog.
    """
    drop_tail = PolicyDropTail
    ecn = PolicyEcn
    red = PolicyRed
    codel = PolicyCodel
    pie = PolicyPie
    avq = PolicyAvq
    qcn = PolicyQcn
    object = PolicyObject
    custom = PolicyCustom


AnyPolicy = PolicyDropTail | PolicyEcn | PolicyRed | PolicyCodel | PolicyPie | PolicyAvq | PolicyQcn | PolicyObject | PolicyCustom


@dataclass(slots=True, kw_only=True, repr=False)
class Quantity(Table):
    """A quantity of a run with a name of its own: a metric of some flows, a count, or a value of flows or of a port.

    :param name: Its name in tables and expectations.
    :param above: Instead, the share of the values that are larger than this.
    :param counter: Instead of a metric, a count of the table `control`, such as `voq_drops`.
    :param from_: Only flows that start, and samples, from this time on. Default: `warmup` of `measure`.
    :param metric: A metric, of the flows that are chosen below.
    :param over: The count is divided by this count.
    :param per: The quantity is divided by this number: of hosts, or to scale it.
    :param per_second: The count is divided by the length of the run; bytes give a rate in bit/s.
    :param percentile: The percentile of the values (nearest rank). Default: their mean.
    :param port: The port of values of ports, such as `s0-h0`: the node, and its neighbour.
    :param sender: Only flows from this host, by its number.
    :param share_of: Instead, the value as a share of this one.
    :param values: Instead of a metric, the mean of these values, or a percentile of them.
    :param workload: Only flows of this workload, by its place in the file, from 0.
    """
    name: str
    above: float | str | None = None
    counter: str | None = None
    from_: Time | None = None
    metric: Literal["fct-mean", "fct-p50", "fct-p99", "fct-max", "fct-small-p99", "fct-large-mean", "slowdown-mean", "slowdown-p99", "qct-mean", "qct-p99", "makespan", "goodput", "goodput-per-flow", "goodput-tcp", "goodput-udp", "fairness", "retransmissions", "timeouts", "drops", "loss", "marks", "pauses", "queue-p50", "queue-p99", "queue-max", "circuit-utilisation", "fabric-latency-p50", "fabric-latency-p99", "bump-error", "bump-within-2", "limiter-queue-max", "completed", "unfinished", "not-started"] | None = None
    over: str | None = None
    per: float | None = None
    per_second: bool | None = None
    percentile: float | None = None
    port: str | None = None
    sender: int | None = None
    share_of: float | str | None = None
    values: Literal["completion-times", "exchange-times", "queue", "throughput", "sent", "peak", "lost", "arrived"] | None = None
    workload: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Rack(Table):
    """A rack of a hybrid fabric.

    :param hosts: Names of its hosts.
    :param host_delay: Propagation delay of its hosts' links. Default: `host-delay`.
    :param host_rate: Rate of its hosts' links. Default: `host-rate`.
    :param switch: Name of its switch. Default: `tor0`, `tor1`, … by its place in the list.
    """
    hosts: Sequence[str]
    host_delay: Time | None = None
    host_rate: Rate | None = None
    switch: str | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Reaction(Table):
    """The reaction point of hosts (IEEE 802.1Q, 32.10): how they react when a congestion point notifies them. Each
    connection that was notified has a rate limiter.

    Source: IEEE 802.1Q-2018, clause 32 (802.1Qau).

    :param cycle: Bytes of a cycle of fast recovery. Default: "150KB".
    :param hyper_increase: Hyper-active increase adds this to the target rate, times the number of cycles after fast
        recovery. Default: "50Mbps".
    :param increase: Active increase adds this to the target rate in each cycle. Default: "5Mbps".
    :param later_cycle: Bytes of a later cycle. Default: "75KB".
    :param least: The lowest rate. Default: "10Mbps".
    :param timer: Length of a cycle of the timer in fast recovery. Later cycles are half as long. Without a timer only
        the byte counter ends cycles.
    """
    cycle: Size | None = None
    hyper_increase: Rate | None = None
    increase: Rate | None = None
    later_cycle: Size | None = None
    least: Rate | None = None
    timer: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Recovery(Table):
    """Switches have sessions with their neighbours, notify each other of lost paths, and route around failures by
    themselves.

    Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008,
    section 3.8; RFC 5880.

    :param down_interval: The time from one hello packet to the next while a session is not up. Default: "1s".
    :param interval: The time from one hello packet to the next while a session is up. Default: "10ms".
    :param multiplier: The number of missing hello packets after which a session goes down. Default: 3.
    :param processing: The time from a session's change, or a tag's arrival, until the switch's table has changed and
        its own tags leave. Default: "100us".
    """
    down_interval: Time | None = None
    interval: Time | None = None
    multiplier: int | None = None
    processing: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Relay(Table):
    """Packets that are relayed by another rack, where they wait for a second circuit.

    :param hops: Which packets are relayed.
    :param packets: Room in the relaying rack for each destination rack, in packets. A packet that finds no room is
        dropped. Default: 256.
    """
    hops: Literal["opportunistic", "valiant"]
    packets: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Resize(Table):
    """A queue that is larger around a circuit's days: `resize(s, b, tau)`.

    Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section 4.2.

    :param ahead: How long before a day the queue is enlarged.
    :param to: The larger size in packets.
    :param shrink: What happens to packets beyond the smaller size after the day. Default: "drop".
    """
    ahead: Time
    to: int
    shrink: Literal["drop", "drain"] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Scheme(Table):
    """One configuration of the network: its routing, queues, transport and central scheduler.

    :param name: Name of the scheme in results.
    :param bump: Bumps on the wires of switches: virtual queues that mark, drop or notify in their place.
    :param classifier: How often switches under `routing = "classifier"` move flows, and how many.
    :param control: The central scheduler.
    :param control_loss: Share of the central scheduler's messages that get lost on arrival, at hosts and at
        controllers.
    :param fabric: A fabric of its own. It has as many hosts as the scenario's fabric, so that the traffic is the same.
        Default: the scenario's fabric.
    :param flowlet_gap: With `routing = "flowlet"`: a flow that has paused for this long may take another path. Default:
        500us.
    :param queue: The switches' queues.
    :param reaction: What hosts do when a queue of kind `qcn` notifies them, in a switch or a bump.
    :param recovery: How switches route around failures by themselves; without it, all follow `reroute-after` of the
        event.
    :param routing: How paths are selected for packets. Default: "ecmp".
    :param transport: The hosts' transport.
    :param voq: The queues by destination rack of a `hybrid` fabric. Default: 16 packets each.
    """
    name: str
    bump: Bump | Mapping[str, Any] | None = None
    classifier: Classifier | Mapping[str, Any] | None = None
    control: AnyControl | Literal["none", "xco", "tdma", "fastpass", "hedera", "flow-scheduler", "circuits"] | Mapping[str, Any] | None = None
    control_loss: float | None = None
    fabric: AnyFabric | Mapping[str, Any] | None = None
    flowlet_gap: Time | None = None
    queue: AnyQueue | Literal["drop-tail", "ecn", "red", "codel", "pie", "avq", "qcn"] | Mapping[str, Any] | None = None
    reaction: Reaction | Mapping[str, Any] | None = None
    recovery: Recovery | Mapping[str, Any] | None = None
    routing: Literal["shortest", "ecmp", "spray", "ecmp-destination", "flowlet", "pinned", "two-level", "classifier"] | None = None
    transport: AnyTransport | Literal["newreno", "cubic", "dctcp", "retcp", "tdtcp", "fixed"] | Mapping[str, Any] | None = None
    voq: Voq | Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Shared(Table):
    """A buffer shared by all ports under dynamic thresholds (Choudhury and Hahne, IEEE/ACM Transactions on Networking
    6(2), 1998).

    :param total: The whole buffer, of all ports together, for bytes that are not yet sent.
    :param alpha: A queue may hold at most `alpha` times the bytes that are free. Source: Choudhury and Hahne, "Dynamic
        Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998.
        Default: 1.0.
    """
    total: Size
    alpha: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class Tenant(Table):
    """Hosts with a right of their own to timeslots.

    :param hosts: The hosts, by index: single ones and ranges, both ends included, such as `"0-3,7"`. Only packets that
        these hosts send count.
    :param class_: Class 0 is served before class 1, class 1 before class 2, and so on. Hosts of no tenant have weight 1
        and class 0. Default: 0.
    :param weight: Timeslots that a pair of hosts gets per turn when pairs compete: 1 to 64. Default: 1.
    """
    hosts: str
    class_: int | None = None
    weight: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class FabricStar(Table):
    """Hosts around one switch.

    Hosts around one switch, `s0`.

    :param hosts: Number of hosts.
    :param delay: Propagation delay of every link. Default: "1us".
    :param nics: Network cards per host, each with a link of its own to the switch. Default: 1.
    :param overrides: Links whose rate or delay differs.
    :param rate: Rate of every link. Default: "10Gbps".
    """
    KIND: ClassVar[str] = "star"
    hosts: int
    delay: Time | None = None
    nics: int | None = None
    overrides: Sequence[LinkOverride | Mapping[str, Any]] | None = None
    rate: Rate | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class FabricTree(Table):
    """Racks, or rows of racks, under one core switch, oversubscribed as given.

    Racks of hosts below one core switch: two tiers (`tor0`, …, `core`), or with `rows` three (`tor0.0`, …, `row0`, …,
    `core`). A pod is a rack in the first case, a row in the second.

    Every switch has one uplink. Its rate is given, or follows from the oversubscription of its tier: the sum of the
    rates below divided by it. If neither is given, the oversubscription is 1, and the tree never blocks.

    :param hosts_per_rack: Hosts in each rack.
    :param racks: Racks; with `rows`, racks in each row.
    :param delay: Propagation delay of every link. Default: "1us".
    :param nics: Network cards per host, each with a link of its own to the rack's switch. Default: 1.
    :param overrides: Links whose rate or delay differs.
    :param rack_oversubscription: Rate from hosts into a rack's switch over the rate out of it.
    :param rack_uplink: Rate of a rack's uplink.
    :param rate: Rate of host links. Default: "10Gbps".
    :param row_oversubscription: Rate from racks into a row's switch over the rate out of it.
    :param row_uplink: Rate of a row's uplink.
    :param rows: Rows. Default: no rows; racks are linked to the core switch.
    """
    KIND: ClassVar[str] = "tree"
    hosts_per_rack: int
    racks: int
    delay: Time | None = None
    nics: int | None = None
    overrides: Sequence[LinkOverride | Mapping[str, Any]] | None = None
    rack_oversubscription: float | None = None
    rack_uplink: Rate | None = None
    rate: Rate | None = None
    row_oversubscription: float | None = None
    row_uplink: Rate | None = None
    rows: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class FabricFatTree(Table):
    """The k-ary fat-tree, for any even k.

    Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008,
    section 2.2.

    `k` pods of `k`/2 edge and `k`/2 aggregation switches (`edge0.1`: pod 0, switch 1; `agg0.1`), and (`k`/2)² core
    switches (`core3`). Aggregation switch `a` of every pod is linked to the `k`/2 cores from number `a`·`k`/2 on. A
    core's port `p` leads to pod `p`.

    :param k: Ports per switch and number of pods: even, 2 to 64.
    :param delay: Propagation delay of every link. Default: "1us".
    :param host_rate: Rate of host links. Default: `rate`.
    :param nics: Network cards per host. The first is linked to the host's own edge switch, and each further one to the
        next edge switch of the pod. The first switch follows the last. Default: 1.
    :param overrides: Links whose rate or delay differs.
    :param oversubscription: Ratio of hosts to uplinks at an edge switch: each has `k`/2 times this many hosts. Default:
        1.
    :param rate: Rate of links between switches. Default: "10Gbps".
    """
    KIND: ClassVar[str] = "fat-tree"
    k: int
    delay: Time | None = None
    host_rate: Rate | None = None
    nics: int | None = None
    overrides: Sequence[LinkOverride | Mapping[str, Any]] | None = None
    oversubscription: int | None = None
    rate: Rate | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class FabricLeafSpine(Table):
    """Every leaf switch linked to every spine switch.

    Source: Alizadeh and Edsall, "On the Data Path Performance of Leaf-Spine Datacenter Fabrics", HOTI 2013.

    Leaf switches (`leaf0`, …) with hosts, and spine switches (`spine0`, …). A pod is a leaf.

    :param hosts_per_leaf: Hosts at each leaf.
    :param leaves: Leaf switches.
    :param spines: Spine switches.
    :param delay: Propagation delay of every link. Default: "1us".
    :param host_rate: Rate of host links. Default: "10Gbps".
    :param nics: Network cards per host. The first is linked to the host's own leaf, and each further one to the next
        leaf. The first leaf follows the last. Default: 1.
    :param overrides: Links whose rate or delay differs.
    :param uplink_rate: Rate of links between leaves and spines. Default: "10Gbps".
    :param uplinks_per_spine: Parallel links between a leaf and a spine. Default: 1.
    """
    KIND: ClassVar[str] = "leaf-spine"
    hosts_per_leaf: int
    leaves: int
    spines: int
    delay: Time | None = None
    host_rate: Rate | None = None
    nics: int | None = None
    overrides: Sequence[LinkOverride | Mapping[str, Any]] | None = None
    uplink_rate: Rate | None = None
    uplinks_per_spine: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class FabricHybrid(Table):
    """Racks joined by a packet switch, by circuit switches that reconfigure repeatedly, or by both.

    Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section 2.1.

    Racks of hosts, each with a switch (`tor0`, …) that queues packets by destination rack. The switches are linked to
    one packet switch (`packet0`), to circuit switches (`circuit0`, …), or to both. Links that carry nothing else
    connect them to the scheduler of the circuits (`scheduler`). A pod is a rack. Core packet switches (`core0`, …) may
    be behind the circuit switches.

    :param circuits: The circuit switches; without them, all packets go through the packet switch.
    :param control_delay: Propagation delay of the links to the scheduler, which are as fast as those of hosts. Default:
        "1us".
    :param core: Core packet switches whose ports end at the circuit switches, as the uplinks of racks do. Default:
        none.
    :param host_delay: Propagation delay of host links. Default: "1us".
    :param host_rate: Rate of host links. Default: "10Gbps".
    :param hosts_per_rack: Hosts in each rack.
    :param packet: The packet switch; without it, packets wait for a circuit.
    :param rack: Instead of `racks` and `hosts-per-rack`: the racks one by one.
    :param racks: Racks, from 2 on.
    :param racks_of: Instead of `racks` and `hosts-per-rack`, for the fabric of a scheme: its racks are those of the
        scenario's fabric.
    """
    KIND: ClassVar[str] = "hybrid"
    circuits: CircuitNet | Mapping[str, Any] | None = None
    control_delay: Time | None = None
    core: CoreNet | Mapping[str, Any] | None = None
    host_delay: Time | None = None
    host_rate: Rate | None = None
    hosts_per_rack: int | None = None
    packet: PacketNet | Mapping[str, Any] | None = None
    rack: Sequence[Rack | Mapping[str, Any]] | None = None
    racks: int | None = None
    racks_of: Literal["switches", "pods"] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class FabricGraph(Table):
    """Any network, by its hosts, switches and links, or from a file.

    Named hosts and switches, and the links between them, or a file that has them.

    Hosts are numbered in the order given. The order of switches and links has no effect, with two exceptions: parallel
    links and the links of one host are numbered in the order given. A switch's tier is its distance from the nearest
    host. Pods are the connected parts that remain without the uppermost tier. If only one part remains, each switch
    with hosts is a pod. A host with several links belongs to the pod of its first link.

    :param attach_hosts: Instead of `hosts`: the number of hosts at every switch. They are named `x.h0`, `x.h1`, … at
        switch `x`.
    :param delay: Propagation delay of links that give no delay.
    :param file: A file that has the nodes and links instead.
    :param format: Format of the file, if its name does not show it.
    :param host_delay: Propagation delay of hosts' links that give no delay. Default: `delay`.
    :param host_kinds: Kinds of node in the file that are hosts.
    :param host_rate: Rate of hosts' links that give no rate. Default: `rate`.
    :param hosts: Names of the hosts. In names of nodes of a file, `*` is for any characters.
    :param link: The links.
    :param names: The attribute in the file that names nodes. Default: their ids.
    :param overrides: Links whose rate or delay differs.
    :param rate: Rate of links that give no rate.
    :param spanning_tree: A file with the states of the switches' ports, as `bridge -j link` or `show spanning-tree`
        prints them: links of a containerlab topology that the spanning tree blocks are left out.
    :param switches: Names of the switches.
    """
    KIND: ClassVar[str] = "graph"
    attach_hosts: int | None = None
    delay: Time | None = None
    file: str | None = None
    format: Literal["node-link", "graphml", "htsim-topo", "hpcc-topology", "containerlab"] | None = None
    host_delay: Time | None = None
    host_kinds: Sequence[str] | None = None
    host_rate: Rate | None = None
    hosts: Sequence[str] | None = None
    link: Sequence[GraphLink | Mapping[str, Any]] | None = None
    names: str | None = None
    overrides: Sequence[LinkOverride | Mapping[str, Any]] | None = None
    rate: Rate | None = None
    spanning_tree: str | None = None
    switches: Sequence[str] | None = None


class Fabric(FabricBase):
    """A fabric.
    """
    star = FabricStar
    tree = FabricTree
    fat_tree = FabricFatTree
    leaf_spine = FabricLeafSpine
    hybrid = FabricHybrid
    graph = FabricGraph


AnyFabric = FabricStar | FabricTree | FabricFatTree | FabricLeafSpine | FabricHybrid | FabricGraph


@dataclass(slots=True, kw_only=True, repr=False)
class TransportNewreno(Table):
    """Loss-based, additive increase and halving, with selective acknowledgements.

    Source: RFC 5681, RFC 6582 and RFC 6675.

    :param delayed_ack: Delays acknowledgements by up to this time or every second segment (with `fixed`, every
        sixteenth); zero acknowledges each. Source: RFC 5681, section 4.2. Default: "0ps".
    :param ecn: Negotiates ECN. DCTCP requires it. Source: RFC 3168. Default: false.
    :param ecn_response: How fast the sender slows down when marks are echoed. Only with `ecn`. Default: "gradual".
    :param framing: Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4) and gap
        (12). Where it is not zero, packets are padded to Ethernet's minimum frame. Source: IEEE 802.3, clause 3.
        Default: "38B".
    :param gain_shift: DCTCP's gain g is 2 to the power of minus this. Source: RFC 8257, which recommends 4. Default: 4.
    :param headers: IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option. Default: "40B".
    :param idle_restart: After an idle time-out the window falls back to the initial one, as in Linux. Source: RFC 2861.
        Default: true.
    :param initial_window: Initial window in segments. Source: RFC 6928. Default: 10.
    :param loss_recovery: How lost segments are detected. Default: "sack".
    :param max_rto: Largest retransmission time-out. Default: "120s".
    :param max_window: The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole
        window. At most 60,000 segments count. Default: "2MB".
    :param min_rto: Smallest retransmission time-out; Linux's default is 200 ms. Source: RFC 6298 for the time-out's
        computation. Default: "200ms".
    :param mtu: Largest IP packet, 576 B to 9216 B. Default: "1500B".
    :param processing: The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave
        after a random time between zero and this, unless its card is busy that long. With zero, senders of equal rate
        stay synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet
        at the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets
        leave. Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking:
        Research and Experience 3(3), 1992.
    :param quick_acks: The first acknowledgements of a connection are not delayed, nor those after a duplicate segment
        or after a pause longer than `min-rto`. Each time these are up to sixteen: half of the segments of `max-window`,
        as in Linux. Only if `delayed-ack` is above zero. Default: false.
    :param shaper: The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave
        together, when all of them would have been sent, as with Linux's `netem rate` and segmentation by the card
        (TSO). The link of the host should be faster. Default: no shaper.
    :param tail_loss_probe: If nothing is acknowledged for two round trips, a probe segment is sent. Only with `loss-
        recovery = "rack"`. Source: RFC 8985, section 7. Default: true.
    :param timer_slack: The delay of a host's timers for late segments and probes: two ticks of its clock in Linux, 2 ms
        to 8 ms. Only with `loss-recovery = "rack"`. Default: "0ps".
    :param tsq_limit: The most bytes that wait in the network card of a host before connections take turns. Default:
        "64KB".
    """
    KIND: ClassVar[str] = "newreno"
    delayed_ack: Time | None = None
    ecn: bool | None = None
    ecn_response: Literal["gradual"] | Literal["at-once"] | None = None
    framing: Size | None = None
    gain_shift: int | None = None
    headers: Size | None = None
    idle_restart: bool | None = None
    initial_window: int | None = None
    loss_recovery: Literal["sack"] | Literal["rack"] | None = None
    max_rto: Time | None = None
    max_window: Size | None = None
    min_rto: Time | None = None
    mtu: Size | None = None
    processing: Time | None = None
    quick_acks: bool | None = None
    shaper: Rate | None = None
    tail_loss_probe: bool | None = None
    timer_slack: Time | None = None
    tsq_limit: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class TransportCubic(Table):
    """Loss-based, cubic growth, with selective acknowledgements; Linux' default.

    Source: RFC 9438 and RFC 6675.

    :param delayed_ack: Delays acknowledgements by up to this time or every second segment (with `fixed`, every
        sixteenth); zero acknowledges each. Source: RFC 5681, section 4.2. Default: "0ps".
    :param ecn: Negotiates ECN. DCTCP requires it. Source: RFC 3168. Default: false.
    :param ecn_response: How fast the sender slows down when marks are echoed. Only with `ecn`. Default: "gradual".
    :param framing: Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4) and gap
        (12). Where it is not zero, packets are padded to Ethernet's minimum frame. Source: IEEE 802.3, clause 3.
        Default: "38B".
    :param gain_shift: DCTCP's gain g is 2 to the power of minus this. Source: RFC 8257, which recommends 4. Default: 4.
    :param headers: IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option. Default: "40B".
    :param idle_restart: After an idle time-out the window falls back to the initial one, as in Linux. Source: RFC 2861.
        Default: true.
    :param initial_window: Initial window in segments. Source: RFC 6928. Default: 10.
    :param loss_recovery: How lost segments are detected. Default: "sack".
    :param max_rto: Largest retransmission time-out. Default: "120s".
    :param max_window: The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole
        window. At most 60,000 segments count. Default: "2MB".
    :param min_rto: Smallest retransmission time-out; Linux's default is 200 ms. Source: RFC 6298 for the time-out's
        computation. Default: "200ms".
    :param mtu: Largest IP packet, 576 B to 9216 B. Default: "1500B".
    :param processing: The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave
        after a random time between zero and this, unless its card is busy that long. With zero, senders of equal rate
        stay synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet
        at the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets
        leave. Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking:
        Research and Experience 3(3), 1992.
    :param quick_acks: The first acknowledgements of a connection are not delayed, nor those after a duplicate segment
        or after a pause longer than `min-rto`. Each time these are up to sixteen: half of the segments of `max-window`,
        as in Linux. Only if `delayed-ack` is above zero. Default: false.
    :param shaper: The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave
        together, when all of them would have been sent, as with Linux's `netem rate` and segmentation by the card
        (TSO). The link of the host should be faster. Default: no shaper.
    :param standard: The version of CUBIC. Default: "rfc9438".
    :param tail_loss_probe: If nothing is acknowledged for two round trips, a probe segment is sent. Only with `loss-
        recovery = "rack"`. Source: RFC 8985, section 7. Default: true.
    :param timer_slack: The delay of a host's timers for late segments and probes: two ticks of its clock in Linux, 2 ms
        to 8 ms. Only with `loss-recovery = "rack"`. Default: "0ps".
    :param tsq_limit: The most bytes that wait in the network card of a host before connections take turns. Default:
        "64KB".
    :param update_interval: CUBIC's growth is computed when the window has changed by a segment, or this long after the
        last computation (1/32 s in Linux). If zero, it is computed for each acknowledgement. Only with `standard =
        "rfc8312"`. Default: "0ps".
    """
    KIND: ClassVar[str] = "cubic"
    delayed_ack: Time | None = None
    ecn: bool | None = None
    ecn_response: Literal["gradual"] | Literal["at-once"] | None = None
    framing: Size | None = None
    gain_shift: int | None = None
    headers: Size | None = None
    idle_restart: bool | None = None
    initial_window: int | None = None
    loss_recovery: Literal["sack"] | Literal["rack"] | None = None
    max_rto: Time | None = None
    max_window: Size | None = None
    min_rto: Time | None = None
    mtu: Size | None = None
    processing: Time | None = None
    quick_acks: bool | None = None
    shaper: Rate | None = None
    standard: Literal["rfc9438"] | Literal["rfc8312"] | None = None
    tail_loss_probe: bool | None = None
    timer_slack: Time | None = None
    tsq_limit: Size | None = None
    update_interval: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class TransportDctcp(Table):
    """Reacts to the fraction of ECN marks; needs a queue that marks.

    Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, and RFC 8257.

    :param delayed_ack: Delays acknowledgements by up to this time or every second segment (with `fixed`, every
        sixteenth); zero acknowledges each. Source: RFC 5681, section 4.2. Default: "0ps".
    :param ecn: Negotiates ECN. DCTCP requires it. Source: RFC 3168. Default: true.
    :param ecn_response: How fast the sender slows down when marks are echoed. Only with `ecn`. Default: "gradual".
    :param framing: Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4) and gap
        (12). Where it is not zero, packets are padded to Ethernet's minimum frame. Source: IEEE 802.3, clause 3.
        Default: "38B".
    :param gain_shift: DCTCP's gain g is 2 to the power of minus this. Source: RFC 8257, which recommends 4. Default: 4.
    :param headers: IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option. Default: "40B".
    :param idle_restart: After an idle time-out the window falls back to the initial one, as in Linux. Source: RFC 2861.
        Default: true.
    :param initial_window: Initial window in segments. Source: RFC 6928. Default: 10.
    :param loss_recovery: How lost segments are detected. Default: "sack".
    :param max_rto: Largest retransmission time-out. Default: "120s".
    :param max_window: The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole
        window. At most 60,000 segments count. Default: "2MB".
    :param min_rto: Smallest retransmission time-out; Linux's default is 200 ms. Source: RFC 6298 for the time-out's
        computation. Default: "200ms".
    :param mtu: Largest IP packet, 576 B to 9216 B. Default: "1500B".
    :param processing: The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave
        after a random time between zero and this, unless its card is busy that long. With zero, senders of equal rate
        stay synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet
        at the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets
        leave. Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking:
        Research and Experience 3(3), 1992.
    :param quick_acks: The first acknowledgements of a connection are not delayed, nor those after a duplicate segment
        or after a pause longer than `min-rto`. Each time these are up to sixteen: half of the segments of `max-window`,
        as in Linux. Only if `delayed-ack` is above zero. Default: false.
    :param shaper: The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave
        together, when all of them would have been sent, as with Linux's `netem rate` and segmentation by the card
        (TSO). The link of the host should be faster. Default: no shaper.
    :param tail_loss_probe: If nothing is acknowledged for two round trips, a probe segment is sent. Only with `loss-
        recovery = "rack"`. Source: RFC 8985, section 7. Default: true.
    :param timer_slack: The delay of a host's timers for late segments and probes: two ticks of its clock in Linux, 2 ms
        to 8 ms. Only with `loss-recovery = "rack"`. Default: "0ps".
    :param tsq_limit: The most bytes that wait in the network card of a host before connections take turns. Default:
        "64KB".
    """
    KIND: ClassVar[str] = "dctcp"
    delayed_ack: Time | None = None
    ecn: bool | None = None
    ecn_response: Literal["gradual"] | Literal["at-once"] | None = None
    framing: Size | None = None
    gain_shift: int | None = None
    headers: Size | None = None
    idle_restart: bool | None = None
    initial_window: int | None = None
    loss_recovery: Literal["sack"] | Literal["rack"] | None = None
    max_rto: Time | None = None
    max_window: Size | None = None
    min_rto: Time | None = None
    mtu: Size | None = None
    processing: Time | None = None
    quick_acks: bool | None = None
    shaper: Rate | None = None
    tail_loss_probe: bool | None = None
    timer_slack: Time | None = None
    tsq_limit: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class TransportRetcp(Table):
    """NewReno whose window doubles when a circuit begins and halves when it ends; needs a fabric that announces circuits.

    Source: Mukerjee et al., "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    section 4.4.

    :param circuit_decrease: The factor of the window when the circuit ends, in steps of 1/1024. Source: Etalon paper,
        section 4.4: beta, for which 0.5 was found best. Default: 0.5.
    :param circuit_increase: The factor of the window when a circuit begins, in steps of 1/1024. Source: Etalon paper,
        section 4.4: alpha, for which 2 was found best. Default: 2.0.
    :param delayed_ack: Delays acknowledgements by up to this time or every second segment (with `fixed`, every
        sixteenth); zero acknowledges each. Source: RFC 5681, section 4.2. Default: "0ps".
    :param ecn: Negotiates ECN. DCTCP requires it. Source: RFC 3168. Default: false.
    :param framing: Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4) and gap
        (12). Where it is not zero, packets are padded to Ethernet's minimum frame. Source: IEEE 802.3, clause 3.
        Default: "38B".
    :param headers: IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option. Default: "40B".
    :param idle_restart: After an idle time-out the window falls back to the initial one, as in Linux. Source: RFC 2861.
        Default: true.
    :param initial_window: Initial window in segments. Source: RFC 6928. Default: 10.
    :param loss_recovery: How lost segments are detected. Default: "sack".
    :param max_rto: Largest retransmission time-out. Default: "120s".
    :param max_window: The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole
        window. At most 60,000 segments count. Default: "2MB".
    :param min_rto: Smallest retransmission time-out; Linux's default is 200 ms. Source: RFC 6298 for the time-out's
        computation. Default: "200ms".
    :param mtu: Largest IP packet, 576 B to 9216 B. Default: "1500B".
    :param processing: The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave
        after a random time between zero and this, unless its card is busy that long. With zero, senders of equal rate
        stay synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet
        at the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets
        leave. Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking:
        Research and Experience 3(3), 1992.
    :param quick_acks: The first acknowledgements of a connection are not delayed, nor those after a duplicate segment
        or after a pause longer than `min-rto`. Each time these are up to sixteen: half of the segments of `max-window`,
        as in Linux. Only if `delayed-ack` is above zero. Default: false.
    :param shaper: The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave
        together, when all of them would have been sent, as with Linux's `netem rate` and segmentation by the card
        (TSO). The link of the host should be faster. Default: no shaper.
    :param tail_loss_probe: If nothing is acknowledged for two round trips, a probe segment is sent. Only with `loss-
        recovery = "rack"`. Source: RFC 8985, section 7. Default: true.
    :param timer_slack: The delay of a host's timers for late segments and probes: two ticks of its clock in Linux, 2 ms
        to 8 ms. Only with `loss-recovery = "rack"`. Default: "0ps".
    :param tsq_limit: The most bytes that wait in the network card of a host before connections take turns. Default:
        "64KB".
    """
    KIND: ClassVar[str] = "retcp"
    circuit_decrease: float | None = None
    circuit_increase: float | None = None
    delayed_ack: Time | None = None
    ecn: bool | None = None
    framing: Size | None = None
    headers: Size | None = None
    idle_restart: bool | None = None
    initial_window: int | None = None
    loss_recovery: Literal["sack"] | Literal["rack"] | None = None
    max_rto: Time | None = None
    max_window: Size | None = None
    min_rto: Time | None = None
    mtu: Size | None = None
    processing: Time | None = None
    quick_acks: bool | None = None
    shaper: Rate | None = None
    tail_loss_probe: bool | None = None
    timer_slack: Time | None = None
    tsq_limit: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class TransportTdtcp(Table):
    """NewReno with one window for each class of paths (packet switch, circuits). The window of the current path applies. A
    packet that overtakes one on another path is no sign of loss. It needs a fabric that announces which path is active.

    Source: Chen et al., "Time-Division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022.

    :param delayed_ack: Delays acknowledgements by up to this time or every second segment (with `fixed`, every
        sixteenth); zero acknowledges each. Source: RFC 5681, section 4.2. Default: "0ps".
    :param ecn: Negotiates ECN. DCTCP requires it. Source: RFC 3168. Default: false.
    :param framing: Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4) and gap
        (12). Where it is not zero, packets are padded to Ethernet's minimum frame. Source: IEEE 802.3, clause 3.
        Default: "38B".
    :param headers: IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option. Default: "40B".
    :param idle_restart: After an idle time-out the window falls back to the initial one, as in Linux. Source: RFC 2861.
        Default: true.
    :param initial_window: Initial window in segments. Source: RFC 6928. Default: 10.
    :param max_rto: Largest retransmission time-out. Default: "120s".
    :param max_window: The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole
        window. At most 60,000 segments count. Default: "2MB".
    :param min_rto: Smallest retransmission time-out; Linux's default is 200 ms. Source: RFC 6298 for the time-out's
        computation. Default: "200ms".
    :param mtu: Largest IP packet, 576 B to 9216 B. Default: "1500B".
    :param processing: The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave
        after a random time between zero and this, unless its card is busy that long. With zero, senders of equal rate
        stay synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet
        at the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets
        leave. Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking:
        Research and Experience 3(3), 1992.
    :param quick_acks: The first acknowledgements of a connection are not delayed, nor those after a duplicate segment
        or after a pause longer than `min-rto`. Each time these are up to sixteen: half of the segments of `max-window`,
        as in Linux. Only if `delayed-ack` is above zero. Default: false.
    :param shaper: The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave
        together, when all of them would have been sent, as with Linux's `netem rate` and segmentation by the card
        (TSO). The link of the host should be faster. Default: no shaper.
    :param tsq_limit: The most bytes that wait in the network card of a host before connections take turns. Default:
        "64KB".
    """
    KIND: ClassVar[str] = "tdtcp"
    delayed_ack: Time | None = None
    ecn: bool | None = None
    framing: Size | None = None
    headers: Size | None = None
    idle_restart: bool | None = None
    initial_window: int | None = None
    max_rto: Time | None = None
    max_window: Size | None = None
    min_rto: Time | None = None
    mtu: Size | None = None
    processing: Time | None = None
    quick_acks: bool | None = None
    shaper: Rate | None = None
    tsq_limit: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class TransportFixed(Table):
    """No congestion control: a constant window, for networks in which a schedule prevents all losses.

    At most `max-window` bytes are outstanding at any time, and lost segments are sent again. It is like raw frames or
    RDMA: acknowledgements, of every sixteenth segment, do not slow the sender down. Under TDMA and Fastpass it fills
    the slots; without a schedule it fills queues.

    :param delayed_ack: Delays acknowledgements by up to this time or every second segment (with `fixed`, every
        sixteenth); zero acknowledges each. Source: RFC 5681, section 4.2. Default: "1ms".
    :param framing: Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4) and gap
        (12). Where it is not zero, packets are padded to Ethernet's minimum frame. Source: IEEE 802.3, clause 3.
        Default: "38B".
    :param headers: IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option. Default: "40B".
    :param max_rto: Largest retransmission time-out. Default: "120s".
    :param max_window: The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole
        window. At most 60,000 segments count. Default: "80MB".
    :param min_rto: Smallest retransmission time-out; Linux's default is 200 ms. Source: RFC 6298 for the time-out's
        computation. Default: "200ms".
    :param mtu: Largest IP packet, 576 B to 9216 B. Default: "1500B".
    :param processing: The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave
        after a random time between zero and this, unless its card is busy that long. With zero, senders of equal rate
        stay synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet
        at the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets
        leave. Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking:
        Research and Experience 3(3), 1992.
    :param shaper: The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave
        together, when all of them would have been sent, as with Linux's `netem rate` and segmentation by the card
        (TSO). The link of the host should be faster. Default: no shaper.
    :param tsq_limit: The most bytes that wait in the network card of a host before connections take turns. Default:
        "64KB".
    """
    KIND: ClassVar[str] = "fixed"
    delayed_ack: Time | None = None
    framing: Size | None = None
    headers: Size | None = None
    max_rto: Time | None = None
    max_window: Size | None = None
    min_rto: Time | None = None
    mtu: Size | None = None
    processing: Time | None = None
    shaper: Rate | None = None
    tsq_limit: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class TransportCustom(Table):
    """An algorithm that the calling program supplies, in Rust.

    :param name: The name of the algorithm in the calling program.
    :param delayed_ack: Delays acknowledgements by up to this time or every second segment (with `fixed`, every
        sixteenth); zero acknowledges each. Source: RFC 5681, section 4.2. Default: "0ps".
    :param ecn: Negotiates ECN. DCTCP requires it. Source: RFC 3168. Default: false.
    :param framing: Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4) and gap
        (12). Where it is not zero, packets are padded to Ethernet's minimum frame. Source: IEEE 802.3, clause 3.
        Default: "38B".
    :param headers: IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option. Default: "40B".
    :param idle_restart: After an idle time-out the window falls back to the initial one, as in Linux. Source: RFC 2861.
        Default: true.
    :param initial_window: Initial window in segments. Source: RFC 6928. Default: 10.
    :param loss_recovery: How lost segments are detected. Default: "sack".
    :param max_rto: Largest retransmission time-out. Default: "120s".
    :param max_window: The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole
        window. At most 60,000 segments count. Default: "2MB".
    :param min_rto: Smallest retransmission time-out; Linux's default is 200 ms. Source: RFC 6298 for the time-out's
        computation. Default: "200ms".
    :param mtu: Largest IP packet, 576 B to 9216 B. Default: "1500B".
    :param options: The algorithm's own options.
    :param processing: The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave
        after a random time between zero and this, unless its card is busy that long. With zero, senders of equal rate
        stay synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet
        at the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets
        leave. Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking:
        Research and Experience 3(3), 1992.
    :param quick_acks: The first acknowledgements of a connection are not delayed, nor those after a duplicate segment
        or after a pause longer than `min-rto`. Each time these are up to sixteen: half of the segments of `max-window`,
        as in Linux. Only if `delayed-ack` is above zero. Default: false.
    :param shaper: The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave
        together, when all of them would have been sent, as with Linux's `netem rate` and segmentation by the card
        (TSO). The link of the host should be faster. Default: no shaper.
    :param tail_loss_probe: If nothing is acknowledged for two round trips, a probe segment is sent. Only with `loss-
        recovery = "rack"`. Source: RFC 8985, section 7. Default: true.
    :param timer_slack: The delay of a host's timers for late segments and probes: two ticks of its clock in Linux, 2 ms
        to 8 ms. Only with `loss-recovery = "rack"`. Default: "0ps".
    :param tsq_limit: The most bytes that wait in the network card of a host before connections take turns. Default:
        "64KB".
    """
    KIND: ClassVar[str] = "custom"
    name: str
    delayed_ack: Time | None = None
    ecn: bool | None = None
    framing: Size | None = None
    headers: Size | None = None
    idle_restart: bool | None = None
    initial_window: int | None = None
    loss_recovery: Literal["sack"] | Literal["rack"] | None = None
    max_rto: Time | None = None
    max_window: Size | None = None
    min_rto: Time | None = None
    mtu: Size | None = None
    options: Mapping[str, Any] | None = None
    processing: Time | None = None
    quick_acks: bool | None = None
    shaper: Rate | None = None
    tail_loss_probe: bool | None = None
    timer_slack: Time | None = None
    tsq_limit: Size | None = None


class Transport:
    """A TCP-like transport.
    """
    newreno = TransportNewreno
    cubic = TransportCubic
    dctcp = TransportDctcp
    retcp = TransportRetcp
    tdtcp = TransportTdtcp
    fixed = TransportFixed
    custom = TransportCustom


AnyTransport = TransportNewreno | TransportCubic | TransportDctcp | TransportRetcp | TransportTdtcp | TransportFixed | TransportCustom


@dataclass(slots=True, kw_only=True, repr=False)
class Voq(Table):
    """The queues by destination rack in the switches of racks. They are FIFOs, and a packet that finds its queue full is
    dropped.

    :param at_night: What happens to the packet that is being sent when a circuit goes down. Default: "hold".
    :param mark_ahead: How long before a day acknowledgements begin to announce its circuit. Default: "600us".
    :param notify: Messages that notify hosts of circuits. Default: only marks in packets notify them.
    :param packets: The size of each queue, in packets. Default: 16.
    :param relay: Packets that are relayed by another rack over two circuits. Default: no packet is relayed.
    :param resize: A larger size around days. Default: queues have one size.
    """
    at_night: Literal["hold", "drain", "drop"] | None = None
    mark_ahead: Time | None = None
    notify: Notify | Mapping[str, Any] | None = None
    packets: int | None = None
    relay: Relay | Mapping[str, Any] | None = None
    resize: Resize | Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadStride(Table):
    """Host x sends to host x + i, in a circle; closed loop.

    Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010, section 5.2.

    Host x sends to host x + `by`, counted in a circle over the hosts that take part.

    :param by: Distance in hosts. Default: 1.
    :param class_: Priority class, 0 to 7. Default: 0.
    :param duration: Instead of `repeats`: as many flows as the host's link could carry in this time, so that it has
        something to send throughout.
    :param exponential: Whether sizes are exponentially distributed. Default: false.
    :param hosts: Hosts that take part, as senders and receivers. Default: "all".
    :param load: With `duration`: flows arrive at each host as a Poisson process during that time, whether or not
        earlier flows are done. The value is their payload as a share of what the host's link carries, above 0 and at
        most 1.
    :param repeats: Number of flows that each host sends, one after another. Default: 1.
    :param size: Bytes of each flow. With `exponential`, the mean. Default: "1MB".
    :param start: When the first flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "stride"
    by: int | None = None
    class_: int | None = None
    duration: Time | None = None
    exponential: bool | None = None
    hosts: int | str | None = None
    load: float | None = None
    repeats: int | None = None
    size: Size | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadStaggered(Table):
    """Each host sends within its rack, its pod or beyond with given probabilities; closed loop.

    Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010, section 5.2.

    A host sends within its rack, within its pod, or beyond, with given probabilities.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param duration: Instead of `repeats`: as many flows as the host's link could carry in this time, so that it has
        something to send throughout.
    :param edge: Probability of a destination at the same edge switch. Default: 0.5.
    :param exponential: Whether sizes are exponentially distributed. Default: false.
    :param hosts: Hosts that take part, as senders and receivers. Default: "all".
    :param load: With `duration`: flows arrive at each host as a Poisson process during that time, whether or not
        earlier flows are done. The value is their payload as a share of what the host's link carries, above 0 and at
        most 1.
    :param one_to_one: Whether each host receives from exactly one other in each draw. Source: Al-Fares, "A Scalable,
        Adaptive, and Extensible Data Center Network Architecture", UC San Diego, 2012, section 3.5.2. Default: false.
    :param pod: Probability of a destination in the same pod at another edge switch. Default: 0.3.
    :param redraw: Whether to draw a new destination for each repeat. Default: true.
    :param repeats: Number of flows that each host sends, one after another. Default: 1.
    :param size: Bytes of each flow. With `exponential`, the mean. Default: "1MB".
    :param start: When the first flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "staggered"
    class_: int | None = None
    duration: Time | None = None
    edge: float | None = None
    exponential: bool | None = None
    hosts: int | str | None = None
    load: float | None = None
    one_to_one: bool | None = None
    pod: float | None = None
    redraw: bool | None = None
    repeats: int | None = None
    size: Size | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadRandom(Table):
    """Each host sends to a random other, and several may send to the same; closed loop.

    Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010, section 5.2.

    Each host sends to a random other. Several may send to the same host.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param duration: Instead of `repeats`: as many flows as the host's link could carry in this time, so that it has
        something to send throughout.
    :param exponential: Whether sizes are exponentially distributed. Default: false.
    :param hosts: Hosts that take part, as senders and receivers. Default: "all".
    :param load: With `duration`: flows arrive at each host as a Poisson process during that time, whether or not
        earlier flows are done. The value is their payload as a share of what the host's link carries, above 0 and at
        most 1.
    :param redraw: Whether to draw a new destination for each repeat. Default: true.
    :param repeats: Number of flows that each host sends, one after another. Default: 1.
    :param size: Bytes of each flow. With `exponential`, the mean. Default: "1MB".
    :param start: When the first flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "random"
    class_: int | None = None
    duration: Time | None = None
    exponential: bool | None = None
    hosts: int | str | None = None
    load: float | None = None
    redraw: bool | None = None
    repeats: int | None = None
    size: Size | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadRandomBijective(Table):
    """A random permutation: each host sends to one and receives from one; closed loop.

    Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010, section 5.2.

    A random permutation: every host sends to one other and receives from one other.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param duration: Instead of `repeats`: as many flows as the host's link could carry in this time, so that it has
        something to send throughout.
    :param exponential: Whether sizes are exponentially distributed. Default: false.
    :param hosts: Hosts that take part, as senders and receivers. Default: "all".
    :param load: With `duration`: flows arrive at each host as a Poisson process during that time, whether or not
        earlier flows are done. The value is their payload as a share of what the host's link carries, above 0 and at
        most 1.
    :param redraw: Whether to draw a new permutation for each repeat. Default: true.
    :param repeats: Number of flows that each host sends, one after another. Default: 1.
    :param size: Bytes of each flow. With `exponential`, the mean. Default: "1MB".
    :param start: When the first flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "random-bijective"
    class_: int | None = None
    duration: Time | None = None
    exponential: bool | None = None
    hosts: int | str | None = None
    load: float | None = None
    redraw: bool | None = None
    repeats: int | None = None
    size: Size | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadHotSpot(Table):
    """A share of all flows goes to a few hosts; closed loop.

    Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010, section 5.2.

    A share of the flows goes to a few hosts.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param duration: Instead of `repeats`: as many flows as the host's link could carry in this time, so that it has
        something to send throughout.
    :param exponential: Whether sizes are exponentially distributed. Default: false.
    :param hosts: Hosts that take part, as senders and receivers. Default: "all".
    :param load: With `duration`: flows arrive at each host as a Poisson process during that time, whether or not
        earlier flows are done. The value is their payload as a share of what the host's link carries, above 0 and at
        most 1.
    :param redraw: Whether to draw a new destination for each repeat. Default: true.
    :param repeats: Number of flows that each host sends, one after another. Default: 1.
    :param share: Share of flows that go to one of them. The rest go to any host. Default: 0.5.
    :param size: Bytes of each flow. With `exponential`, the mean. Default: "1MB".
    :param spots: The hosts that attract traffic. Default: 1.
    :param start: When the first flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "hot-spot"
    class_: int | None = None
    duration: Time | None = None
    exponential: bool | None = None
    hosts: int | str | None = None
    load: float | None = None
    redraw: bool | None = None
    repeats: int | None = None
    share: float | None = None
    size: Size | None = None
    spots: int | str | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadShuffle(Table):
    """Every host sends to every other, all at once or some at a time.

    Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010, section 5.2.

    Every host sends to every other.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param concurrency: Unless simultaneous: number of flows of one host at a time. Its destinations are divided among
        this many chains. In each chain, a flow starts when the previous one is acknowledged. Default: 1.
    :param hosts: Hosts that take part. Default: "all".
    :param order: All at once, or some at a time. Default: "sequential".
    :param repeats: Number of shuffles. A host starts the next one when its own flows are acknowledged. Default: 1.
    :param size: Bytes from each host to each other host. Default: "1MB".
    :param spread: Each of the first flows starts at a random time during this after `start`. Default: "0ps".
    :param start: When the first flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "shuffle"
    class_: int | None = None
    concurrency: int | None = None
    hosts: int | str | None = None
    order: Literal["simultaneous", "sequential", "neighbours"] | None = None
    repeats: int | None = None
    size: Size | None = None
    spread: Time | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadIncast(Table):
    """Many senders to one receiver, in barrier-synchronised blocks or all at once.

    Source: Phanishayee et al., "Measurement and Analysis of TCP Throughput Collapse in Cluster-based Storage Systems",
    FAST 2008.

    A client fetches blocks that are spread over many servers. It requests the next block when it has received all of
    the last one. Phanishayee et al., "Measurement and Analysis of TCP Throughput Collapse" (FAST 2008). Without
    `request` there is one block, and all senders start at `start`.

    :param block: Bytes of a block. Default: "1MB".
    :param blocks: Number of blocks, fetched one after another. Default: 1.
    :param class_: Priority class, 0 to 7. Default: 0.
    :param jitter: Longest time until a server answers (or, without `request`, starts). The time is drawn for each
        server and block, uniformly from zero to this. Default: "0ps".
    :param pause: Time between the end of a block and the request for the next. Default: "0ps".
    :param receiver: The client. Default: 0.
    :param request: Bytes of the request to each sender for each block. Default: no requests. The senders then start by
        themselves, and `blocks` must be 1.
    :param senders: The servers. Default: "all".
    :param split: Whether each sender has an equal part of the block, or sends all of it. Default: true.
    :param start: When the first block starts. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "incast"
    block: Size | None = None
    blocks: int | None = None
    class_: int | None = None
    jitter: Time | None = None
    pause: Time | None = None
    receiver: int | None = None
    request: Size | None = None
    senders: int | str | None = None
    split: bool | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadRequestResponse(Table):
    """Clients ask servers; closed loop, or open loop with Poisson requests.

    Source: Schroeder, Wierman and Harchol-Balter, "Open Versus Closed: A Cautionary Tale", NSDI 2006, for the
    difference between the two loops.

    Clients send requests to servers drawn at random and get responses. In a closed loop, the next request follows the
    last response. In an open loop (`interval`), requests arrive as a Poisson process.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param clients: Hosts that send requests. Default: "all".
    :param interval: Open loop: mean time between two requests of a client.
    :param outstanding: Closed loop: number of outstanding requests of each client, each on connections of its own.
        Default: 1.
    :param request: Bytes of a request. Default: "1KB".
    :param requests: Largest number of requests of each client. Default: as many as arrive before `until` (open loop),
        or as many as its link could carry responses for (closed loop).
    :param response: Bytes of a response. Default: "100KB".
    :param servers: Hosts that answer. A host sends no request to itself. Default: "all".
    :param service: Time that a server takes to answer. Default: "0ps".
    :param start: When requests begin. Default: "0ps".
    :param think: Closed loop: time between a response and the next request. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param until: When requests end. Default: the end of the run.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "request-response"
    class_: int | None = None
    clients: int | str | None = None
    interval: Time | None = None
    outstanding: int | None = None
    request: Size | None = None
    requests: int | None = None
    response: Size | None = None
    servers: int | str | None = None
    service: Time | None = None
    start: Time | None = None
    think: Time | None = None
    to_vm: int | None = None
    until: Time | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadRing(Table):
    """Each host sends to the next in a ring, step after step, as in all-reduce.

    Source: Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations", Journal of
    Parallel and Distributed Computing 69(2), 2009.

    Every host sends to the next in a ring, step after step. A host begins a step when it has received all data of the
    previous one. An all-reduce of n hosts over D bytes is 2(n - 1) steps of D / n.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param hosts: Hosts in ring order. Default: "all".
    :param pause: Time for which a host computes between receiving a step and sending the next. Default: "0ps".
    :param repeats: Number of steps. Default: 1.
    :param size: Bytes that each host sends in a step. Default: "1MB".
    :param start: When the first step starts. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "ring"
    class_: int | None = None
    hosts: int | str | None = None
    pause: Time | None = None
    repeats: int | None = None
    size: Size | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadCollective(Table):
    """A collective operation of an AI cluster, round after round, with computation in between: all-reduce, all-to-all, a
    pipeline.

    Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
    International Journal of High Performance Computing Applications 19(1), 2005.

    A collective operation, `rounds` times, with computation before each round. Every pair of hosts has one connection
    each way for the whole run. A round is an exchange: its time is in the metrics `qct-mean` and `qct-p99`; the job's
    time is the `makespan`, which begins with the first message.

    :param barrier: When all hosts wait for each other. All hosts send a message to the first, and it sends one to all.
        Default: "none".
    :param class_: Priority class, 0 to 7. Default: 0.
    :param compute: Time that each host computes before each round; in a pipeline, on each microbatch. Default: "0ps".
    :param gap: Time after each barrier in which no host sends, so that circuits can change. Default: "0ps".
    :param hosts: Hosts that take part, in this order. Default: "all".
    :param microbatches: `pipeline`: number of parts of a round, which follow each other through the stages. Default: 4.
    :param pattern: The operation. Default: "ring-all-reduce".
    :param rounds: Number of rounds. Default: 1.
    :param size: Bytes of each host. All-reduce: the vector. All-to-all: the data for all hosts, its own share included.
        Pipeline: the data of a microbatch from one stage to the next. Shares are rounded up to bytes. Default: "1MB".
    :param slowdown: Factor of the computing time of stragglers, 1 to 1000. Default: 2.0.
    :param start: When the first round starts. Default: "0ps".
    :param stragglers: Share of the hosts whose computation takes `slowdown` times as long. Default: 0.0.
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "collective"
    barrier: Literal["none", "round", "step"] | None = None
    class_: int | None = None
    compute: Time | None = None
    gap: Time | None = None
    hosts: int | str | None = None
    microbatches: int | None = None
    pattern: Literal["ring-all-reduce", "halving-doubling", "all-to-all", "pipeline"] | None = None
    rounds: int | None = None
    size: Size | None = None
    slowdown: float | None = None
    start: Time | None = None
    stragglers: float | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadHdfs(Table):
    """Files written to a distributed file system, block by block, with replicas in other racks.

    Source: Mukerjee et al., "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    section 6, for `rehdfs`.

    Each file is written block after block. The first replica of a block is at the writer. The writer sends the block to
    a second host, in another rack, and that host forwards it to a third. A block is written when the writer knows that
    all have it. Disks take no time.

    :param block: Bytes of a block; the last of a file may be shorter. Default: "128MiB".
    :param class_: Priority class, 0 to 7. Default: 0.
    :param files: Number of files. They are assigned to racks in turn, and to the hosts of each rack in turn. Default:
        64.
    :param hosts: Hosts of the file system, which are also the writers. A rack is an edge switch. Default: "all".
    :param packet: With three replicas: size of the pieces in which a host forwards a block. Default: "64KiB".
    :param placement: Placement of replicas. Default: "hdfs".
    :param replicas: Copies of each block. Default: 2.
    :param shift: `rehdfs`: distance from a writer's rack to the rack of its blocks. Default: 1.
    :param shift_every: `rehdfs`: interval at which the distance grows by one, so that racks do not depend on each other
        for long. A file keeps the distance that holds when its writer starts. Default: it stays the same. Source:
        "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section 6.1.
    :param size: Bytes of a file. Default: "400MiB".
    :param spread: Delay of each writer after `start`, drawn uniformly from zero to this time. A cluster does not start
        all tasks of a job at once. Default: "0ps".
    :param start: When writers start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param unit: Unit for which the metrics of exchanges (`qct-mean`, `qct-p99`) are measured. Default: "block".
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "hdfs"
    block: Size | None = None
    class_: int | None = None
    files: int | None = None
    hosts: int | str | None = None
    packet: Size | None = None
    placement: Literal["hdfs", "rehdfs"] | None = None
    replicas: int | None = None
    shift: int | None = None
    shift_every: Time | None = None
    size: Size | None = None
    spread: Time | None = None
    start: Time | None = None
    to_vm: int | None = None
    unit: Literal["block", "file"] | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadRackRings(Table):
    """Large flows from each rack to the next, small ones between all others; open loop.

    Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section 5.3.

    Each rack sends large flows to the next one (with several rings, also to the one after that, and so on), and small
    flows to all other racks and within itself. The flows of a pair of racks follow each other so that their mean rate
    is the share of that pair. They are between random hosts, and their sizes are uniform from `low` to `high`.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param give_up: A flow that is not done this long after its start is given up: nothing more of it is sent. Default:
        no flow is given up.
    :param large_high: Upper limit of the size of large flows, which no flow reaches. Default: "90MB".
    :param large_low: Smallest size of large flows. Default: "9MB".
    :param large_rate: Rate of the large flows of a rack, in all rings together. Default: "26666666667bps".
    :param rings: Rings of large flows. Default: 1.
    :param small_high: Upper limit of the size of small flows, which no flow reaches. Default: "900KB".
    :param small_low: Smallest size of small flows. Default: "90KB".
    :param small_rate: Rate of the small flows of a rack to all racks together, if all pairs had small flows. Default:
        "3333333333bps".
    :param start: When the first flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param until: No flow starts at or after this time. Default: the end of the run.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "rack-rings"
    class_: int | None = None
    give_up: Time | None = None
    large_high: Size | None = None
    large_low: Size | None = None
    large_rate: Rate | None = None
    rings: int | None = None
    small_high: Size | None = None
    small_low: Size | None = None
    small_rate: Rate | None = None
    start: Time | None = None
    to_vm: int | None = None
    until: Time | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadPoisson(Table):
    """Poisson arrivals at a given load, sizes from a distribution; open loop.

    Flows arrive as a Poisson process; each goes from a random host to another.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param flows: Largest number of flows.
    :param hosts: Hosts that take part. Default: "all".
    :param load: Offered load: payload as a share of what the hosts' links can send, above 0 and at most 1. A host with
        a faster link sends more flows. Default: 0.3.
    :param pairs: The destinations of a source. Default: "uniform".
    :param persistent: Whether a pair of hosts has one connection for all its flows, instead of one per flow. Flows of a
        connection wait for each other. Default: false.
    :param sizes: Flow sizes: a published distribution (`websearch`, `hadoop`, `alistorage`, `googlerpc`), a file of
        lines `size cumulative`, or one size for all (`"100KB"`). Default: "websearch".
    :param start: When arrivals begin. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param until: When arrivals end. Default: the end of the run.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "poisson"
    class_: int | None = None
    flows: int | None = None
    hosts: int | str | None = None
    load: float | None = None
    pairs: Literal["uniform", "inter-rack"] | None = None
    persistent: bool | None = None
    sizes: str | None = None
    start: Time | None = None
    to_vm: int | None = None
    until: Time | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadUdp(Table):
    """Datagrams at a constant rate, on and off, or Poisson.

    Source: RFC 768.

    Each sender sends datagrams to one receiver, without feedback. Receivers are assigned to senders in turn.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param clock_drift: By how much the clocks of senders diverge in a second, at most 100 ms: each is fast or slow by
        at most half of this, at random, and so is the sender's rate. Default: exact clocks.
    :param message: Bytes of a message, at most 65,507. A message that exceeds one packet is fragmented. Default:
        "1400B".
    :param off: Silence between bursts. If it is 0, the rate is constant. Default: "0ps".
    :param on: Length of a burst; only with `off`. Default: "0ps".
    :param poisson: Whether datagrams are a Poisson process instead of evenly spaced. Default: false.
    :param rate: Rate of each sender, while on. Default: "line".
    :param receivers: Hosts that receive. Unless they are listed, they are taken from the hosts that do not send.
        Default: 1.
    :param senders: Hosts that send. Default: 1.
    :param start: When senders begin. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param until: When senders stop, computed from the payload: with headers, sending lasts slightly longer. Default:
        the end of the run.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "udp"
    class_: int | None = None
    clock_drift: Time | None = None
    message: Size | None = None
    off: Time | None = None
    on: Time | None = None
    poisson: bool | None = None
    rate: Literal["line"] | Rate | None = None
    receivers: int | str | None = None
    senders: int | str | None = None
    start: Time | None = None
    to_vm: int | None = None
    until: Time | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadBulk(Table):
    """Long TCP flows, of given size or as long as the run.

    Each sender has long flows to one receiver. Receivers are assigned to senders in turn.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param connections: Parallel connections from each sender. Default: 1.
    :param receivers: Hosts that receive. Unless they are listed, they are taken from the hosts that do not send.
        Default: 1.
    :param senders: Hosts that send. Default: 1.
    :param size: Bytes of each flow. Default: more than can be sent before the run ends.
    :param spread: Delay of the start of each flow, drawn uniformly from zero to this time. Default: "0ps".
    :param start: When the flows start. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "bulk"
    class_: int | None = None
    connections: int | None = None
    receivers: int | str | None = None
    senders: int | str | None = None
    size: Size | None = None
    spread: Time | None = None
    start: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadProbe(Table):
    """Small datagrams at regular times, which the receiver returns; lost ones stay unanswered.

    Source: RFC 862, the echo protocol over UDP.

    Each client sends a datagram to its server every `every`, whether or not earlier ones were answered. The server
    returns each at once. Servers are assigned to clients in turn. The time of an exchange is the round trip. A lost
    datagram stays unanswered.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param clients: Hosts that send probes. Default: 1.
    :param count: Largest number of probes of each client. Default: as many as begin before `until`.
    :param every: Time from one probe to the next. Default: "10ms".
    :param jitter: Longest delay of a probe, drawn for each, so that probes do not synchronise with other periodic
        events. Default: "0ps".
    :param servers: Hosts that answer. Unless they are listed, they are taken from the hosts that send no probes.
        Default: 1.
    :param size: Payload of a datagram in both directions, at most 1,400 bytes. Default: "64B".
    :param start: When the first probe is sent. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param until: When probes end. Default: the end of the run.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "probe"
    class_: int | None = None
    clients: int | str | None = None
    count: int | None = None
    every: Time | None = None
    jitter: Time | None = None
    servers: int | str | None = None
    size: Size | None = None
    start: Time | None = None
    to_vm: int | None = None
    until: Time | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadShortFlows(Table):
    """Sequences of short TCP flows, each on a fresh connection; closed loop.

    Source: Rajanna, Shah, Jahagirdar and Gopalan, "XCo: Explicit Coordination to Prevent Network Fabric Congestion in
    Cloud Computing Cluster Platforms", 2010, section 2.3.

    Each sender has several sequences of flows to one receiver. Receivers are assigned to senders in turn. In a
    sequence, each flow follows the previous one on a new connection: it begins with the initial window, and ends before
    congestion control reacts. Rajanna et al., "XCo" (2010), section 2.3.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param flows: Largest number of flows of each sequence. Default: four times its share of what the sender's link
        carries until the run ends.
    :param handshake: Whether a message of one byte goes to the receiver and back before each flow, as to establish a
        connection. Default: true.
    :param receivers: Hosts that receive. Unless they are listed, they are taken from the hosts that do not send.
        Default: 1.
    :param senders: Hosts that send. Default: 1.
    :param sequences: Number of parallel sequences of each sender. Default: 1.
    :param size: Bytes of each flow. Default: "30KB".
    :param spread: Delay of the start of each sequence, drawn uniformly from zero to this time. Default: "0ps".
    :param start: When sequences start. Default: "0ps".
    :param think: Time between a flow and the next of its sequence. Default: "0ps".
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "short-flows"
    class_: int | None = None
    flows: int | None = None
    handshake: bool | None = None
    receivers: int | str | None = None
    senders: int | str | None = None
    sequences: int | None = None
    size: Size | None = None
    spread: Time | None = None
    start: Time | None = None
    think: Time | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadMigration(Table):
    """Live migration of a virtual machine: its memory is copied in rounds while it runs, then the rest.

    Source: Clark et al., "Live Migration of Virtual Machines", NSDI 2005, section 3.

    The memory of a virtual machine is copied from one host to another over one connection, in rounds. The first round
    copies all of it. Each later round copies what was written meanwhile, until at most `small` is left or the rounds
    are used up. Then the machine stops, and the rest is copied. All rounds are one exchange, whose time is that of the
    migration. The time of the last round is the downtime.

    All traffic of a run is known before it starts. What is written in a round is therefore computed from `pace`, not
    from the time that the round takes. A machine that writes nothing is copied exactly once.

    :param class_: Priority class, 0 to 7. Default: 0.
    :param dirty_rate: Rate at which it writes to memory that has already been copied. Pages written twice count once.
        Default: "0bps".
    :param from_: The host that the machine leaves. Default: 0.
    :param memory: The size of its memory. Default: "256MiB".
    :param pace: Assumed rate of the rounds. Default: the rate of the slower link of the two hosts.
    :param rounds: The machine stops after this number of rounds in any case. Xen: 30. Default: 30.
    :param small: The machine stops when at most this is left. Xen: less than 50 pages of 4 KiB. Default: "200KiB".
    :param start: When the migration starts. Default: "0ps".
    :param to: The host that the machine moves to. Default: 1.
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "migration"
    class_: int | None = None
    dirty_rate: Rate | None = None
    from_: int | None = None
    memory: Size | None = None
    pace: Rate | None = None
    rounds: int | None = None
    small: Size | None = None
    start: Time | None = None
    to: int | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadTrace(Table):
    """Flows from a file: CSV, htsim .cm, HPCC, GOAL, or a packet capture.

    Flows as listed in a file, each on a connection of its own.

    :param file: The path of the file, relative to the scenario file.
    :param addresses: `pcap` and logs: a file of lines `address host` or `prefix host`. Default: hosts are numbered in
        the order of their appearance.
    :param class_: Priority class, 0 to 7, of flows for which the trace gives none. Default: 0.
    :param columns: `flow-log`: names of columns. Default: the usual names.
    :param eager: `goal`: the sender does not wait for messages up to this size. Default: 65535 B.
    :param epoch: Logs: the moment that is time zero, as a date with time or in seconds since 1970. Earlier records are
        left out. Default: the start of the first flow.
    :param format: The format of the file. Default: the one that the extension of its name says.
    :param idle_gap: `pcap`: a longer silence ends a flow. Later packets belong to another flow.
    :param packet_headers: `flow-log` and `netflow`: bytes of headers that are subtracted from the size for each packet.
        Default: none.
    :param priorities: `cm` and `hpcc-flows`: whether the file's priorities become classes. Default: false.
    :param start: When the trace starts. Default: "0ps".
    :param time_unit: `cm`: unit of `start`. Default: picoseconds.
    :param to_vm: Number, on each receiving host, of the virtual machine that receives.
    :param vm: Number, on each sending host, of the virtual machine that sends. All data from one machine to another is
        one V2V flow for XCo.
    """
    KIND: ClassVar[str] = "trace"
    file: str
    addresses: str | None = None
    class_: int | None = None
    columns: LogColumns | Mapping[str, Any] | None = None
    eager: Size | None = None
    epoch: str | None = None
    format: Literal["csv", "cm", "hpcc-flows", "hpcc-fct", "goal", "pcap", "flow-log", "zeek", "netflow"] | None = None
    idle_gap: Time | None = None
    packet_headers: Size | None = None
    priorities: bool | None = None
    start: Time | None = None
    time_unit: Literal["ps", "us"] | None = None
    to_vm: int | None = None
    vm: int | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class WorkloadCustom(Table):
    """A workload that the calling program supplies, in Rust.

    A workload that the calling program supplies.

    :param name: The name under which the program supplies it.
    :param options: Its own options.
    """
    KIND: ClassVar[str] = "custom"
    name: str
    options: Mapping[str, Any] | None = None


class Workload:
    """A workload as written in a scenario: `kind` and its options.
    """
    stride = WorkloadStride
    staggered = WorkloadStaggered
    random = WorkloadRandom
    random_bijective = WorkloadRandomBijective
    hot_spot = WorkloadHotSpot
    shuffle = WorkloadShuffle
    incast = WorkloadIncast
    request_response = WorkloadRequestResponse
    ring = WorkloadRing
    collective = WorkloadCollective
    hdfs = WorkloadHdfs
    rack_rings = WorkloadRackRings
    poisson = WorkloadPoisson
    udp = WorkloadUdp
    bulk = WorkloadBulk
    probe = WorkloadProbe
    short_flows = WorkloadShortFlows
    migration = WorkloadMigration
    trace = WorkloadTrace
    custom = WorkloadCustom


AnyWorkload = WorkloadStride | WorkloadStaggered | WorkloadRandom | WorkloadRandomBijective | WorkloadHotSpot | WorkloadShuffle | WorkloadIncast | WorkloadRequestResponse | WorkloadRing | WorkloadCollective | WorkloadHdfs | WorkloadRackRings | WorkloadPoisson | WorkloadUdp | WorkloadBulk | WorkloadProbe | WorkloadShortFlows | WorkloadMigration | WorkloadTrace | WorkloadCustom


@dataclass(slots=True, kw_only=True, repr=False)
class XcoOptions(Table):
    """Section numbers are those of the paper.

    :param controllers: How many controllers there are, and what each decides about. Default: "single".
    :param decision_time: The time from an event at the controller to its directives. Default: "10us".
    :param exempt_acks: Whether any number of pure acknowledgements counts as a small flow. Otherwise the receiver of a
        controlled flow also needs timeslices. Default: true.
    :param fairness: How capacity is divided. Default: "round-robin".
    :param guard: The time at the end of each slice in which nobody sends. It absorbs different delays to the hosts.
        Default: "0ps".
    :param hysteresis: The time for which a host waits for more packets before it gives the rest back; "a few tens of
        microseconds" (§3.1). Default: "50us".
    :param mode: Timeslices or rates. Default: "timeslice".
    :param on_demand: If given, only pairs of hosts with a link near saturation are coordinated. Default: all pairs, at
        all times.
    :param protect: The shortest time for which a host keeps a destination before another of its destinations may take
        the timeslice (pre-emption, §3.2.1). Default: half a slice.
    :param report_interval: How often a busy host repeats its report and gets an answer. A lost control message has no
        effect for longer than this. Default: a slice.
    :param scale: `"auto"`: periods that are not given get values that fit this network and traffic. The resolved
        scenario has these values.
    :param setup: How long it takes to set up a queue for a V2V flow, from its first packet. Packets wait until then.
        The paper has 75 ms (§4.8), where a script sets up the queue. Default: "0ps".
    :param slice: Length of a timeslice; the paper uses 2 ms and 10 ms (§4). Default: "10ms".
    :param small_flow: Small flows need no permission (§4.4): a host may send this many bytes to each destination per
        `slice` without permission. Default: two full packets. Default: "3KB".
    :param takeover: With a standby: how long the other has to be silent before it takes over. Default: a slice and a
        half, so that what was permitted before is over.
    :param timeout: A host that waits and receives nothing for this long sends uncontrolled. A controller that receives
        nothing from a busy host for this long removes it (§7). Default: five slices, but at least two report intervals.
    :param weights: By name of a host, its weight against others (§7, quality of service): how many times as long its
        timeslices are or, with `max-min` or `rate-limit`, how many V2V flows each of its flows counts as. Other hosts
        have weight 1.
    :param work_conserving: Whether a host gives the rest of a timeslice back when it has nothing left to send (§3.1).
        Default: true.
    """
    controllers: Literal["single", "standby", "hierarchical"] | None = None
    decision_time: Time | None = None
    exempt_acks: bool | None = None
    fairness: Literal["round-robin", "max-min"] | None = None
    guard: Time | None = None
    hysteresis: Time | None = None
    mode: Literal["timeslice", "rate-limit"] | None = None
    on_demand: OnDemand | Mapping[str, Any] | None = None
    protect: Time | None = None
    report_interval: Time | None = None
    scale: Literal["auto"] | None = None
    setup: Time | None = None
    slice: Time | None = None
    small_flow: Size | None = None
    takeover: Time | None = None
    timeout: Time | None = None
    weights: Mapping[str, Any] | None = None
    work_conserving: bool | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueDropTail(Table):
    """Drops packets that do not fit.

    Drop-tail has no settings.

    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    """
    KIND: ClassVar[str] = "drop-tail"
    limit: Size | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueEcn(Table):
    """Marks ECN-capable packets that find more than a threshold queued.

    Source: RFC 3168 for the mark; RFC 8257 (DCTCP), section 3.1, for the threshold.

    The settings of an instantaneous threshold.

    :param drop_non_ect: Whether packets that cannot be marked are dropped above the threshold, instead of queued.
        Source: RFC 3168, section 5. Default: false.
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    :param threshold: Packets that find more than this in the queue are marked, if they can be marked. Default:
        "22500B".
    """
    KIND: ClassVar[str] = "ecn"
    drop_non_ect: bool | None = None
    limit: Size | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None
    threshold: Size | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueRed(Table):
    """Random early detection on the average backlog, optionally gentle and with ECN.

    Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
    Networking 1(4), 1993, whose recommendations are the defaults.

    The settings of random early detection, named as by Floyd and Jacobson. The defaults are the values that they
    recommend.

    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param gentle: Whether the probability rises linearly to 1 between `max` and twice `max`, instead of jumping to 1 at
        `max`. Default: true.
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param max: The average backlog at which the probability reaches `max-p`. Default: "22500B".
    :param max_p: The probability at `max`. Default: 0.1.
    :param min: The average backlog above which packets are chosen. Default: "7500B".
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    :param weight: The weight of a new value in the average. Default: 0.002.
    """
    KIND: ClassVar[str] = "red"
    ecn: bool | None = None
    gentle: bool | None = None
    limit: Size | None = None
    max: Size | None = None
    max_p: float | None = None
    min: Size | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None
    weight: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueCodel(Table):
    """Drops or marks packets, more and more often, if they wait longer than a target during an interval.

    Source: RFC 8289 (CoDel), whose recommendations are the defaults; they are for the Internet.

    CoDel's settings (RFC 8289, 4.2 and 4.3). The defaults are for the Internet; within a datacenter choose about the
    base round-trip time for `interval` and a tenth of it for `target`.

    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param interval: The time for which the delay may exceed the target before a packet is dropped. Default: "100ms".
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    :param target: The target of the queueing delay. Default: "5ms".
    """
    KIND: ClassVar[str] = "codel"
    ecn: bool | None = None
    interval: Time | None = None
    limit: Size | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None
    target: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueuePie(Table):
    """Drops or marks packets with a probability. A controller sets it so that the delay approaches a target.

    Source: RFC 8033 (PIE), whose recommendations are the defaults; they are for the Internet.

    PIE's settings (RFC 8033, 4 and 5).

    :param alpha: Weight of the difference between the delay and the target, per second. Default: 0.125.
    :param beta: Weight of the change of the delay, per second. Default: 1.25.
    :param burst: The length of a burst after an idle time. Nothing is dropped during it. Default: "150ms".
    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    :param target: The target of the queueing delay. Default: "15ms".
    :param update: Interval between updates of the probability. Default: "15ms".
    """
    KIND: ClassVar[str] = "pie"
    alpha: float | None = None
    beta: float | None = None
    burst: Time | None = None
    ecn: bool | None = None
    limit: Size | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None
    target: Time | None = None
    update: Time | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueAvq(Table):
    """Drops or marks packets that overflow a virtual queue. Its capacity adapts to a target of the utilisation.

    Source: Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management", IEEE/ACM
    Transactions on Networking 12(2), 2004.

    The settings of the adaptive virtual queue, named as in the article's section II.

    :param ecn: Whether chosen packets are marked, if they can be, instead of dropped. Default: false.
    :param gain: The rate at which the virtual capacity adapts, per second. Default: 0.15.
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    :param size: Room of the virtual queue. Default: "150KB".
    :param utilisation: The target of the utilisation of the link. Default: 0.98.
    """
    KIND: ClassVar[str] = "avq"
    ecn: bool | None = None
    gain: float | None = None
    limit: Size | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None
    size: Size | None = None
    utilisation: float | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueQcn(Table):
    """Quantized congestion notification: samples packets and sends their senders the severity of the congestion.

    Source: IEEE 802.1Q-2018, clauses 30 to 32 (802.1Qau).

    The settings of a QCN congestion point (IEEE 802.1Q, 32.8).

    :param equilibrium: The queue length that the congestion point aims at. Default: "26KB".
    :param full_at: The quantised feedback above which samples become no more frequent. Default: 63.
    :param growth_weight: Weight of the growth of the queue in the feedback. Default: 2.0.
    :param least_sample: Bytes between two samples at the highest congestion. Default: "15KB".
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param most_feedback: The highest quantised feedback. Each step of feedback lowers the rate of the sender by 1/128.
        Default: 63.
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param sample: Bytes between two samples without congestion. Default: "150KB".
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    """
    KIND: ClassVar[str] = "qcn"
    equilibrium: Size | None = None
    full_at: int | None = None
    growth_weight: float | None = None
    least_sample: Size | None = None
    limit: Size | None = None
    most_feedback: int | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    sample: Size | None = None
    shared: Shared | Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueObject(Table):
    """A program of the user, in C or another language, compiled to an eBPF object file.

    Source: RFC 9669 for its instructions.

    The settings of a program in an object file.

    :param file: The object file, as clang makes it for eBPF. Its path is relative to the scenario.
    :param instructions: The most instructions for one packet. A program that exceeds this, or breaks another rule, is
        stopped. All packets of its queue pass from then on. Default: 10000.
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param notifies: Whether the program notifies senders. Hosts then have reaction points, as under `qcn`. Default:
        false.
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    """
    KIND: ClassVar[str] = "object"
    file: str
    instructions: int | None = None
    limit: Size | None = None
    notifies: bool | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class QueueCustom(Table):
    """A policy that the calling program supplies, in Rust.

    A queue policy that the calling program supplies.

    :param name: The name of the policy in the calling program.
    :param limit: The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is
        the whole buffer. Default: "150KB".
    :param options: The policy's own options.
    :param pfc: Priority flow control: pause the sender instead of dropping; needs `priorities`. Source: IEEE 802.1Qbb.
    :param priorities: Eight classes with strict priority, 7 first, instead of one FIFO. Default: false.
    :param shared: One buffer for all ports, under dynamic thresholds, instead of one for each. Source: Choudhury and
        Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking
        6(2), 1998.
    """
    KIND: ClassVar[str] = "custom"
    name: str
    limit: Size | None = None
    options: Mapping[str, Any] | None = None
    pfc: Pfc | Mapping[str, Any] | None = None
    priorities: bool | None = None
    shared: Shared | Mapping[str, Any] | None = None


class Queue:
    """The queues of the switches. Settings of other kinds of queue are refused, not ignored.
    """
    drop_tail = QueueDropTail
    ecn = QueueEcn
    red = QueueRed
    codel = QueueCodel
    pie = QueuePie
    avq = QueueAvq
    qcn = QueueQcn
    object = QueueObject
    custom = QueueCustom


AnyQueue = QueueDropTail | QueueEcn | QueueRed | QueueCodel | QueuePie | QueueAvq | QueueQcn | QueueObject | QueueCustom


@dataclass(slots=True, kw_only=True, repr=False)
class ScenarioTable(Table):
    """A scenario file.

    :param end: When a run ends.
    :param fabric: The network.
    :param name: Short name. The result's folder is named after it.
    :param scheme: The schemes that are compared. The first is the baseline.
    :param app: Programs on hosts, for `slotline emulate`; simulations ignore them.
    :param description: Description in a sentence, shown in reports. Default: "".
    :param engine: The engine that runs the scenario.
    :param event: Events that change the network during a run.
    :param expect: Values that results are expected to have.
    :param measure: What is measured.
    :param repeat: Repetitions of each scheme, each with its own seed. Default: 1.
    :param seed: Seed of the first repetition. The others have the numbers after it. Default: 1.
    :param workload: The traffic, which consists of all workloads. It may be missing if programs run on emulated hosts.
    """
    end: End | Mapping[str, Any]
    fabric: AnyFabric | Mapping[str, Any]
    name: str
    scheme: Sequence[Scheme | Mapping[str, Any]]
    app: Sequence[App | Mapping[str, Any]] | None = None
    description: str | None = None
    engine: AnyEngine | Literal["packet", "flow", "emulate"] | Mapping[str, Any] | None = None
    event: Sequence[AnyEvent | Mapping[str, Any]] | None = None
    expect: Sequence[Expect | Mapping[str, Any]] | None = None
    measure: Measure | Mapping[str, Any] | None = None
    repeat: int | None = None
    seed: int | None = None
    workload: Sequence[AnyWorkload | Mapping[str, Any]] | None = None
