//! The options of the scheme.

pub mod rounds;

use rounds::{RoundSpec, Rounds, SchedulerKind};
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::Scale;
use slotline_net::scheme::system::check_weights;
use slotline_net::time::Time;
use slotline_net::topology::{FASTEST, LONGEST_DELAY, LinkParams};
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::Hosts;
use std::collections::BTreeMap;

/// How pause frames make hosts send and stop.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Signalling {
    /// 802.3x: a frame stops or opens a whole NIC. The time determines the destination (§3.2.2).
    Pause,
    /// 802.1Qbb: eight classes, of which seven stand for destinations, six with short flows (§3.2.4).
    Pfc,
    /// PFC with 11 bits of class (§5.1): 2,046 destinations.
    #[default]
    Extended,
}

/// Who sends pause frames.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Controllers {
    /// The fabric manager sends one frame after another from the uppermost switch.
    #[default]
    One,
    /// Each switch with hosts has a controller for them, and the fabric manager triggers the controllers (§4.4).
    PerSwitch,
}

/// How the demand of hosts gets to the fabric manager.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Reporting {
    /// Reports leave at any time, as no pause frame stops them (§4.1, out of band). They use the links of hosts.
    #[default]
    OutOfBand,
    /// Reports leave in a short slot of their own at the beginning of each round (§4.1).
    Slot,
    /// All messages between hosts and the fabric manager go over a control network, by a second network card of each host.
    /// Pause frames still go over the network itself.
    ControlNetwork,
}

/// How the fabric manager triggers the controllers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Triggers {
    /// One message after another.
    #[default]
    OneByOne,
    /// One broadcast frame on a control network, to which the fabric manager and all controllers are connected (§4.4).
    Broadcast,
}

fn is_default(triggers: &Triggers) -> bool {
    *triggers == Triggers::default()
}

/// Section and figure numbers are those of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct TdmaSpec {
    /// How rounds are planned (§4.3).
    pub scheduler: SchedulerKind,
    /// By name of a host, the slots that it gets in turn before the next host. Other hosts get 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// The hosts that take part, as a list such as `"0-15"` (§2, §3.2: a portion of the network). The others send as
    /// without a scheme. What is sent to them needs no slots, and uses `short-share`. Default: all hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// How long a host may send in a slot (§6.1: 300 µs); the longest slot if `min-slot` is given.
    pub slot: Time,
    /// If given, slots are as long as suits the demand of the round, from this to `slot` (§4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_slot: Option<Time>,
    /// The unused time between slots (§5.4: 15 µs).
    pub guard: Time,
    /// A round has as many slots as its demand needs and as fit into this (§4.1: for example 10 ms).
    pub round: Time,
    /// Whether a round is planned and announced while the one before it runs (§4).
    pub pipelined: bool,
    /// How long the planning of a round takes.
    pub planning_time: Time,
    /// The last message about a round leaves the fabric manager at least this long before the round begins.
    pub lead: Time,
    /// The form of pause frames.
    pub signalling: Signalling,
    /// The shortest time from the arrival of a pause frame to its effect. The packet in transmission is always
    /// finished. Default: as measured, 2 µs for `pause`, which NICs implement (Fig. 1), and 150 µs for the others,
    /// which software implements (Fig. 5: 100 to 200 µs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction: Option<Time>,
    /// The largest random delay of the effect in addition to `reaction`. Default: 4 µs for `pause` (Fig. 1: 2 to
    /// 6 µs), 5 µs for the others (§3.2.3: "on the order of 5 µs or less").
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
    /// Whether a host ends its slot by itself, as it knows the length of slots, so that a lost pause frame does no
    /// harm. If not, it sends until it is stopped, as in the paper (§3.2.2).
    pub self_ending: bool,
    /// By how much the clocks of hosts diverge in a second (§3.2.1: 100 µs). Each clock is fast or slow by at most half
    /// of this. The drift matters with `self-ending`.
    pub clock_drift: Time,
    /// Which controllers send pause frames.
    pub controllers: Controllers,
    /// With `controllers = "per-switch"`: how they are triggered.
    #[serde(skip_serializing_if = "is_default")]
    pub triggers: Triggers,
    /// How demand is collected.
    pub reports: Reporting,
    /// The rate of the links of the control network (`triggers = "broadcast"`, `reports = "control-network"`). It is one
    /// switch. Default: 1Gbps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_rate: Option<Rate>,
    /// The delay of each link of the control network. Default: 1us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_delay: Option<Time>,
    /// With `reports = "slot"`: how long that slot is. Default: 30 µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_slot: Option<Time>,
    /// The shortest interval between reports of a host with new packets. Other hosts report once a `round`. Default: a
    /// tenth of the round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_interval: Option<Time>,
    /// The share of every link for short flows, which need no slots (§4.1, §7), from 0 to below 1. A
    /// host sends them at not more than this share of its link, in class 6.
    #[schemars(range(min = 0, max = 1))]
    pub short_share: f64,
    /// The bytes to each destination that count as short flows in each `round`, as long as no packet waits for the
    /// destination. Pure acknowledgements are always short. Default: 10 KB, or less if all hosts together would
    /// otherwise send more to one host in a round than `short-share` of the slowest host's link carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_flow: Option<Bytes>,
    /// If given, a host sends to a slower one as fast as the rest of the path carries, in one slot up to this many bytes. The
    /// last switch holds them and forwards them in the following slots, in which nothing else is sent to that host (§4.3).
    /// The queues of switches need this room. Default: hosts send at the rate of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_buffer: Option<Bytes>,
    /// The bytes that each host can receive before its applications read them (§4.2). No host gets a slot for more.
    /// Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    /// With `receive-buffer`: the rate at which applications read. Default: they read at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Rate>,
    /// A host that is silent for this long gets no slots any more, neither as a sender nor as a destination. Default:
    /// two rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_timeout: Option<Time>,
    /// A host with waiting packets that gets no message for this long sends them without slots. Default: five
    /// rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager_timeout: Option<Time>,
    /// `"auto"`: periods that are not given get values that fit this network and traffic. The resolved scenario has
    /// these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

impl Default for TdmaSpec {
    fn default() -> TdmaSpec {
        TdmaSpec {
            scheduler: SchedulerKind::default(),
            weights: BTreeMap::new(),
            hosts: None,
            slot: Time::us(300),
            min_slot: None,
            guard: Time::us(15),
            round: Time::ms(10),
            pipelined: true,
            planning_time: Time::us(100),
            lead: Time::us(50),
            signalling: Signalling::default(),
            reaction: None,
            jitter: None,
            self_ending: true,
            clock_drift: Time::us(100),
            controllers: Controllers::default(),
            triggers: Triggers::default(),
            reports: Reporting::default(),
            control_rate: None,
            control_delay: None,
            report_slot: None,
            report_interval: None,
            short_share: 0.0,
            short_flow: None,
            switch_buffer: None,
            receive_buffer: None,
            drain: None,
            host_timeout: None,
            manager_timeout: None,
            scale: None,
        }
    }
}

/// Checked options, from which the scheme's parts are made.
#[derive(Clone, Debug)]
pub struct Tdma {
    spec: TdmaSpec,
    rounds: Rounds,
}

impl Signalling {
    /// The number of classes of a link that stand for destinations. The classes after them are for short flows and for
    /// reports.
    pub fn classes(self, short: bool) -> u16 {
        match self {
            Signalling::Pause => 1,
            Signalling::Pfc => 7 - u16::from(short),
            Signalling::Extended => 2_046,
        }
    }
    /// The class of reports: the last one.
    pub const fn report_class(self) -> u16 {
        match self {
            Signalling::Pause => 0,
            Signalling::Pfc => 7,
            Signalling::Extended => 2_047,
        }
    }
}

impl TdmaSpec {
    /// [`TdmaSpec::reaction`] or its default.
    pub fn reaction(&self) -> Time {
        self.reaction.unwrap_or(match self.signalling {
            Signalling::Pause => Time::us(2),
            Signalling::Pfc | Signalling::Extended => Time::us(150),
        })
    }
    /// [`TdmaSpec::jitter`] or its default.
    pub fn jitter(&self) -> Time {
        self.jitter.unwrap_or(match self.signalling {
            Signalling::Pause => Time::us(4),
            Signalling::Pfc | Signalling::Extended => Time::us(5),
        })
    }
    /// [`TdmaSpec::report_interval`] or its default.
    pub fn report_interval(&self) -> Time {
        self.report_interval.unwrap_or(Time::ps(self.round.as_ps() / 10))
    }
    /// [`TdmaSpec::report_slot`] or its default; `None` if reports leave at any time.
    pub fn report_slot(&self) -> Option<Time> {
        let slot = self.report_slot.unwrap_or(Time::us(30));
        (self.reports == Reporting::Slot).then_some(slot)
    }
    /// The rate and delay of each link of the control network; `None` if there is no such network.
    pub fn control_link(&self) -> Option<LinkParams> {
        let rate = self.control_rate.unwrap_or(Rate(1_000_000_000));
        let delay = self.control_delay.unwrap_or(Time::us(1));
        let broadcast = self.triggers == Triggers::Broadcast;
        (broadcast || self.reports_apart()).then_some(LinkParams { rate, delay })
    }
    /// Whether hosts and the fabric manager exchange messages over the control network.
    pub fn reports_apart(&self) -> bool {
        self.reports == Reporting::ControlNetwork
    }
    /// [`TdmaSpec::host_timeout`] or its default.
    pub fn host_timeout(&self) -> Time {
        self.host_timeout.unwrap_or(self.round.times(2))
    }
    /// [`TdmaSpec::manager_timeout`] or its default.
    pub fn manager_timeout(&self) -> Time {
        self.manager_timeout.unwrap_or(self.round.times(5))
    }
    /// Whether there is a share for short flows.
    pub fn has_short(&self) -> bool {
        self.short_share > 0.0
    }
    fn round_spec(&self) -> RoundSpec {
        RoundSpec {
            scheduler: self.scheduler,
            slot: self.slot,
            min_slot: self.min_slot,
            guard: self.guard,
            round: self.round,
            reserve: self.short_share,
            switch_buffer: self.switch_buffer,
            classes: self.signalling.classes(self.has_short()),
        }
    }
    /// Checks the options.
    ///
    /// # Errors
    /// An option has an invalid value, or has no effect beside the others.
    pub fn build(&self) -> Result<Tdma, SpecError> {
        let rounds = self.round_spec().build().map_err(|error| match error.key.as_str() {
            "reserve" => {
                SpecError::new("short-share", error.message.replace("reserve", "short-share"))
            }
            _ => error,
        })?;
        self.check_times()?;
        self.check_dependencies()?;
        Ok(Tdma { spec: self.clone(), rounds })
    }
    fn check_times(&self) -> Result<(), SpecError> {
        let (least, most) = (Time::us(1), Time::s(1));
        let short = [
            ("planning-time", self.planning_time),
            ("lead", self.lead),
            ("reaction", self.reaction()),
            ("jitter", self.jitter()),
        ];
        for (key, value) in short {
            SpecError::unless(value <= most, key, value, || "at most 1s".into())?;
        }
        let interval = self.report_interval();
        SpecError::unless(interval >= least, "report-interval", interval, || {
            "at least 1us".into()
        })?;
        let link = self.control_link().unwrap_or(LinkParams { rate: FASTEST, delay: Time::ZERO });
        SpecError::unless(
            link.rate.0 > 0 && link.rate <= FASTEST,
            "control-rate",
            link.rate,
            || format!("above 0 and at most {FASTEST}"),
        )?;
        SpecError::unless(link.delay <= LONGEST_DELAY, "control-delay", link.delay, || {
            format!("at most {LONGEST_DELAY}")
        })?;
        let slot = self.report_slot().unwrap_or(least);
        SpecError::unless(slot >= least && slot <= most, "report-slot", slot, || {
            "1us to 1s".into()
        })?;
        let silence = self.host_timeout();
        SpecError::unless(silence > self.round, "host-timeout", silence, || {
            format!("above the round, {}", self.round)
        })?;
        let silence = self.manager_timeout();
        let least = self.round + interval;
        let expected = format!("above a round and a report interval, {least}");
        SpecError::unless(silence > least, "manager-timeout", silence, || expected)?;
        SpecError::unless(
            self.clock_drift <= Time::ms(100),
            "clock-drift",
            self.clock_drift,
            || "at most 100ms".into(),
        )
    }
    /// Checks that no option is given without the one that it needs.
    fn check_dependencies(&self) -> Result<(), SpecError> {
        let needs = |key: &str, given: bool, there: bool, other: &str| {
            if !given || there {
                return Ok(());
            }
            Err(SpecError::new(key, format!("`{key}` has no meaning without {other}")))
        };
        needs("hosts", self.hosts.is_some(), self.short_share > 0.0, "`short-share`")?;
        if !matches!(self.hosts, None | Some(Hosts::List(_))) {
            let message = "`hosts` has to be a list of hosts, such as \"0-15\"";
            return Err(SpecError::new("hosts", message));
        }
        needs("short-flow", self.short_flow.is_some(), self.short_share > 0.0, "`short-share`")?;
        let per_switch = self.controllers == Controllers::PerSwitch;
        let broadcast = self.triggers == Triggers::Broadcast;
        needs("triggers", broadcast, per_switch, "`controllers = \"per-switch\"`")?;
        let link = self.control_link().is_some();
        let network = "`triggers = \"broadcast\"` or `reports = \"control-network\"`";
        needs("control-rate", self.control_rate.is_some(), link, network)?;
        needs("control-delay", self.control_delay.is_some(), link, network)?;
        let slot = self.reports == Reporting::Slot;
        needs("report-slot", self.report_slot.is_some(), slot, "`reports = \"slot\"`")?;
        needs("drain", self.drain.is_some(), self.receive_buffer.is_some(), "`receive-buffer`")?;
        let zero =
            |key: &str| SpecError::new(key, format!("`{key}` is zero: nothing could be sent"));
        if self.drain == Some(Rate(0)) {
            return Err(zero("drain"));
        }
        check_weights(&self.weights)?;
        let all = self.signalling == Signalling::Pause;
        let classes = "needs classes: with `signalling = \"pause\"` all classes are paused together; take `pfc` or \
                       `extended`";
        if self.short_share > 0.0 && all {
            return Err(SpecError::new(
                "short-share",
                format!("a share for short flows {classes}"),
            ));
        }
        if slot && all {
            return Err(SpecError::new("reports", format!("a slot for reports {classes}")));
        }
        Ok(())
    }
}

impl Tdma {
    /// The options.
    pub fn spec(&self) -> &TdmaSpec {
        &self.spec
    }
    /// The options of rounds.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }
    /// Whether `host` takes part.
    pub fn takes_part(&self, host: HostId) -> bool {
        let Some(Hosts::List(ranges)) = &self.spec.hosts else { return true };
        ranges.iter().any(|&(first, last)| (first..=last).contains(&host.0))
    }
    /// The bytes to each destination that count as short flows in a round, among `hosts` hosts whose slowest link has
    /// the rate `slowest`: [`TdmaSpec::short_flow`] or its default. By default, the short flows of all other hosts to
    /// one host in a round fit into the share of its link.
    pub fn short_flow(&self, hosts: usize, slowest: Rate) -> Option<Bytes> {
        let share = self.rounds.reserved(slowest).inverse_rate().bytes_in(self.spec.round);
        let each = share / (hosts as u64).saturating_sub(1).max(1);
        let bytes = self.spec.short_flow.unwrap_or(Bytes(each.min(10_000)));
        self.spec.has_short().then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_what_was_measured() {
        let of = |signalling| {
            let spec = TdmaSpec { signalling, ..TdmaSpec::default() };
            (spec.reaction(), spec.jitter())
        };
        assert_eq!(of(Signalling::Pause), (Time::us(2), Time::us(4)));
        assert_eq!(of(Signalling::Extended), (Time::us(150), Time::us(5)));
        assert!(!TdmaSpec::default().has_short());
        assert_eq!(TdmaSpec::default().report_slot(), None);
    }

    #[test]
    fn a_control_network_exists_only_if_something_uses_it() {
        let link = |spec: &TdmaSpec| spec.build().map(|tdma| tdma.spec().control_link().is_some());
        let apart = TdmaSpec { reports: Reporting::ControlNetwork, ..TdmaSpec::default() };
        let broadcast = TdmaSpec { triggers: Triggers::Broadcast, ..TdmaSpec::default() };
        let per_switch = TdmaSpec { controllers: Controllers::PerSwitch, ..broadcast.clone() };
        assert_eq!(link(&TdmaSpec::default()).ok(), Some(false));
        assert_eq!((link(&apart).ok(), link(&per_switch).ok()), (Some(true), Some(true)));
        assert_eq!(link(&broadcast).unwrap_err().key, "triggers");
        let idle = TdmaSpec { control_rate: Some(Rate(1)), ..TdmaSpec::default() };
        assert_eq!(link(&idle).unwrap_err().key, "control-rate");
        let stopped = TdmaSpec { control_rate: Some(Rate(0)), ..apart };
        assert_eq!(link(&stopped).unwrap_err().key, "control-rate");
    }

    /// For any number of hosts, their short flows to one host are at most what the share of its link carries.
    #[test]
    fn short_flows_fit_into_their_share() {
        let spec = TdmaSpec { short_share: 0.03, ..TdmaSpec::default() };
        let line = Rate(10_000_000_000);
        let short = |spec: &TdmaSpec, hosts| spec.build().unwrap().short_flow(hosts, line);
        assert_eq!(short(&TdmaSpec::default(), 24), None);
        assert_eq!(short(&spec, 24), Some(Bytes(10_000)));
        for hosts in [1u64, 2, 129, 1_025] {
            let Bytes(each) = short(&spec, hosts as usize).unwrap();
            assert!(each * (hosts - 1) <= 375_000 && each <= 10_000, "{hosts}: {each}");
        }
        assert_eq!(short(&spec, 129), Some(Bytes(2_929)));
        let given = TdmaSpec { short_flow: Some(Bytes(20_000)), ..spec };
        assert_eq!(short(&given, 1_025), Some(Bytes(20_000)));
    }

    #[test]
    fn wrong_values_are_named() {
        let base = TdmaSpec::default();
        let wrong = [
            ("slot", TdmaSpec { slot: Time::ZERO, ..base.clone() }),
            ("guard", TdmaSpec { guard: Time::s(2), ..base.clone() }),
            ("round", TdmaSpec { round: Time::us(1), ..base.clone() }),
            ("short-share", TdmaSpec { short_share: 1.0, ..base.clone() }),
            ("planning-time", TdmaSpec { planning_time: Time::s(2), ..base.clone() }),
            ("host-timeout", TdmaSpec { host_timeout: Some(Time::ms(1)), ..base.clone() }),
            ("manager-timeout", TdmaSpec { manager_timeout: Some(Time::ms(1)), ..base.clone() }),
            ("report-interval", TdmaSpec { report_interval: Some(Time::ZERO), ..base.clone() }),
            ("clock-drift", TdmaSpec { clock_drift: Time::s(1), ..base.clone() }),
            ("switch-buffer", TdmaSpec { switch_buffer: Some(Bytes(0)), ..base.clone() }),
        ];
        for (key, spec) in wrong {
            let error = spec.build().unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.message.contains("has to be"), "{error}");
        }
        let alone = [
            ("short-flow", TdmaSpec { short_flow: Some(Bytes(1)), ..base.clone() }),
            ("report-slot", TdmaSpec { report_slot: Some(Time::us(9)), ..base.clone() }),
            ("drain", TdmaSpec { drain: Some(Rate(1)), ..base.clone() }),
            ("hosts", TdmaSpec { hosts: "0-1".parse().ok(), ..base.clone() }),
        ];
        for (key, spec) in alone {
            let error = spec.build().unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.message.contains("no meaning without"), "{error}");
        }
        let all = TdmaSpec { hosts: Some(Hosts::All), short_share: 0.1, ..base.clone() };
        assert_eq!(all.build().unwrap_err().key, "hosts");
        let pause = TdmaSpec { signalling: Signalling::Pause, short_share: 0.1, ..base.clone() };
        assert_eq!(pause.build().unwrap_err().key, "short-share");
        let weights = BTreeMap::from([("h0".to_string(), 0)]);
        assert_eq!(TdmaSpec { weights, ..base }.build().unwrap_err().key, "weights");
    }
}
