//! The central scheduler of a scheme, as plain data.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod counters;
mod custom;

pub use custom::{CustomControl, Supplied};

pub mod waiting;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use slotline_fastpass::schedule::MakeCrew;
use slotline_fastpass::{FastpassSpec, Messages, SCHEDULED_CLASS};
use slotline_hedera::HederaSpec;
use slotline_hedera::flow_scheduler::FlowSchedulerSpec;
use slotline_hybrid::control::CircuitsSpec;
use slotline_hybrid::{HybridOptions, HybridSystem, VoqSpec};
use slotline_net::error::SpecError;
use slotline_net::scheme::system::System;
use slotline_net::topology::TopologySpec;
use slotline_net::workload::WorkloadSpec;
use slotline_tdma::TdmaSpec;
use slotline_xco::spec::XcoSpec;
use std::fmt;

/// A central scheduler and its options. In a scenario, it is a table or only a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(remote = "Self")]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::or_name)]
pub enum ControlSpec {
    /// No central scheduler: hosts send at any time.
    None {},
    /// XCo: a controller, on a host of its own, gives pairs of hosts timeslices or rates.
    ///
    /// Source: Rajanna, Shah, Jahagirdar and Gopalan, "XCo: Explicit Coordination to Prevent
    /// Network Fabric Congestion in Cloud Computing Cluster Platforms", HPDC 2010.
    Xco(XcoSpec),
    /// TDMA: a fabric manager, on a host of its own, gives hosts slots in which no other host uses their paths.
    ///
    /// Source: Vattikonda, Porter, Vahdat and Snoeren, "Practical TDMA for Datacenter Ethernet",
    /// EuroSys 2012.
    Tdma(TdmaSpec),
    /// Fastpass: an arbiter, on a host of its own, gives each packet a timeslot and a path.
    ///
    /// Source: Perry, Ousterhout, Balakrishnan, Shah and Fugal, "Fastpass: A Centralized
    /// "Zero-Queue" Datacenter Network", SIGCOMM 2014.
    Fastpass(FastpassSpec),
    /// Hedera: edge switches report large flows to a scheduler, which gives them paths without conflict.
    ///
    /// Source: Al-Fares, Radhakrishnan, Raghavan, Huang and Vahdat, "Hedera: Dynamic Flow Scheduling
    /// for Data Center Networks", NSDI 2010.
    Hedera(HederaSpec),
    /// The fat-tree's flow scheduler: a large flow gets the first path without a reserved link.
    ///
    /// Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network
    /// Architecture", SIGCOMM 2008, section 3.7.
    FlowScheduler(FlowSchedulerSpec),
    /// Circuits between racks change by a schedule, in `hybrid` fabrics.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 2.2.
    Circuits(CircuitsSpec),
    /// A central scheduler, or a whole scheme, that the calling program supplies in Rust.
    Custom(CustomControl),
}

/// The parts of a scenario that a scheme depends on.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The fabric.
    pub fabric: &'a TopologySpec,
    /// Queues by destination rack, on hybrid fabrics.
    pub voq: VoqSpec,
    /// The workloads.
    pub workloads: &'a [WorkloadSpec],
    /// The share of control messages that are lost.
    pub loss: f64,
    /// The seed of the run.
    pub seed: u64,
    /// Who runs the allocators of Fastpass, if not the arbiter itself.
    pub crew: Option<&'a MakeCrew>,
}

impl Default for ControlSpec {
    fn default() -> ControlSpec {
        ControlSpec::None {}
    }
}

impl ControlSpec {
    /// The scheme on a fabric; `None` if the network works without a central scheme.
    ///
    /// # Errors
    /// An option has an invalid value, or circuits do not fit the fabric.
    pub fn system(&self, setting: &Setting<'_>) -> Result<Option<Box<dyn System>>, SpecError> {
        let Some(fabric) = setting.fabric.hybrid() else {
            return match (self, setting.crew) {
                (ControlSpec::Fastpass(spec), Some(crew)) => {
                    Ok(Some(Box::new(spec.build()?.with_crew(crew.clone()))))
                }
                _ => self.build(),
            };
        };
        let control = match self {
            ControlSpec::Circuits(spec) => Some(spec),
            _ => None,
        };
        let Setting { voq, workloads, loss, seed, .. } = *setting;
        let options = HybridOptions { control, voq, workloads, loss, seed };
        Ok(Some(Box::new(HybridSystem::new(fabric, options)?)))
    }

    /// The scheme without a fabric, checked; `None` without a central scheduler, and for circuits, which need a
    /// fabric ([`ControlSpec::system`]).
    ///
    /// # Errors
    /// An option has an invalid value.
    pub fn build(&self) -> Result<Option<Box<dyn System>>, SpecError> {
        match self {
            ControlSpec::None {} => Ok(None),
            ControlSpec::Xco(spec) => Ok(Some(Box::new(spec.build()?))),
            ControlSpec::Tdma(spec) => Ok(Some(Box::new(spec.build()?))),
            ControlSpec::Fastpass(spec) => Ok(Some(Box::new(spec.build()?))),
            ControlSpec::Hedera(spec) => Ok(Some(Box::new(spec.build()?))),
            ControlSpec::FlowScheduler(spec) => Ok(Some(Box::new(spec.build()?))),
            ControlSpec::Custom(spec) => spec.build().map(Some),
            ControlSpec::Circuits(spec) => spec.check().map(|()| None),
        }
    }
}

impl ControlSpec {
    /// Whether XCo's controllers and coordinators carry out the decisions of the scheduler.
    pub fn uses_coordinators(&self) -> bool {
        match self {
            ControlSpec::Xco(_) => true,
            ControlSpec::Custom(spec) => spec.is_scheduler(),
            _ => false,
        }
    }
    /// The class of the packets that it schedules, if switches have to serve this class first.
    pub fn scheduled_class(&self) -> Option<u8> {
        let reserved = |spec: &FastpassSpec| spec.messages == Messages::Reserved;
        matches!(self, ControlSpec::Fastpass(spec) if reserved(spec)).then_some(SCHEDULED_CLASS)
    }
}

impl Serialize for ControlSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ControlSpec::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ControlSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ControlSpec, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// Reads a name or a table. `serde(untagged)` would hide which key is wrong.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = ControlSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a scheduler: \"none\", \"xco\", \"tdma\", \"fastpass\", \"hedera\", \
             \"flow-scheduler\", \"circuits\", \"custom\", or a table with that `kind`",
        )
    }
    /// A name alone stands for a table with only its `kind`.
    fn visit_str<E: Error>(self, name: &str) -> Result<ControlSpec, E> {
        ControlSpec::deserialize(MapDeserializer::new([("kind", name)].into_iter()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ControlSpec, A::Error> {
        ControlSpec::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::schema::kinds;
    use slotline_net::time::Time;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Scheme {
        control: ControlSpec,
    }
    fn read(text: &str) -> Result<ControlSpec, toml::de::Error> {
        toml::from_str::<Scheme>(&format!("[control]\n{text}")).map(|scheme| scheme.control)
    }

    #[test]
    fn options_are_read_and_written() {
        assert_eq!(read("kind = 'none'"), Ok(ControlSpec::None {}));
        assert_eq!(read("kind = 'xco'"), Ok(ControlSpec::Xco(XcoSpec::default())));
        let spec = read("kind = 'xco'\nmode = 'rate-limit'\nslice = '2ms'\nsmall-flow = '1KB'");
        let expected = XcoSpec {
            mode: slotline_xco::spec::Mode::RateLimit,
            slice: Time::ms(2),
            small_flow: slotline_net::units::Bytes(1_000),
            ..XcoSpec::default()
        };
        assert_eq!(spec, Ok(ControlSpec::Xco(expected.clone())));
        let control = ControlSpec::Xco(expected.build().unwrap().spec().clone());
        let text = toml::to_string(&Scheme { control: control.clone() }).unwrap();
        assert_eq!(toml::from_str(&text), Ok(Scheme { control }), "{text}");
    }

    #[test]
    fn a_name_alone_is_enough() {
        let bare = |name| toml::from_str::<Scheme>(&format!("control = '{name}'"));
        assert_eq!(bare("none").map(|s| s.control), Ok(ControlSpec::None {}));
        assert_eq!(bare("xco").map(|s| s.control), Ok(ControlSpec::Xco(XcoSpec::default())));
        let error = bare("xcp").unwrap_err().to_string();
        assert!(kinds::<ControlSpec>().iter().all(|(kind, _)| error.contains(kind)), "{error}");
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for text in ["kind = 'none'\nslice = '2ms'", "kind = 'xco'\nslise = '2ms'"] {
            assert!(read(text).unwrap_err().to_string().contains("unknown field"), "{text}");
        }
        let error = read("kind = 'xcp'").unwrap_err().to_string();
        assert!(kinds::<ControlSpec>().iter().all(|(kind, _)| error.contains(kind)), "{error}");
    }
}
