//! Fastpass' options.

use super::allocation::{BATCH, Policy};
use super::schedule::MakeCrew;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::scheme::{CONTROL_CLASS, Scale};
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// The class of scheduled packets with [`Messages::Reserved`].
pub const SCHEDULED_CLASS: u8 = 7;

/// The least share of a timeslot that is left for messages by default.
pub const LEAST_RESERVE: f64 = 0.01;
/// The largest share of a timeslot that is left for messages by default.
pub const MOST_RESERVE: f64 = 0.25;
/// The largest number of allocators.
const MOST_ALLOCATORS: u32 = 64;

/// Which pair of hosts gets a timeslot first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The pair of hosts that was served least recently (§3.1).
    #[default]
    MaxMin,
    /// The pair of hosts that waits for the fewest timeslots: short flows end early, and long ones may
    /// starve (§3.1).
    ShortestFirst,
}

/// When messages to and from the arbiter, which are not scheduled, leave.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Messages {
    /// Messages leave first as long as they take at most `reserve` of the time of a port, and otherwise in the gaps
    /// between scheduled packets. Packets have class 7 and messages class 6, and ports serve classes by priority,
    /// even if `queue.priorities` is not set. With exact clocks a packet waits at each port for at most one message,
    /// and no port has more messages than those of one timeslot. Timeslots that are known too late are not used.
    #[default]
    Reserved,
    /// Hosts send messages before packets, in class 7, and switches serve classes by priority if `queue.priorities` is
    /// set. Timeslots are known in time, and packets wait for messages at ports.
    First,
}

/// Hosts with a right of their own to timeslots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TenantSpec {
    /// The hosts, by index: single ones and ranges, both ends included, such as `"0-3,7"`. Only packets that these
    /// hosts send count.
    pub hosts: String,
    /// Timeslots that a pair of hosts gets per turn when pairs compete: 1 to 64.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub weight: u32,
    /// Class 0 is served before class 1, class 1 before class 2, and so on. Hosts of no tenant have
    /// weight 1 and class 0.
    #[serde(default)]
    pub class: u8,
}

fn one() -> u32 {
    1
}

const fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Section numbers are those of the paper. Hosts' clocks are exact unless `clock-offset`,
/// `clock-drift` or `jitter` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct FastpassSpec {
    /// Length of a timeslot. Default: a full packet at the slowest host's rate, and `reserve` on top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Time>,
    /// Which pair of hosts gets a timeslot first.
    pub policy: Order,
    /// Timeslots that a pair of hosts gets per turn under `max-min`. 1 is fairest. More timeslots are less
    /// work for an arbiter.
    #[schemars(range(min = 1, max = 64))]
    pub quantum: u32,
    /// Whether a pair's first turn in a batch is a `quantum`, too. Otherwise, where hosts have few pairs, it is an equal share
    /// of the batch at the busier host, which is less work for an arbiter and a little further from max-min fairness.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict_turns: bool,
    /// Groups of hosts with a weight and a class; only under `max-min`, where all hosts have one rate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantSpec>,
    /// How many timeslots are allocated at once. A packet waits for up to this number of timeslots in addition to
    /// `lead`. Fewer timeslots are useful if timeslots are long, but are more work for an arbiter.
    #[schemars(range(min = 1, max = 64))]
    pub batch: u32,
    /// How many allocators share the pairs of hosts; one by default. Each allocates a `batch` of its own at the same time, so
    /// this number of batches is allocated at once. On real machines each can have a core. With another number, pairs get other
    /// timeslots.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "is_one")]
    pub allocators: u32,
    /// The time from the allocation of a timeslot until it begins; 65 µs in the paper (§5.1). Timeslots
    /// are allocated `batch` at a time.
    pub lead: Time,
    /// Share of each timeslot that is left for messages to and from the arbiter, which are not
    /// scheduled; about 1 % in the paper (§7.1). Default: as much as the messages of all hosts need on
    /// links next to the arbiter, from 1 to 25 %; 1 % with `messages = "first"`. Where messages need more,
    /// the arbiter allocates fewer timeslots.
    #[schemars(range(min = 0, max = 0.5))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<f64>,
    /// When messages to and from the arbiter leave.
    pub messages: Messages,
    /// The time from the allocation of timeslots until the arbiter sends the grants.
    pub processing: Time,
    /// The largest error of hosts' clocks, early or late. Each clock has a fixed error, which is drawn at
    /// the start. With PTP it is below 1 µs (§6.3).
    pub clock_offset: Time,
    /// How far hosts' clocks drift apart in a second, in addition to `clock-offset`. Each clock is fast or
    /// slow by at most half of it, which is drawn at the start. Quartz clocks drift apart by 100 µs. Zero
    /// means no drift.
    pub clock_drift: Time,
    /// How often a host's clock is corrected, except for `clock-offset`. Each host has its own times. The
    /// default is the usual interval of PTP.
    pub clock_resync: Time,
    /// The transmission of a timeslot begins late by up to this much, because of timers and locks (§6.3).
    /// The delay is drawn for each timeslot.
    pub jitter: Time,
    /// A host that is later than this for a timeslot does not use it, and asks for another one (§6.3).
    /// Default: four timeslots; one timeslot with exact clocks, unless `messages = "first"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Time>,
    /// Demand or slots that are not acknowledged after this time are reported again. 200 µs in the released code.
    pub timeout: Time,
    /// The least time between messages of one host to the arbiter, or of the arbiter to one host; 20 µs
    /// in the released code.
    pub gap: Time,
    /// Whether a second arbiter takes over when the first falls silent (§5.1). The stations are called
    /// `arbiter` and `arbiter-secondary`.
    pub secondary: bool,
    /// Interval between the keep-alive messages of the active arbiter. 100 µs in the released code.
    pub watchdog_interval: Time,
    /// The other arbiter takes over when the last such message is older than this; 1 ms in the paper
    /// (§5.1).
    pub watchdog_timeout: Time,
    /// Rate of the arbiters' own links. Default: that of the first host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiter_rate: Option<Rate>,
    /// Whether hosts report lost packets, and the arbiter avoids links and switches that lose most packets
    /// (§5.2).
    pub isolate_faults: bool,
    /// A link or switch is faulty when it loses more than this share of the timeslots allocated over it.
    #[schemars(range(min = 0, max = 1))]
    pub fault_share: f64,
    /// The least number of lost packets for which a link or switch can count as faulty.
    pub fault_losses: u32,
    /// Losses and timeslots are counted over one to two times this period.
    pub fault_window: Time,
    /// How often a faulty link or switch is probed. After three successful probes in a row it is used again.
    pub probe_interval: Time,
    /// `"auto"`: periods that are not given get values that fit this network and traffic. The resolved scenario has
    /// these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

impl Default for FastpassSpec {
    fn default() -> FastpassSpec {
        FastpassSpec {
            slot: None,
            policy: Order::MaxMin,
            quantum: 1,
            strict_turns: false,
            batch: BATCH,
            allocators: 1,
            tenants: Vec::new(),
            lead: Time::us(65),
            reserve: None,
            messages: Messages::Reserved,
            processing: Time::us(5),
            clock_offset: Time::ZERO,
            clock_drift: Time::ZERO,
            clock_resync: Time::s(1),
            jitter: Time::ZERO,
            late: None,
            timeout: Time::us(200),
            gap: Time::us(20),
            secondary: false,
            watchdog_interval: Time::us(100),
            watchdog_timeout: Time::ms(1),
            arbiter_rate: None,
            isolate_faults: true,
            fault_share: 0.3,
            fault_losses: 10,
            fault_window: Time::ms(1),
            probe_interval: Time::ms(5),
            scale: None,
        }
    }
}

/// Checked options, from which Fastpass' parts are made.
#[derive(Clone, Debug)]
pub struct Fastpass {
    spec: FastpassSpec,
    crew: Option<MakeCrew>,
}

impl Fastpass {
    /// The options.
    pub fn spec(&self) -> &FastpassSpec {
        &self.spec
    }
    /// Lets a crew run the allocators of an arbiter.
    #[must_use]
    pub fn with_crew(self, crew: MakeCrew) -> Fastpass {
        Fastpass { crew: Some(crew), ..self }
    }
    /// Makes the crew that runs the allocators; `None` if the arbiter does.
    pub const fn crew(&self) -> Option<&MakeCrew> {
        self.crew.as_ref()
    }
    /// The number of timeslots that are allocated at once.
    pub const fn round(&self) -> u32 {
        self.spec.batch * self.spec.allocators
    }
    /// The order of service, as the allocator knows it.
    pub fn policy(&self) -> Policy {
        match self.spec.policy {
            Order::MaxMin => Policy::MaxMin { quantum: self.spec.quantum },
            Order::ShortestFirst => Policy::ShortestFirst,
        }
    }
    /// The class of scheduled packets, if they have their own, and the class of messages.
    pub fn classes(&self) -> (Option<u8>, u8) {
        match self.spec.messages {
            Messages::Reserved => (Some(SCHEDULED_CLASS), SCHEDULED_CLASS - 1),
            Messages::First => (None, CONTROL_CLASS),
        }
    }
    /// Whether messages have only their reserve at a port where packets wait.
    pub fn is_reserved(&self) -> bool {
        self.spec.messages == Messages::Reserved
    }
    /// Whether hosts' clocks are those of the arbiter, and hosts send on time.
    pub fn is_exact(&self) -> bool {
        let FastpassSpec { clock_offset, clock_drift, jitter, .. } = self.spec;
        [clock_offset, clock_drift, jitter] == [Time::ZERO; 3]
    }
    /// By host, the number of its tenant from 1, or 0 without a tenant.
    ///
    /// # Errors
    /// A host of a tenant does not exist or has two tenants.
    pub fn tenants_of(&self, hosts: usize) -> Result<Vec<u16>, SpecError> {
        let mut of_host = vec![0; hosts];
        for (tenant, number) in self.spec.tenants.iter().zip(1..) {
            for host in ranges(&tenant.hosts)?.into_iter().flatten() {
                let Some(of) = of_host.get_mut(host as usize) else {
                    return Err(hosts_error(&tenant.hosts, &format!("there are {hosts} hosts")));
                };
                if *of != 0 {
                    return Err(hosts_error(
                        &tenant.hosts,
                        &format!("host {host} has two tenants"),
                    ));
                }
                *of = number;
            }
        }
        Ok(of_host)
    }
}

/// Ranges of hosts, such as `0-3,7`.
fn ranges(text: &str) -> Result<Vec<std::ops::RangeInclusive<u32>>, SpecError> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
        (!range.is_empty()).then_some(range)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    ranges.ok_or_else(|| hosts_error(text, "it has to be hosts and ranges, such as \"0-3,7\""))
}

fn hosts_error(text: &str, why: &str) -> SpecError {
    SpecError::new("tenants", format!("`hosts` = \"{text}\" of a tenant: {why}"))
}

impl FastpassSpec {
    /// Checks the options, as far as they can be without a network.
    ///
    /// # Errors
    /// An option has an invalid value.
    pub fn build(&self) -> Result<Fastpass, SpecError> {
        let least = Time::ns(1);
        for (key, value) in [
            ("timeout", self.timeout),
            ("fault-window", self.fault_window),
            ("probe-interval", self.probe_interval),
            ("watchdog-interval", self.watchdog_interval),
            ("slot", self.slot.unwrap_or(least)),
            ("clock-resync", self.clock_resync),
        ] {
            SpecError::unless(value >= least, key, value, || "at least 1ns".into())?;
        }
        SpecError::unless(self.lead > self.processing, "lead", self.lead, || {
            format!("above `processing`, {}", self.processing)
        })?;
        SpecError::unless(
            self.clock_drift <= Time::ms(100),
            "clock-drift",
            self.clock_drift,
            || "at most 100ms".into(),
        )?;
        let (timeout, interval) = (self.watchdog_timeout, self.watchdog_interval);
        let heard = !self.secondary || timeout >= interval.times(2);
        SpecError::unless(heard, "watchdog-timeout", timeout, || {
            format!("at least twice `watchdog-interval`, {interval}")
        })?;
        self.check_effects()?;
        SpecError::unless((1..=BATCH).contains(&self.quantum), "quantum", self.quantum, || {
            format!("from 1 to {BATCH}")
        })?;
        SpecError::unless((1..=BATCH).contains(&self.batch), "batch", self.batch, || {
            format!("from 1 to {BATCH}")
        })?;
        let most = MOST_ALLOCATORS;
        SpecError::unless(
            (1..=most).contains(&self.allocators),
            "allocators",
            self.allocators,
            || format!("from 1 to {most}"),
        )?;
        let reserve = self.reserve.unwrap_or(LEAST_RESERVE);
        SpecError::unless((0.0..=0.5).contains(&reserve), "reserve", reserve, || {
            "from 0 to 0.5".into()
        })?;
        SpecError::unless(
            (0.0..=1.0).contains(&self.fault_share),
            "fault-share",
            self.fault_share,
            || "from 0 to 1".into(),
        )?;
        self.check_tenants()?;
        let rate = self.arbiter_rate.unwrap_or(Rate(1));
        SpecError::unless(rate.0 > 0, "arbiter-rate", rate, || "above zero".into())?;
        Ok(Fastpass { spec: self.clone(), crew: None })
    }
    fn check_tenants(&self) -> Result<(), SpecError> {
        let alone = self.tenants.is_empty() || self.allocators == 1;
        SpecError::unless(alone, "allocators", self.allocators, || "1 with `tenants`".into())?;
        for tenant in &self.tenants {
            ranges(&tenant.hosts)?;
            SpecError::unless(
                (1..=BATCH).contains(&tenant.weight),
                "tenants",
                tenant.weight,
                || format!("a weight from 1 to {BATCH}"),
            )?;
        }
        Ok(())
    }
    /// Refuses options that have no effect with the other options.
    fn check_effects(&self) -> Result<(), SpecError> {
        let usual = FastpassSpec::default();
        let (turns, blind) = (self.quantum != usual.quantum, !self.isolate_faults);
        let shortest = self.policy == Order::ShortestFirst;
        let no_turns = shortest || self.quantum == BATCH || !self.tenants.is_empty();
        let idle = [
            (
                "tenants",
                !self.tenants.is_empty() && (shortest || turns),
                "leave `policy` and `quantum` out",
            ),
            ("quantum", turns && shortest, "it is for policy = \"max-min\""),
            (
                "strict-turns",
                self.strict_turns && no_turns,
                "it is for policy = \"max-min\" without `tenants` and with `quantum` below 64",
            ),
            (
                "watchdog-interval",
                self.watchdog_interval != usual.watchdog_interval && !self.secondary,
                "only a secondary arbiter needs it: set secondary = true",
            ),
            ("fault-share", blind && self.fault_share != usual.fault_share, UNSEEN),
            ("fault-losses", blind && self.fault_losses != usual.fault_losses, UNSEEN),
            ("probe-interval", blind && self.probe_interval != usual.probe_interval, UNSEEN),
        ];
        match idle.into_iter().find(|(_, idle, _)| *idle) {
            None => Ok(()),
            Some(("tenants", _, why)) => Err(SpecError::new(
                "tenants",
                format!("`tenants` have weights of their own: {why}"),
            )),
            Some((key, _, why)) => Err(SpecError::new(key, format!("`{key}` does nothing: {why}"))),
        }
    }
}

/// The reason why options of fault isolation do nothing.
const UNSEEN: &str = "there is no fault isolation with isolate-faults = false";

#[cfg(test)]
mod tests {
    use super::*;

    fn tenants(groups: &[(&str, u32)]) -> FastpassSpec {
        let tenant =
            |&(hosts, weight): &(&str, u32)| TenantSpec { hosts: hosts.into(), weight, class: 0 };
        FastpassSpec { tenants: groups.iter().map(tenant).collect(), ..FastpassSpec::default() }
    }

    #[test]
    fn hosts_have_one_tenant_at_most() {
        let of = |groups| tenants(groups).build().unwrap().tenants_of(5);
        assert_eq!(of(&[("1-2", 3), ("4", 1)]), Ok(vec![0, 1, 1, 0, 2]));
        for wrong in [&[("1-5", 1)][..], &[("1-2", 1), ("2", 1)]] {
            assert_eq!(of(wrong).unwrap_err().key, "tenants");
        }
    }

    #[test]
    fn wrong_values_are_named() {
        let base = FastpassSpec::default();
        assert!(base.build().is_ok());
        let wrong = [
            ("slot", FastpassSpec { slot: Some(Time::ZERO), ..base.clone() }),
            ("lead", FastpassSpec { lead: Time::us(5), ..base.clone() }),
            ("clock-drift", FastpassSpec { clock_drift: Time::s(1), ..base.clone() }),
            ("clock-resync", FastpassSpec { clock_resync: Time::ZERO, ..base.clone() }),
            ("quantum", FastpassSpec { quantum: 65, ..base.clone() }),
            ("batch", FastpassSpec { batch: 0, ..base.clone() }),
            ("allocators", FastpassSpec { allocators: 0, ..base.clone() }),
            ("allocators", FastpassSpec { allocators: 65, ..base.clone() }),
            ("allocators", FastpassSpec { allocators: 2, ..tenants(&[("3", 1)]) }),
            ("reserve", FastpassSpec { reserve: Some(f64::NAN), ..base.clone() }),
            ("timeout", FastpassSpec { timeout: Time::ZERO, ..base.clone() }),
            (
                "watchdog-timeout",
                FastpassSpec { secondary: true, watchdog_timeout: Time::us(150), ..base.clone() },
            ),
            ("fault-share", FastpassSpec { fault_share: 1.5, ..base.clone() }),
            ("probe-interval", FastpassSpec { probe_interval: Time::ZERO, ..base.clone() }),
            ("arbiter-rate", FastpassSpec { arbiter_rate: Some(Rate(0)), ..base.clone() }),
            ("tenants", tenants(&[("0-", 1)])),
            ("tenants", tenants(&[("3-1", 1)])),
            ("tenants", tenants(&[("3", 65)])),
        ];
        for (key, spec) in wrong {
            let error = spec.build().unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.message.contains("has to be"), "{error}");
        }
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        let base = FastpassSpec::default();
        let blind = || FastpassSpec { isolate_faults: false, ..FastpassSpec::default() };
        let shortest = Order::ShortestFirst;
        let idle = [
            ("quantum", FastpassSpec { quantum: 4, policy: shortest, ..base.clone() }),
            ("strict-turns", FastpassSpec { strict_turns: true, quantum: 64, ..base.clone() }),
            ("strict-turns", FastpassSpec { strict_turns: true, ..tenants(&[("1", 2)]) }),
            ("tenants", FastpassSpec { quantum: 4, ..tenants(&[("1", 2)]) }),
            ("tenants", FastpassSpec { policy: shortest, ..tenants(&[("1", 2)]) }),
            ("watchdog-interval", FastpassSpec { watchdog_interval: Time::us(1), ..base }),
            ("fault-share", FastpassSpec { fault_share: 0.5, ..blind() }),
            ("fault-losses", FastpassSpec { fault_losses: 1, ..blind() }),
            ("probe-interval", FastpassSpec { probe_interval: Time::ms(1), ..blind() }),
        ];
        for (key, spec) in idle {
            assert_eq!(spec.build().unwrap_err().key, key);
        }
        assert!(blind().build().is_ok());
    }
}
