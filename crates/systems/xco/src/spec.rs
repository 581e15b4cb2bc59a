//! XCo's options.

use crate::levels::Levels;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::Scale;
use slotline_net::scheme::system::{MakeControl, check_weights};
use slotline_net::time::Time;
use slotline_net::topology::Graph;
use slotline_net::units::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The largest weight of a host.
const LARGEST_WEIGHT: u32 = 1_000;

/// The kind of decisions that directives carry.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Which destination a host may send to, and for how long (§3.2).
    #[default]
    Timeslice,
    /// How fast a host may send to each destination (§3.3).
    RateLimit,
}

/// How turns, or rates, are shared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// As in the paper: pairs of hosts take turns; a rate is the bottleneck's rate divided by its number of flows.
    #[default]
    RoundRobin,
    /// Max-min fair among V2V flows, in any network: capacity that some flows cannot use goes to others.
    MaxMin,
}

/// Coordination on demand (§7): only pairs of hosts whose path has a link near saturation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct OnDemandSpec {
    /// A link that several hosts load with this share of its rate, or more, is near saturation.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// A link is calm again when its load has been below this share for three intervals.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub release: f64,
    /// Interval at which hosts measure and report the bytes that they send.
    pub interval: Time,
}

impl Default for OnDemandSpec {
    fn default() -> OnDemandSpec {
        OnDemandSpec { threshold: 0.9, release: 0.6, interval: Time::ms(10) }
    }
}

/// How many controllers there are.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Controllers {
    /// One controller at an uppermost switch.
    #[default]
    Single,
    /// Two at the same switch: the standby takes over if it receives no more messages from the other (§7).
    Standby,
    /// One at each switch of a tree (§7). It decides about the pairs of hosts whose lowest common switch is this one,
    /// and lends the unused part of its links to the controllers above.
    Hierarchical,
}

/// Section numbers are those of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct XcoSpec {
    /// Timeslices or rates.
    pub mode: Mode,
    /// How capacity is divided.
    pub fairness: Fairness,
    /// By name of a host, its weight against others (§7, quality of service): how many times as long its timeslices are
    /// or, with `max-min` or `rate-limit`, how many V2V flows each of its flows counts as. Other hosts have weight 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// Length of a timeslice; the paper uses 2 ms and 10 ms (§4).
    pub slice: Time,
    /// Whether a host gives the rest of a timeslice back when it has nothing left to send (§3.1).
    pub work_conserving: bool,
    /// The time for which a host waits for more packets before it gives the rest back; "a few tens of microseconds"
    /// (§3.1).
    pub hysteresis: Time,
    /// Small flows need no permission (§4.4): a host may send this many bytes to each destination per `slice` without
    /// permission. Default: two full packets.
    pub small_flow: Bytes,
    /// Whether any number of pure acknowledgements counts as a small flow. Otherwise the receiver of a controlled flow
    /// also needs timeslices.
    pub exempt_acks: bool,
    /// The shortest time for which a host keeps a destination before another of its destinations may take the timeslice
    /// (pre-emption, §3.2.1). Default: half a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect: Option<Time>,
    /// The time at the end of each slice in which nobody sends. It absorbs different delays to the hosts.
    pub guard: Time,
    /// The time from an event at the controller to its directives.
    pub decision_time: Time,
    /// A host that waits and receives nothing for this long sends uncontrolled. A controller that receives nothing from
    /// a busy host for this long removes it (§7). Default: five slices, but at least two report intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
    /// How often a busy host repeats its report and gets an answer. A lost control message has no effect for longer
    /// than this. Default: a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_interval: Option<Time>,
    /// How long it takes to set up a queue for a V2V flow, from its first packet. Packets wait until then.
    /// The paper has 75 ms (§4.8), where a script sets up the queue.
    pub setup: Time,
    /// How many controllers there are, and what each decides about.
    pub controllers: Controllers,
    /// With a standby: how long the other has to be silent before it takes over. Default: a slice and a
    /// half, so that what was permitted before is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Time>,
    /// If given, only pairs of hosts with a link near saturation are coordinated. Default: all pairs, at all times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_demand: Option<OnDemandSpec>,
    /// `"auto"`: periods that are not given get values that fit this network and traffic. The resolved scenario has
    /// these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

/// Checked options, from which XCo's parts are made.
#[derive(Clone, Debug)]
pub struct Xco {
    spec: XcoSpec,
    /// The levels of the first network. All its hosts share them.
    levels: OnceLock<Arc<Levels>>,
    /// A scheduler in place of XCo's own.
    pub(crate) scheduler: Option<MakeControl>,
    /// The hosts whose weight is not 1.
    weights: Vec<(HostId, u32)>,
}

impl Xco {
    /// The same controllers and coordinators with another scheduler than XCo's own.
    pub fn with_scheduler(self, scheduler: MakeControl) -> Xco {
        Xco { scheduler: Some(scheduler), ..self }
    }
    /// The same scheme in a network whose hosts with these numbers have these weights, in place of
    /// [`XcoSpec::weights`].
    pub fn with_weights(self, weights: Vec<(HostId, u32)>) -> Xco {
        Xco { weights, ..self }
    }
    /// The weights of `hosts` hosts.
    pub(crate) fn weights(&self, hosts: usize) -> Vec<u32> {
        let mut all = vec![1; hosts];
        for &(host, weight) in &self.weights {
            all.iter_mut().skip(host.at()).take(1).for_each(|own| *own = weight);
        }
        all
    }
    /// The options, with defaults filled in.
    pub fn spec(&self) -> &XcoSpec {
        &self.spec
    }
    /// The levels of a network. Those of the first network are stored.
    pub(crate) fn levels(&self, graph: &Graph, hosts: usize) -> Result<Arc<Levels>, SpecError> {
        if let Some(levels) = self.levels.get().filter(|levels| levels.are_of(graph, hosts)) {
            return Ok(Arc::clone(levels));
        }
        let levels = Arc::new(Levels::new(graph, hosts)?);
        Ok(Arc::clone(self.levels.get_or_init(|| Arc::clone(&levels))))
            .map(|stored| if stored.are_of(graph, hosts) { stored } else { levels })
    }
}

impl Default for XcoSpec {
    fn default() -> XcoSpec {
        XcoSpec {
            mode: Mode::Timeslice,
            fairness: Fairness::RoundRobin,
            weights: BTreeMap::new(),
            slice: Time::ms(10),
            work_conserving: true,
            hysteresis: Time::us(50),
            small_flow: Bytes(3_000),
            exempt_acks: true,
            protect: None,
            guard: Time::ZERO,
            decision_time: Time::us(10),
            timeout: None,
            report_interval: None,
            setup: Time::ZERO,
            controllers: Controllers::Single,
            takeover: None,
            on_demand: None,
            scale: None,
        }
    }
}

impl XcoSpec {
    /// [`XcoSpec::protect`] or its default.
    pub fn protect(&self) -> Time {
        self.protect.unwrap_or(Time::ps(self.slice.as_ps() / 2))
    }
    /// [`XcoSpec::timeout`] or its default.
    pub fn timeout(&self) -> Time {
        let default = self.longest_slice().times(5).max(self.report_interval().times(2));
        self.timeout.unwrap_or(default)
    }
    /// [`XcoSpec::report_interval`] or its default.
    pub fn report_interval(&self) -> Time {
        self.report_interval.unwrap_or(self.slice)
    }
    /// How long a permission stays unused before it is given back. Without work conservation a slice lasts to its
    /// end. A rate always lasts for a while, because the rates of all hosts depend on it.
    pub(crate) fn release_delay(&self) -> Time {
        match self.mode {
            Mode::Timeslice if self.work_conserving => self.hysteresis,
            Mode::Timeslice => self.longest_slice(),
            Mode::RateLimit => self.report_interval(),
        }
    }
    /// [`XcoSpec::takeover`] or its default: the longest slice and two beats.
    pub fn takeover(&self) -> Time {
        self.takeover.unwrap_or_else(|| self.longest_slice() + self.beat().times(2))
    }
    /// The timeslice of the host with the largest weight.
    pub(crate) fn longest_slice(&self) -> Time {
        let by_length = self.mode == Mode::Timeslice && self.fairness == Fairness::RoundRobin;
        let largest = self.weights.values().copied().max().filter(|_| by_length);
        self.slice.times(largest.unwrap_or(1).into())
    }
    /// The time between two messages in which a controller says that it is alive: a quarter of a slice.
    pub fn beat(&self) -> Time {
        Time::ps(self.slice.as_ps() / 4)
    }
    /// Checks the options and fills the defaults in.
    ///
    /// # Errors
    /// An option has a value that is not valid, or no effect.
    pub fn build(&self) -> Result<Xco, SpecError> {
        let (slice, interval) = (self.slice, self.report_interval());
        SpecError::unless(slice >= Time::us(1), "slice", slice, || "at least 1us".into())?;
        SpecError::unless(self.guard < slice, "guard", self.guard, || {
            format!("below the slice, {slice}")
        })?;
        let slices = self.mode == Mode::Timeslice;
        SpecError::unless(
            !slices || self.hysteresis < slice,
            "hysteresis",
            self.hysteresis,
            || format!("below the slice, {slice}"),
        )?;
        self.check_rates()?;
        SpecError::unless(interval >= Time::us(1), "report-interval", interval, || {
            "at least 1us".into()
        })?;
        SpecError::unless(self.timeout() > interval, "timeout", self.timeout(), || {
            format!("above the report interval, {interval}")
        })?;
        check_weights(&self.weights)?;
        let largest = self.weights.values().copied().max().unwrap_or(1);
        SpecError::unless(largest <= LARGEST_WEIGHT, "weights", largest, || {
            format!("at most {LARGEST_WEIGHT} for each host")
        })?;
        self.check_controllers()?;
        self.on_demand.as_ref().map_or(Ok(()), |demand| demand.check(self.controllers))?;
        let spec = XcoSpec {
            protect: Some(self.protect()),
            timeout: Some(self.timeout()),
            report_interval: Some(interval),
            ..self.clone()
        };
        Ok(Xco { spec, levels: OnceLock::new(), scheduler: None, weights: Vec::new() })
    }
    /// Checks that options about timeslices have an effect.
    fn check_rates(&self) -> Result<(), SpecError> {
        let usual = XcoSpec::default();
        let idle = [
            ("guard", self.guard != usual.guard),
            ("hysteresis", self.hysteresis != usual.hysteresis),
            ("protect", self.protect.is_some()),
            ("work-conserving", self.work_conserving != usual.work_conserving),
        ];
        match idle.into_iter().find(|(_, given)| *given && self.mode == Mode::RateLimit) {
            None => Ok(()),
            Some((key, _)) => Err(SpecError::new(
                key,
                format!("`{key}` is about timeslices: it does nothing with mode = \"rate-limit\""),
            )),
        }
    }
    fn check_controllers(&self) -> Result<(), SpecError> {
        let two = self.controllers == Controllers::Standby;
        if self.takeover.is_some() && !two {
            let message =
                "`takeover` needs controllers = \"standby\": no other controller takes over";
            return Err(SpecError::new("takeover", message));
        }
        let (silence, least) = (self.takeover(), self.longest_slice() + self.beat());
        let most = self.timeout();
        SpecError::unless(
            !two || (silence >= least && silence < most),
            "takeover",
            silence,
            || format!("at least {least}, a slice and a quarter, and below the `timeout`, {most}"),
        )?;
        if self.controllers == Controllers::Hierarchical && !self.weights.is_empty() {
            let message = "hierarchical controllers divide links by numbers of flows alone: leave `weights` out";
            return Err(SpecError::new("weights", message));
        }
        if self.controllers == Controllers::Hierarchical && self.mode == Mode::RateLimit {
            let message = "hierarchical controllers give timeslices: set mode = \"timeslice\"";
            return Err(SpecError::new("controllers", message));
        }
        Ok(())
    }
}

impl OnDemandSpec {
    fn check(&self, controllers: Controllers) -> Result<(), SpecError> {
        let wrong =
            |key: &str, message: String| Err(SpecError::new(format!("on-demand.{key}"), message));
        let OnDemandSpec { threshold, release, interval } = *self;
        if !(threshold > 0.0 && threshold <= 1.0) {
            return wrong(
                "threshold",
                format!(
                    "`threshold` is {threshold}, but it has to be a share above 0 and at most 1"
                ),
            );
        }
        if !(0.0..threshold).contains(&release) {
            let message =
                format!("`release` is {release}, but it has to be below `threshold`, {threshold}");
            return wrong("release", message);
        }
        if interval < Time::us(10) {
            return wrong(
                "interval",
                format!("`interval` is {interval}, but it has to be at least 10us"),
            );
        }
        if controllers == Controllers::Hierarchical {
            let message = "coordination on demand needs one controller that knows all loads: leave \
                           controllers = \"hierarchical\" out";
            return Err(SpecError::new("on-demand", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_the_slice() {
        let spec = XcoSpec { slice: Time::ms(2), ..XcoSpec::default() };
        let built = spec.build().unwrap();
        assert_eq!(built.spec().protect, Some(Time::ms(1)));
        assert_eq!(built.spec().timeout, Some(Time::ms(10)));
        assert_eq!(built.spec().report_interval, Some(Time::ms(2)));
    }

    #[test]
    fn wrong_values_are_named() {
        let base = XcoSpec::default();
        let demand = OnDemandSpec::default();
        let on = |demand| XcoSpec { on_demand: Some(demand), ..XcoSpec::default() };
        let takeover = |after| XcoSpec {
            takeover: Some(after),
            controllers: Controllers::Standby,
            ..XcoSpec::default()
        };
        let rates = || XcoSpec { mode: Mode::RateLimit, ..XcoSpec::default() };
        assert!(XcoSpec { slice: Time::us(20), ..rates() }.build().is_ok());
        let hierarchical = |mode, on_demand| XcoSpec {
            controllers: Controllers::Hierarchical,
            mode,
            on_demand,
            ..XcoSpec::default()
        };
        let wrong = [
            ("slice", XcoSpec { slice: Time::ZERO, ..base.clone() }),
            ("guard", XcoSpec { guard: Time::ms(10), ..base.clone() }),
            ("hysteresis", XcoSpec { hysteresis: Time::s(1), ..base.clone() }),
            ("report-interval", XcoSpec { report_interval: Some(Time::ZERO), ..base.clone() }),
            ("weights", XcoSpec { weights: [("h0".into(), 0)].into(), ..base.clone() }),
            ("weights", XcoSpec { weights: [("h0".into(), 1_001)].into(), ..base.clone() }),
            (
                "weights",
                XcoSpec {
                    weights: [("h0".into(), 2)].into(),
                    ..hierarchical(Mode::Timeslice, None)
                },
            ),
            ("timeout", XcoSpec { timeout: Some(Time::ms(3)), ..base.clone() }),
            ("takeover", XcoSpec { takeover: Some(Time::ms(30)), ..base.clone() }),
            ("takeover", takeover(Time::ms(10))),
            ("takeover", takeover(Time::ms(50))),
            ("controllers", hierarchical(Mode::RateLimit, None)),
            ("guard", XcoSpec { guard: Time::us(1), ..rates() }),
            ("hysteresis", XcoSpec { hysteresis: Time::us(1), ..rates() }),
            ("protect", XcoSpec { protect: Some(Time::ms(1)), ..rates() }),
            ("work-conserving", XcoSpec { work_conserving: false, ..rates() }),
            ("on-demand", hierarchical(Mode::Timeslice, Some(demand.clone()))),
            ("on-demand.threshold", on(OnDemandSpec { threshold: 1.1, ..demand.clone() })),
            ("on-demand.release", on(OnDemandSpec { release: 0.9, ..demand.clone() })),
            ("on-demand.interval", on(OnDemandSpec { interval: Time::us(1), ..demand.clone() })),
        ];
        for (key, spec) in wrong {
            let error = spec.build().unwrap_err();
            assert_eq!(error.key, key);
            let has = |text: &str| error.message.contains(text);
            let right = [
                "has to be",
                "needs",
                "a share",
                "at least",
                "set mode",
                "does nothing",
                "is the least",
                "leave `weights` out",
            ];
            assert!(right.into_iter().any(has), "{error}");
        }
    }
}
