//! The options of the queues in the switches of racks.

use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::time::Time;

/// What happens to a packet that a rack is sending when its circuit goes down.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AtNight {
    /// A packet that would not be complete by then is not begun. It waits for another day.
    #[default]
    Hold,
    /// The packet is sent completely: the circuit stays up for the rest of one packet.
    Drain,
    /// The packet is cut off and lost.
    Drop,
}

/// What happens to packets beyond the smaller size when a queue is made shorter.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Shrink {
    /// The last packets are dropped.
    #[default]
    Drop,
    /// The packets stay, and no other packet enters until the queue is below its size.
    Drain,
}

/// A queue that is larger around a circuit's days: `resize(s, b, tau)`.
///
/// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section
/// 4.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ResizeSpec {
    /// The larger size in packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub to: u32,
    /// How long before a day the queue is enlarged.
    pub ahead: Time,
    /// What happens to packets beyond the smaller size after the day.
    #[serde(default)]
    pub shrink: Shrink,
}

/// Which packets are relayed by another rack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hops {
    /// A circuit carries first packets from other racks, then those for the rack to which it leads, and in the
    /// remaining time packets for other racks.
    ///
    /// Source: Mellette et al., "RotorNet", SIGCOMM 2017, section 4.2.
    Opportunistic,
    /// A circuit carries first packets from other racks, then packets for all racks in turn. This is Valiant's load
    /// balancing with the next circuit instead of a random one.
    ///
    /// Source: Valiant, "A Scheme for Fast Parallel Communication", SIAM Journal on Computing 11(2), 1982.
    Valiant,
}

/// Packets that are relayed by another rack, where they wait for a second circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RelaySpec {
    /// Which packets are relayed.
    pub hops: Hops,
    /// Room in the relaying rack for each destination rack, in packets. A packet that finds no room is dropped.
    #[serde(default = "default_relay")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub packets: u32,
}

fn default_relay() -> u32 {
    256
}

/// Which hosts of a rack its switch notifies of circuits.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum NotifyTo {
    /// All hosts are notified.
    #[default]
    All,
    /// Hosts are notified if they have sent data to the other rack since the last circuit but one to it ended.
    Senders,
}

/// Messages by which the switch of a rack notifies its hosts that a circuit to another rack begins or ends. They
/// are ICMP packets of 84 B on the wire.
///
/// Source: Chen et al., "Time-Division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022, section 3.2.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct NotifySpec {
    /// Which hosts are notified.
    pub to: NotifyTo,
    /// How long before a day hosts are notified that it begins.
    pub ahead: Time,
    /// How long before the end of a day hosts are notified of it; at most `ahead`.
    pub end_ahead: Time,
}

/// The queues by destination rack in the switches of racks. They are FIFOs, and a packet that finds its queue
/// full is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct VoqSpec {
    /// The size of each queue, in packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub packets: u32,
    /// A larger size around days. Default: queues have one size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize: Option<ResizeSpec>,
    /// Packets that are relayed by another rack over two circuits. Default: no packet is relayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelaySpec>,
    /// How long before a day acknowledgements begin to announce its circuit.
    pub mark_ahead: Time,
    /// Messages that notify hosts of circuits. Default: only marks in packets notify them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifySpec>,
    /// What happens to the packet that is being sent when a circuit goes down.
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
    /// Checks the options.
    ///
    /// # Errors
    /// A size is zero or too large, the larger size is not larger, or a time is longer than a second.
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
