//! The settings of the queues of switches in a scenario.

pub use super::avq::AvqSpec;
pub use super::codel::CodelSpec;
pub use super::custom::CustomSpec;
pub use super::drop_tail::DropTailSpec;
pub use super::guest::ObjectSpec;
pub use super::pie::PieSpec;
pub use super::policy::Policy;
pub use super::qcn::{QcnSpec, ReactionSpec};
pub use super::red::RedSpec;
pub use super::threshold::EcnSpec;

use super::policy::Marker;
use super::settings::{QueueParams, at_most, ensure};
use crate::error::SpecError;
use crate::frame::CLASSES;
use crate::rng::Stream;
use crate::units::{Bytes, InverseRate};
use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};

/// The queues of a switch: either only the name of a policy, or a table with its `kind` and settings.
///
/// ```toml
/// queue = "drop-tail"
/// queue = { kind = "ecn", limit = "150KB", threshold = "22.5KB" }
/// queue = { kind = "red", min = "30KB", max = "90KB", shared = { total = "4MB" }, priorities = true }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct QueueSpec {
    /// The policy, which marks or drops packets before the queue is full.
    pub policy: Policy,
    /// The size of the queue of a port, in bytes that are not yet sent. Default: 150 KB (100 packets of 1500 bytes), or
    /// the whole buffer if it is shared.
    pub limit: Bytes,
    /// One buffer for all ports, instead of one for each.
    pub shared: Option<SharedSpec>,
    /// Eight classes with strict priority, 7 first, instead of one FIFO.
    pub priorities: bool,
    /// Priority flow control: pause the sender instead of dropping.
    pub pfc: Option<PfcSpec>,
}

/// A buffer shared by all ports under dynamic thresholds (Choudhury and Hahne, IEEE/ACM Transactions on
/// Networking 6(2), 1998).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedSpec {
    /// The whole buffer, of all ports together, for bytes that are not yet sent.
    pub total: Bytes,
    /// A queue may hold at most `alpha` times the bytes that are free.
    ///
    /// Source: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
    /// Switches", IEEE/ACM Transactions on Networking 6(2), 1998.
    #[serde(default = "default_alpha")]
    pub alpha: f64,
}

/// Priority flow control (IEEE 802.1Qbb), accounted per port and class of arrival.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PfcSpec {
    /// The sender is paused if more than this number of bytes from one port are in one class.
    pub xoff: Bytes,
    /// At this number of bytes, or fewer, the sender may resume.
    pub xon: Bytes,
    /// Room per port and class for packets that still arrive after a pause. Default: computed from the rate and delay
    /// of each link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// The lossless classes. Under `xco`, class 7 carries control messages and should not be lossless.
    pub classes: Vec<u8>,
}

impl Default for PfcSpec {
    fn default() -> PfcSpec {
        let classes = (0..CLASSES as u8).collect();
        PfcSpec { xoff: Bytes(30_000), xon: Bytes(27_000), headroom: None, classes }
    }
}

impl Default for QueueSpec {
    fn default() -> QueueSpec {
        let limit = Bytes(150_000);
        QueueSpec { policy: Policy::default(), limit, shared: None, priorities: false, pfc: None }
    }
}

fn default_alpha() -> f64 {
    1.0
}

impl QueueSpec {
    /// The policy of that `kind`, with defaults.
    pub fn named(kind: &str) -> Result<QueueSpec, SpecError> {
        let name: StrDeserializer<'_, serde::de::value::Error> = kind.into_deserializer();
        QueueSpec::deserialize(name).map_err(|error| SpecError::new("kind", error.to_string()))
    }

    /// Whether a plain FIFO port supports it: room per port, one class, no pauses, and a policy of that port.
    pub fn is_plain(&self) -> bool {
        self.policy.is_plain() && self.is_fifo(self.priorities) && self.shared.is_none()
    }

    /// Whether packets leave in the order in which they arrive, at ports of the packet engine. `has_classes`: priorities have
    /// an effect.
    pub fn is_fifo(&self, has_classes: bool) -> bool {
        let is_supported =
            self.policy.is_plain() || matches!(self.policy, Policy::Codel(_) | Policy::Qcn(_));
        is_supported && !has_classes && self.pfc.is_none()
    }

    /// The state of one queue that is drained at `pace`; its largest packet has `mtu` bytes on the wire.
    ///
    /// # Panics
    /// The queue is not valid: the program of an `object` is missing.
    pub fn marker(&self, pace: InverseRate, mtu: u64, rng: Stream) -> Marker {
        self.policy.marker(QueueParams { pace, capacity: self.limit, mtu, rng })
    }

    /// Whether it notifies senders.
    pub fn notifies(&self) -> bool {
        self.policy.notifies()
    }

    /// The same settings for the queues of one switch, or of one bump: they share no program state with others.
    pub fn unshared(&self) -> QueueSpec {
        match &self.policy {
            Policy::Object(object) => {
                QueueSpec { policy: Policy::Object(object.unshared()), ..self.clone() }
            }
            _ => self.clone(),
        }
    }

    /// Checks that the settings are consistent.
    pub fn validate(&self) -> Result<(), SpecError> {
        ensure(self.limit.0 > 0, "limit", || "`limit` is 0B: no packet would pass".into())?;
        self.policy.validate(self.limit)?;
        ensure(self.pfc.is_none() || self.policy.is_lossless(), "pfc", || {
            "`pfc` needs queues that lose nothing, but codel drops packets that are in the queue"
                .into()
        })?;
        if let Some(shared) = self.shared {
            shared.validate(self.limit)?;
        }
        self.pfc.as_ref().map_or(Ok(()), |pfc| {
            let why = "`pfc` pauses single classes: set `priorities = true`, or leave `pfc` out";
            ensure(self.priorities, "pfc", || why.into())?;
            pfc.validate(self.limit)
        })
    }
}

impl SharedSpec {
    fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        at_most(("limit", limit), ("shared.total", self.total))?;
        ensure(self.alpha > 0.0 && self.alpha.is_finite(), "shared.alpha", || {
            format!("`shared.alpha` = {} must be a number above 0, for example 1.0", self.alpha)
        })
    }
}

impl PfcSpec {
    fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        at_most(("pfc.xon", self.xon), ("pfc.xoff", self.xoff))?;
        at_most(("pfc.xoff", self.xoff), ("limit", limit))?;
        ensure(self.headroom != Some(Bytes(0)), "pfc.headroom", || {
            "`pfc.headroom` is 0B: packets that are on the link when a pause is sent would be lost; \
             leave `pfc.headroom` out, and it is computed for each link"
                .into()
        })?;
        ensure(!self.classes.is_empty(), "pfc.classes", || {
            "`pfc.classes` is empty: name the lossless classes, for example [3]".into()
        })?;
        self.classes.iter().try_for_each(|&class| {
            ensure(usize::from(class) < CLASSES, "pfc.classes", || {
                format!("`pfc.classes` has {class}: classes are 0 to 7")
            })
        })
    }

    /// The lossless classes as a bit mask.
    pub fn mask(&self) -> u8 {
        self.classes.iter().fold(0, |mask, &class| mask | 1 << class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Scheme {
        queue: QueueSpec,
    }

    fn read(value: &str) -> Result<QueueSpec, String> {
        let scheme = toml::from_str::<Scheme>(&format!("queue = {value}"));
        let queue = scheme.map_err(|error| error.to_string())?.queue;
        queue.validate().map_err(|error| format!("{}: {error}", error.key))?;
        Ok(queue)
    }

    #[test]
    fn a_name_is_a_table_with_defaults() {
        for (name, _) in crate::schema::kinds::<QueueSpec>() {
            let table = read(&format!("{{ kind = \"{name}\" }}"));
            if name == "object" {
                assert!(table.is_err_and(|why| why.contains("missing field `file`")));
                continue;
            }
            if name == "custom" {
                assert!(table.is_err_and(|why| why.contains("missing field `name`")));
                continue;
            }
            assert_eq!(read(&format!("\"{name}\"")), table);
            let plain = ["drop-tail", "ecn", "red", "pie", "avq"].contains(&&name[..]);
            assert!(table.is_ok_and(|queue| queue.is_plain() == plain), "{name}");
        }
        assert_eq!(read("\"drop-tail\""), Ok(QueueSpec::default()));
        assert_eq!(read("{}"), Ok(QueueSpec::default()));
    }

    #[test]
    fn what_is_written_back_reads_the_same() {
        for text in [
            "{ kind = \"red\", min = \"30KB\", max = \"90KB\", max-p = 0.02, gentle = false }",
            "{ kind = \"ecn\", priorities = true, shared = { total = \"4MB\" } }",
            "{ kind = \"ecn\", threshold = \"30KB\", drop-non-ect = true }",
            "{ kind = \"codel\", target = \"50us\", interval = \"500us\", ecn = true }",
            "{ kind = \"pie\", target = \"50us\", update = \"50us\", burst = \"1ms\", alpha = 2.0 }",
            "{ kind = \"avq\", utilisation = 0.9, gain = 100.0, size = \"30KB\" }",
            "{ kind = \"qcn\", equilibrium = \"20KB\", growth-weight = 1.0, full-at = 32, most-feedback = 32 }",
            "{ priorities = true, pfc = { xoff = \"40KB\", headroom = \"20KB\", classes = [3] } }",
            "{ kind = \"object\", file = \"red.o\", instructions = 500, notifies = true }",
            "{ kind = \"custom\", name = \"mine\", options = { least = 3 } }",
        ] {
            let queue = toml::from_str::<Scheme>(&format!("queue = {text}")).unwrap().queue;
            let written = toml::to_string(&Scheme { queue: queue.clone() }).unwrap();
            assert!(written.contains("limit"), "defaults are written out: {written}");
            assert_eq!(toml::from_str::<Scheme>(&written).unwrap().queue, queue);
        }
    }

    #[test]
    fn a_shared_buffer_is_the_limit_unless_one_is_given() {
        let shared = |more| read(&format!("{{ shared = {{ total = \"4MB\" }} {more} }}")).unwrap();
        assert_eq!(shared("").limit, Bytes(4_000_000));
        assert_eq!(shared(", limit = \"1MB\"").limit, Bytes(1_000_000));
    }

    #[test]
    fn errors_name_the_key_the_value_and_what_is_right() {
        let table = [
            ("\"blue\"", "expected one of `drop-tail`, `ecn`, `red`"),
            ("7", "a queue: \"drop-tail\""),
            ("{ kind = \"ecn\", treshold = \"3KB\" }", "unknown field `treshold`"),
            ("{ threshold = \"3KB\" }", "`threshold` belongs to queues of kind \"ecn\""),
            ("{ kind = \"ecn\", max-p = 0.1 }", "`max-p` belongs to queues of kind \"red\""),
            (
                "{ kind = \"ecn\", ecn = true }",
                "`ecn` belongs to queues of kind \"red\", \"codel\"",
            ),
            ("{ kind = \"codel\", target = \"1s\" }", "target: `target` = 1s must be below"),
            ("{ kind = \"pie\", alpha = 0.0 }", "alpha: `alpha` = 0 must"),
            ("{ kind = \"avq\", utilisation = 1.5 }", "utilisation: `utilisation` = 1.5"),
            ("{ kind = \"qcn\", equilibrium = \"1MB\" }", "equilibrium: `equilibrium` = 1MB must"),
            ("{ kind = \"qcn\", full-at = 64 }", "full-at: `full-at` is 64"),
            ("{ kind = \"qcn\", most-feedback = 0 }", "most-feedback: `most-feedback` is 0"),
            ("{ kind = \"red\", drop-non-ect = true }", "`drop-non-ect` belongs to queues of kind"),
            ("{ kind = \"ecn\", threshold = \"200KB\" }", "threshold: `threshold` = 200KB must"),
            ("{ limit = \"0B\" }", "limit: `limit` is 0B"),
            ("\"object\"", "missing field `file`"),
            ("{ kind = \"custom\", name = \"mine\" }", "name: `name` = \"mine\": no program"),
            ("{ kind = \"red\", file = \"red.o\" }", "`file` belongs to queues of kind \"object\""),
            ("{ kind = \"object\", file = \"red.o\" }", "file: `file` = \"red.o\" was not read"),
            (
                "{ kind = \"object\", file = \"red.o\", instructions = 0 }",
                "instructions: `instructions` is 0",
            ),
            (
                "{ kind = \"red\", min = \"90KB\", max = \"30KB\" }",
                "min: `min` = 90KB must be below",
            ),
            ("{ kind = \"red\", max-p = 1.5 }", "max-p: `max-p` = 1.5"),
            ("{ kind = \"red\", weight = 0.0 }", "weight: `weight` = 0"),
            ("{ shared = { total = \"1MB\", alpha = -1.0 } }", "shared.alpha: `shared.alpha` = -1"),
            ("{ shared = { total = \"1MB\" }, limit = \"2MB\" }", "limit: `limit` = 2MB must"),
            ("{ pfc = {} }", "pfc: `pfc` pauses single classes: set `priorities = true`"),
            ("{ priorities = true, pfc = { xon = \"50KB\" } }", "pfc.xon: `pfc.xon` = 50KB must"),
            ("{ priorities = true, pfc = { headroom = \"0B\" } }", "pfc.headroom: "),
            ("{ priorities = true, pfc = { classes = [8] } }", "pfc.classes: `pfc.classes` has 8"),
            (
                "{ priorities = true, pfc = { classes = [] } }",
                "pfc.classes: `pfc.classes` is empty",
            ),
        ];
        for (text, why) in table {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
