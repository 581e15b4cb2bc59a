//! The engine that runs a scenario, and its options.

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::fmt;

/// The engine and its options: in a scenario a table, or only the name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::or_name)]
pub enum EngineSpec {
    /// Simulates every packet.
    Packet {},
    /// Simulates flows as fluids without packets: each flow has a rate at any time. For very large networks and long
    /// times.
    Flow(FlowSpec),
    /// Emulates a network with real hosts: network namespaces of this machine, connected by a network that is simulated
    /// packet by packet. For `slotline emulate`.
    Emulate(EmulateSpec),
}

/// How a scenario is emulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct EmulateSpec {
    /// How many times slower than real time the network runs, 1 to 100000.
    #[schemars(range(min = 1, max = 100_000))]
    pub dilation: f64,
    /// What joins the hosts.
    #[serde(skip_serializing_if = "SwitchesSpec::are_modelled")]
    pub switches: SwitchesSpec,
    /// How packets of applications reach the modelled network.
    pub gate: GateSpec,
    /// How hosts with the transport `retcp` learn of circuits.
    #[serde(skip_serializing_if = "SignalSpec::is_usual")]
    pub circuit_signal: SignalSpec,
    /// Whether the hosts stay up until the run is stopped, regardless of `end`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stay: bool,
    /// Whether the hosts are in a guest machine with virtual time (QEMU, without KVM), where runs repeat themselves.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

impl Default for EmulateSpec {
    fn default() -> EmulateSpec {
        let (switches, gate, circuit_signal) = Default::default();
        EmulateSpec { dilation: 1.0, switches, gate, circuit_signal, stay: false, exact: false }
    }
}

/// What joins emulated hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchesSpec {
    /// The modelled network.
    #[default]
    Modelled,
    /// Open vSwitch in user space, a bridge for each switch, controlled by OpenFlow 1.3. Links send at their rates, and have
    /// no delays of their own. For schemes that choose paths of flows, and for routing by hash or by tables, with links of
    /// at most some 10 Mbit/s of real time.
    OpenVswitch,
}

impl SwitchesSpec {
    /// Whether they are the default.
    fn are_modelled(&self) -> bool {
        *self == SwitchesSpec::Modelled
    }
}

/// How packets of applications reach an emulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateSpec {
    /// The first of `queue`, `interface`, `packet` and `xdp` that this machine has.
    #[default]
    Auto,
    /// The kernel holds packets until they leave the modelled network card (netfilter's queue), so that sockets notice
    /// a busy card.
    Queue,
    /// Packets are read from the interface. Sockets do not notice how many packets wait, and the interface overflows if
    /// more than 16384 packets of the kernel wait.
    Interface,
    /// As `interface`, by a packet socket with a ring in shared memory, which has room for some 250 packets of the kernel.
    Packet,
    /// As `interface`, by a socket of AF_XDP, packet by packet. Packets may have at most 3570 bytes.
    Xdp,
}

/// How the kernel's TCP of an emulated host learns of circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignalSpec {
    /// By a map of the kernel. It gets the state that the network's packets carry when they arrive, or the messages of
    /// `notify`.
    #[default]
    Map,
    /// By ECN-Echo in packets that arrive. `notify` has no effect.
    ///
    /// Source: Etalon paper, section 4.4.
    EcnEcho,
}

impl SignalSpec {
    /// Whether it is the default.
    fn is_usual(&self) -> bool {
        *self == SignalSpec::Map
    }
}

/// How the flow-level engine computes rates.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct FlowSpec {
    /// The model of rates.
    pub rates: RatesSpec,
    /// Time from one update of all rates to the next, with rates = "aimd"; 100us unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<Time>,
    /// Increase of a flow's rate in each tick after slow start, with rates = "aimd"; 120Mbps unless given, which is a
    /// segment of 1500 B each 100us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increase: Option<Rate>,
    /// With rates = "max-min": if the rate that a link gives to its flows changes by less than this share, the change
    /// is not propagated. From 0 (rates are exact) to 0.01.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 0.01))]
    pub tolerance: f64,
    /// With rates = "max-min", weights of flows by priority class, from class 0 on; those not given
    /// are 1. Rates are max-min fair for a weight of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
}

/// The model of rates of the flow-level engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RatesSpec {
    /// Exact max-min fairness at any moment.
    ///
    /// Source: Bertsekas and Gallager, "Data Networks", section 6.5.2.
    #[default]
    MaxMin,
    /// TCP's slow start, additive increase and multiplicative decrease, tick by tick.
    ///
    /// Source: Al-Fares, "A Scalable, Adaptive, and Extensible Data Center Network Architecture", UC San
    /// Diego, 2012, section 4.3.5.
    Aimd,
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

impl EngineSpec {
    /// The flow-level engine with its usual options.
    pub fn flow() -> EngineSpec {
        EngineSpec::Flow(FlowSpec::default())
    }
    /// Whether it models every packet.
    pub fn is_packet(&self) -> bool {
        !matches!(self, EngineSpec::Flow(_))
    }
    /// Whether it is the engine of scenarios that do not name one.
    pub fn is_default(&self) -> bool {
        *self == EngineSpec::Packet {}
    }
    /// Whether its switches are real ones.
    pub fn has_real_switches(&self) -> bool {
        self.emulated().is_some_and(|spec| spec.switches == SwitchesSpec::OpenVswitch)
    }
    /// The options of emulation, if the engine is emulation.
    pub fn emulated(&self) -> Option<&EmulateSpec> {
        match self {
            EngineSpec::Emulate(spec) => Some(spec),
            _ => None,
        }
    }
}

impl Default for EngineSpec {
    fn default() -> EngineSpec {
        EngineSpec::Packet {}
    }
}

impl Serialize for EngineSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EngineSpec::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for EngineSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EngineSpec, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// `serde(untagged)` would hide which key is wrong.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = EngineSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an engine: \"packet\", \"flow\", or a table with that `kind`")
    }
    /// A name stands for the table with only that `kind`.
    fn visit_str<E: Error>(self, name: &str) -> Result<EngineSpec, E> {
        EngineSpec::deserialize(MapDeserializer::new([("kind", name)].into_iter()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EngineSpec, A::Error> {
        EngineSpec::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        engine: EngineSpec,
    }

    #[test]
    fn a_name_or_a_table() {
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.engine);
        assert_eq!(read("engine = 'flow'"), Ok(EngineSpec::flow()));
        assert_eq!(read("engine = 'packet'"), Ok(EngineSpec::Packet {}));
        let spec =
            FlowSpec { rates: RatesSpec::Aimd, tick: Some(Time::ms(1)), ..FlowSpec::default() };
        let text = "[engine]\nkind = 'flow'\nrates = 'aimd'\ntick = '1ms'";
        assert_eq!(read(text), Ok(EngineSpec::Flow(spec.clone())));
        let file = File { engine: EngineSpec::Flow(spec) };
        let written = toml::to_string(&file).expect("plain data");
        assert_eq!(toml::from_str(&written), Ok(file), "{written}");
        assert!(
            read("engine = 'fluid'").is_err()
                && read("[engine]\nkind = 'packet'\ntick = '1ms'").is_err()
        );
    }
}
