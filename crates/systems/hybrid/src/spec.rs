//! What a scenario says about the queues of a hybrid fabric's racks.

use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::time::Time;

/// What becomes of a packet that a rack has begun to send when its circuit goes down.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AtNight {
    /// None is begun that would not be whole by then: it is held for another day.
    #[default]
    Hold,
    /// It is sent to its end: the circuit stays up for the rest of one packet.
    Drain,
    /// It is cut off, and lost.
    Drop,
}

/// What becomes of packets beyond the smaller size when a queue is made shorter.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Shrink {
    /// The last ones are dropped.
    #[default]
    Drop,
    /// They stay; no other comes in until the queue is below its size.
    Drain,
}

/// A queue that is larger around a circuit's days: `resize(s, b, tau)`.
///
/// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section
/// 4.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ResizeSpec {
    /// Its larger size in packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub to: u32,
    /// How long before a day it gets it.
    pub ahead: Time,
    /// What becomes of packets beyond the smaller size after the day.
    #[serde(default)]
    pub shrink: Shrink,
}

/// Which packets go by another rack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hops {
    /// A circuit carries what comes from other racks first, then what is for the rack it leads to, and with
    /// the time that is left packets for others.
    ///
    /// Source: Mellette et al., "RotorNet", SIGCOMM 2017, section 4.2.
    Opportunistic,
    /// A circuit carries what comes from other racks first, then packets for all racks in turn: Valiant's load
    /// balancing, with the next circuit instead of a random one.
    ///
    /// Source: Valiant, "A Scheme for Fast Parallel Communication", SIAM Journal on Computing 11(2), 1982.
    Valiant,
}

/// Packets that go by another rack, where they wait for a second circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RelaySpec {
    /// Which packets do.
    pub hops: Hops,
    /// Room for them by destination rack, in packets, in the rack between; one that finds none is dropped.
    #[serde(default = "default_relay")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub packets: u32,
}

fn default_relay() -> u32 {
    256
}

/// Which hosts of a rack its switch tells of paths.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum NotifyTo {
    /// Each of them.
    #[default]
    All,
    /// Those that have sent data to the rack in question since the last circuit but one to it ended.
    Senders,
}

/// Messages by which the switch of a rack tells its hosts that a circuit to another rack begins or ends: ICMP
/// packets of 84 B on their links.
///
/// Source: Chen et al., "Time-Division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022, section 3.2.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct NotifySpec {
    /// Which hosts.
    pub to: NotifyTo,
    /// How long before a day hosts are told that it begins.
    pub ahead: Time,
    /// How long before a day's end they are told of that; at most `ahead`.
    pub end_ahead: Time,
}

/// The queues by destination in the switches of racks: first in, first out; a packet that finds one full
/// is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct VoqSpec {
    /// Room of each, in packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub packets: u32,
    /// A larger size around days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize: Option<ResizeSpec>,
    /// Packets that go by another rack over two circuits. Default: none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelaySpec>,
    /// How long before a day acknowledgements say that a circuit is coming.
    pub mark_ahead: Time,
    /// Messages of their own by which hosts are told of circuits. Default: none, packets tell alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifySpec>,
    /// What becomes of the packet that is being sent when a circuit goes down.
    pub at_night: AtNight,
}

impl NotifySpec {
    fn validate(&self) -> Result<(), SpecError> {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        if self.ahead > Time::s(1) {
            return fail("notify.ahead", format!("`ahead` is {}: at most 1s", self.ahead));
        }
        if self.end_ahead > self.ahead {
            let (end, begin) = (self.end_ahead, self.ahead);
            let why = format!("`end-ahead` is {end}: at most `ahead`, {begin}");
            return fail("notify.end-ahead", why);
        }
        Ok(())
    }
}

impl Default for VoqSpec {
    fn default() -> VoqSpec {
        VoqSpec {
            packets: 16,
            resize: None,
            relay: None,
            mark_ahead: Time::us(600),
            notify: None,
            at_night: AtNight::default(),
        }
    }
}

impl VoqSpec {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// A size is zero or too large, or the larger one is not larger; a time is longer than a second.
    pub fn validate(&self) -> Result<(), SpecError> {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        if !(1..=1_000_000).contains(&self.packets) {
            return fail("packets", format!("`packets` is {}: 1 to 1000000", self.packets));
        }
        if self.mark_ahead > Time::s(1) {
            return fail("mark-ahead", format!("`mark-ahead` is {}: at most 1s", self.mark_ahead));
        }
        self.notify.map_or(Ok(()), |notify| notify.validate())?;
        if self.relay.is_some_and(|relay| !(1..=1_000_000).contains(&relay.packets)) {
            return fail("relay.packets", "`packets` has to be 1 to 1000000".into());
        }
        let Some(resize) = self.resize else { return Ok(()) };
        if resize.to <= self.packets || resize.to > 1_000_000 {
            let why = format!(
                "`to` is {}: it has to be above `packets`, {}, and at most 1000000",
                resize.to, self.packets
            );
            return fail("resize.to", why);
        }
        if resize.ahead > Time::s(1) {
            return fail("resize.ahead", format!("`ahead` is {}: at most 1s", resize.ahead));
        }
        Ok(())
    }
}
