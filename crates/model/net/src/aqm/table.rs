//! The form a [`QueueSpec`] has in a scenario file: a name, or a table whose keys depend on `kind`.

use super::spec::{
    AvqSpec, CodelSpec, ObjectSpec, PfcSpec, PieSpec, Policy, QcnSpec, QueueSpec, RedSpec,
    SharedSpec, ensure,
};
use crate::error::SpecError;
use crate::schema::{by_kind, or_name};
use crate::time::Time;
use crate::units::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

const DEFAULT_THRESHOLD: Bytes = Bytes(22_500);

/// The queues of the switches. A setting of another kind of queue is refused, not ignored.
#[derive(Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = by_kind, transform = or_name)]
pub(super) struct Table {
    #[serde(default)]
    kind: Kind,
    /// Room of a port: an arriving packet must fit beside what is not yet sent. With a `shared` buffer
    /// all of that, unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = QueueSpec::default().limit))]
    limit: Option<Bytes>,
    /// Packets that find more than this are marked, if they can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["ecn"], "default" = DEFAULT_THRESHOLD))]
    threshold: Option<Bytes>,
    /// Whether packets that cannot be marked are dropped where others would be marked, and not queued.
    ///
    /// Source: RFC 3168, section 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["ecn"], "default" = false))]
    drop_non_ect: Option<bool>,
    /// Average backlog from which packets are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().min))]
    min: Option<Bytes>,
    /// Average backlog where the chance reaches `max-p`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().max))]
    max: Option<Bytes>,
    /// Chance at `max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().max_p))]
    max_p: Option<f64>,
    /// Weight of a new value in the average.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().weight))]
    weight: Option<f64>,
    /// Whether the chance rises to 1 between `max` and twice that, instead of at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().gentle))]
    gentle: Option<bool>,
    /// Whether chosen packets are marked, where they can be, instead of dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red", "codel", "pie", "avq"], "default" = RedSpec::default().ecn))]
    ecn: Option<bool>,
    /// The wanted queueing delay: 5ms for codel, 15ms for pie, unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["codel", "pie"]))]
    target: Option<Time>,
    /// How long the target may be exceeded before anything is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["codel"], "default" = CodelSpec::default().interval))]
    interval: Option<Time>,
    /// Interval between updates of the chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["pie"], "default" = PieSpec::default().update))]
    update: Option<Time>,
    /// How long a burst after silence is let through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["pie"], "default" = PieSpec::default().burst))]
    burst: Option<Time>,
    /// Weight of how far the delay is off the target, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["pie"], "default" = PieSpec::default().alpha))]
    alpha: Option<f64>,
    /// Weight of how the delay changes, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["pie"], "default" = PieSpec::default().beta))]
    beta: Option<f64>,
    /// The wanted use of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["avq"], "default" = AvqSpec::default().utilisation))]
    utilisation: Option<f64>,
    /// How fast the virtual capacity follows, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["avq"], "default" = AvqSpec::default().gain))]
    gain: Option<f64>,
    /// Room of the virtual queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["avq"], "default" = AvqSpec::default().size))]
    size: Option<Bytes>,
    /// The wanted queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["qcn"], "default" = QcnSpec::default().equilibrium))]
    equilibrium: Option<Bytes>,
    /// Weight of the queue's growth in the feedback.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    #[schemars(extend("x-only" = ["qcn"], "default" = QcnSpec::default().growth_weight))]
    growth_weight: Option<f64>,
    /// Bytes from one sample to the next without congestion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["qcn"], "default" = QcnSpec::default().sample))]
    sample: Option<Bytes>,
    /// Bytes from one sample to the next at the worst.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["qcn"], "default" = QcnSpec::default().least_sample))]
    least_sample: Option<Bytes>,
    /// Quantised feedback from which samples are no more frequent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 63))]
    #[schemars(extend("x-only" = ["qcn"], "default" = QcnSpec::default().full_at))]
    full_at: Option<u8>,
    /// The worst quantised feedback; each step of feedback takes 1/128 of a sender's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 63))]
    #[schemars(extend("x-only" = ["qcn"], "default" = QcnSpec::default().most_feedback))]
    most_feedback: Option<u8>,
    /// The object file, as clang makes it for eBPF; looked for beside the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["object"]))]
    file: Option<String>,
    /// Most instructions for one packet. A program that takes more is stopped, as one that breaks another
    /// rule: the packets of its queue pass from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-only" = ["object"], "default" = ObjectSpec::INSTRUCTIONS))]
    instructions: Option<u32>,
    /// Whether the program notifies senders: then hosts have reaction points, as under `qcn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["object"], "default" = false))]
    notifies: Option<bool>,
    /// Eight classes with strict priority, 7 first, instead of one FIFO.
    #[serde(default)]
    priorities: bool,
    /// One buffer for all ports, under dynamic thresholds, instead of room for each.
    ///
    /// Source: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
    /// Switches", IEEE/ACM Transactions on Networking 6(2), 1998.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<SharedSpec>,
    /// Priority flow control: pause the sender instead of dropping; needs `priorities`.
    ///
    /// Source: IEEE 802.1Qbb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pfc: Option<PfcSpec>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// Drops what does not fit.
    #[default]
    DropTail,
    /// Marks ECN-capable packets that find more than a threshold queued.
    ///
    /// Source: RFC 3168 for the mark; RFC 8257 (DCTCP), section 3.1, for the threshold.
    Ecn,
    /// Random early detection on the average backlog, optionally gentle and with ECN.
    ///
    /// Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
    /// IEEE/ACM Transactions on Networking 1(4), 1993, whose recommendations are the defaults.
    Red,
    /// Drops or marks, more and more often, while packets wait longer than a target for an interval.
    ///
    /// Source: RFC 8289 (CoDel), whose recommendations are the defaults; they are for the Internet.
    Codel,
    /// Drops or marks with a chance that a controller steers towards a target of the delay.
    ///
    /// Source: RFC 8033 (PIE), whose recommendations are the defaults; they are for the Internet.
    Pie,
    /// Drops or marks what overflows a virtual queue, whose capacity follows the wanted use of the link.
    ///
    /// Source: Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue
    /// Management", IEEE/ACM Transactions on Networking 12(2), 2004.
    Avq,
    /// Quantized congestion notification: samples packets and tells their senders how bad it is.
    ///
    /// Source: IEEE 802.1Q-2018, clauses 30 to 32 (802.1Qau).
    Qcn,
    /// A program of one's own, in C or another language, compiled to an eBPF object file.
    ///
    /// Source: RFC 9669 for its instructions.
    Object,
}

impl Kind {
    /// As a scenario has it.
    fn name(self) -> &'static str {
        match self {
            Kind::DropTail => "drop-tail",
            Kind::Ecn => "ecn",
            Kind::Red => "red",
            Kind::Codel => "codel",
            Kind::Pie => "pie",
            Kind::Avq => "avq",
            Kind::Qcn => "qcn",
            Kind::Object => "object",
        }
    }
}

impl Table {
    fn read(self) -> Result<QueueSpec, SpecError> {
        self.refuse_foreign_keys()?;
        let policy = match self.kind {
            Kind::DropTail => Policy::DropTail,
            Kind::Ecn => Policy::Ecn {
                threshold: self.threshold.unwrap_or(DEFAULT_THRESHOLD),
                drop_non_ect: self.drop_non_ect.unwrap_or_default(),
            },
            Kind::Red => Policy::Red(self.red()),
            Kind::Codel => Policy::Codel(self.codel()),
            Kind::Pie => Policy::Pie(self.pie()),
            Kind::Avq => Policy::Avq(self.avq()),
            Kind::Qcn => Policy::Qcn(self.qcn()),
            Kind::Object => Policy::Object(self.object()?),
        };
        let whole = self.shared.map_or(QueueSpec::default().limit, |shared| shared.total);
        let limit = self.limit.unwrap_or(whole);
        let Table { shared, priorities, pfc, .. } = self;
        Ok(QueueSpec { policy, limit, shared, priorities, pfc })
    }

    fn red(&self) -> RedSpec {
        let usual = RedSpec::default();
        RedSpec {
            min: self.min.unwrap_or(usual.min),
            max: self.max.unwrap_or(usual.max),
            max_p: self.max_p.unwrap_or(usual.max_p),
            weight: self.weight.unwrap_or(usual.weight),
            gentle: self.gentle.unwrap_or(usual.gentle),
            ecn: self.ecn.unwrap_or(usual.ecn),
        }
    }

    fn codel(&self) -> CodelSpec {
        let usual = CodelSpec::default();
        CodelSpec {
            target: self.target.unwrap_or(usual.target),
            interval: self.interval.unwrap_or(usual.interval),
            ecn: self.ecn.unwrap_or(usual.ecn),
        }
    }

    fn pie(&self) -> PieSpec {
        let usual = PieSpec::default();
        PieSpec {
            target: self.target.unwrap_or(usual.target),
            update: self.update.unwrap_or(usual.update),
            burst: self.burst.unwrap_or(usual.burst),
            alpha: self.alpha.unwrap_or(usual.alpha),
            beta: self.beta.unwrap_or(usual.beta),
            ecn: self.ecn.unwrap_or(usual.ecn),
        }
    }

    fn avq(&self) -> AvqSpec {
        let usual = AvqSpec::default();
        AvqSpec {
            utilisation: self.utilisation.unwrap_or(usual.utilisation),
            gain: self.gain.unwrap_or(usual.gain),
            size: self.size.unwrap_or(usual.size),
            ecn: self.ecn.unwrap_or(usual.ecn),
        }
    }

    fn qcn(&self) -> QcnSpec {
        let usual = QcnSpec::default();
        QcnSpec {
            equilibrium: self.equilibrium.unwrap_or(usual.equilibrium),
            growth_weight: self.growth_weight.unwrap_or(usual.growth_weight),
            sample: self.sample.unwrap_or(usual.sample),
            least_sample: self.least_sample.unwrap_or(usual.least_sample),
            full_at: self.full_at.unwrap_or(usual.full_at),
            most_feedback: self.most_feedback.unwrap_or(usual.most_feedback),
        }
    }

    fn object(&self) -> Result<ObjectSpec, SpecError> {
        let missing = || {
            let message = "a queue of kind \"object\" needs `file`, for example file = \"red.o\"";
            SpecError::new("file", message)
        };
        Ok(ObjectSpec {
            file: self.file.clone().ok_or_else(missing)?,
            instructions: self.instructions.unwrap_or(ObjectSpec::INSTRUCTIONS),
            notifies: self.notifies.unwrap_or_default(),
            program: None,
        })
    }

    fn of_qcn(self, qcn: &QcnSpec) -> Table {
        Table {
            kind: Kind::Qcn,
            equilibrium: Some(qcn.equilibrium),
            growth_weight: Some(qcn.growth_weight),
            sample: Some(qcn.sample),
            least_sample: Some(qcn.least_sample),
            full_at: Some(qcn.full_at),
            most_feedback: Some(qcn.most_feedback),
            ..self
        }
    }

    fn of_object(self, object: ObjectSpec) -> Table {
        Table {
            kind: Kind::Object,
            file: Some(object.file),
            instructions: Some(object.instructions),
            notifies: Some(object.notifies),
            ..self
        }
    }

    fn refuse_foreign_keys(&self) -> Result<(), SpecError> {
        use Kind::{Avq, Codel, Ecn, Object, Pie, Qcn, Red};
        let keys: [(&str, bool, &[Kind]); 26] = [
            ("threshold", self.threshold.is_some(), &[Ecn]),
            ("drop-non-ect", self.drop_non_ect.is_some(), &[Ecn]),
            ("min", self.min.is_some(), &[Red]),
            ("max", self.max.is_some(), &[Red]),
            ("max-p", self.max_p.is_some(), &[Red]),
            ("weight", self.weight.is_some(), &[Red]),
            ("gentle", self.gentle.is_some(), &[Red]),
            ("ecn", self.ecn.is_some(), &[Red, Codel, Pie, Avq]),
            ("target", self.target.is_some(), &[Codel, Pie]),
            ("interval", self.interval.is_some(), &[Codel]),
            ("update", self.update.is_some(), &[Pie]),
            ("burst", self.burst.is_some(), &[Pie]),
            ("alpha", self.alpha.is_some(), &[Pie]),
            ("beta", self.beta.is_some(), &[Pie]),
            ("utilisation", self.utilisation.is_some(), &[Avq]),
            ("gain", self.gain.is_some(), &[Avq]),
            ("size", self.size.is_some(), &[Avq]),
            ("equilibrium", self.equilibrium.is_some(), &[Qcn]),
            ("growth-weight", self.growth_weight.is_some(), &[Qcn]),
            ("sample", self.sample.is_some(), &[Qcn]),
            ("least-sample", self.least_sample.is_some(), &[Qcn]),
            ("full-at", self.full_at.is_some(), &[Qcn]),
            ("most-feedback", self.most_feedback.is_some(), &[Qcn]),
            ("file", self.file.is_some(), &[Object]),
            ("instructions", self.instructions.is_some(), &[Object]),
            ("notifies", self.notifies.is_some(), &[Object]),
        ];
        keys.iter().try_for_each(|&(key, given, kinds)| {
            ensure(!given || kinds.contains(&self.kind), key, || {
                let names: Vec<_> =
                    kinds.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
                format!("`{key}` belongs to queues of kind {} only", names.join(", "))
            })
        })
    }
}

impl From<QueueSpec> for Table {
    fn from(spec: QueueSpec) -> Table {
        let QueueSpec { policy, limit, shared, priorities, pfc } = spec;
        let common = Table { limit: Some(limit), shared, priorities, pfc, ..Table::default() };
        match policy {
            Policy::DropTail => common,
            Policy::Ecn { threshold, drop_non_ect } => Table {
                kind: Kind::Ecn,
                threshold: Some(threshold),
                drop_non_ect: Some(drop_non_ect),
                ..common
            },
            Policy::Red(red) => Table {
                kind: Kind::Red,
                min: Some(red.min),
                max: Some(red.max),
                max_p: Some(red.max_p),
                weight: Some(red.weight),
                gentle: Some(red.gentle),
                ecn: Some(red.ecn),
                ..common
            },
            Policy::Codel(codel) => Table {
                kind: Kind::Codel,
                target: Some(codel.target),
                interval: Some(codel.interval),
                ecn: Some(codel.ecn),
                ..common
            },
            Policy::Pie(pie) => Table {
                kind: Kind::Pie,
                target: Some(pie.target),
                update: Some(pie.update),
                burst: Some(pie.burst),
                alpha: Some(pie.alpha),
                beta: Some(pie.beta),
                ecn: Some(pie.ecn),
                ..common
            },
            Policy::Avq(avq) => Table {
                kind: Kind::Avq,
                utilisation: Some(avq.utilisation),
                gain: Some(avq.gain),
                size: Some(avq.size),
                ecn: Some(avq.ecn),
                ..common
            },
            Policy::Qcn(qcn) => common.of_qcn(&qcn),
            Policy::Object(object) => common.of_object(object),
        }
    }
}

impl schemars::JsonSchema for QueueSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "queue".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Table::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QueueSpec, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// Not `serde(untagged)`: that would hide which key is wrong.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = QueueSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a queue: \"drop-tail\", \"ecn\", \"red\", \"codel\", \"pie\", \"avq\", \"qcn\", or a table with a `kind`")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<QueueSpec, E> {
        let kind = Kind::deserialize(name.into_deserializer())?;
        Table { kind, ..Table::default() }.read().map_err(E::custom)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        table.read().map_err(A::Error::custom)
    }
}
