//! A transport in a scenario file: a name alone, or a table.

use super::{AlgorithmKind, LossRecovery, Standard, TransportSpec};
use crate::time::Time;
use crate::units::{Bytes, Rate};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// What a scenario file may say: a name alone, or a table. Not `serde(untagged)`: that would hide
/// which key is wrong.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = TransportSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a transport: \"newreno\", \"cubic\", \"dctcp\", \"retcp\", \"tdtcp\", \"fixed\", or a table with \
             that `kind`",
        )
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<TransportSpec, E> {
        AlgorithmKind::deserialize(name.into_deserializer()).map(TransportSpec::of)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TransportSpec, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        table.refuse_foreign_keys().map_err(A::Error::custom)?;
        Ok(TransportSpec::from(table))
    }
}

impl Serialize for TransportSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Table::from(*self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TransportSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TransportSpec, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// The keys of a table. Those that a kind does not know are not written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Table {
    kind: AlgorithmKind,
    mtu: Option<Bytes>,
    framing: Option<Bytes>,
    headers: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_window: Option<u32>,
    min_rto: Option<Time>,
    max_rto: Option<Time>,
    max_window: Option<Bytes>,
    delayed_ack: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quick_acks: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_restart: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain_shift: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standard: Option<Standard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update_interval: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    circuit_increase: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    circuit_decrease: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss_recovery: Option<LossRecovery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tail_loss_probe: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer_slack: Option<Time>,
    tsq_limit: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shaper: Option<Rate>,
    processing: Option<Time>,
}

impl Table {
    /// Refuses keys that do nothing for its kind.
    fn refuse_foreign_keys(&self) -> Result<(), String> {
        let keys = [
            ("initial-window", self.initial_window.is_some()),
            ("quick-acks", self.quick_acks.is_some()),
            ("idle-restart", self.idle_restart.is_some()),
            ("ecn", self.ecn.is_some()),
            ("gain-shift", self.gain_shift.is_some()),
            ("standard", self.standard.is_some()),
            ("update-interval", self.update_interval.is_some()),
            ("circuit-increase", self.circuit_increase.is_some()),
            ("circuit-decrease", self.circuit_decrease.is_some()),
            ("loss-recovery", self.loss_recovery.is_some()),
            ("tail-loss-probe", self.tail_loss_probe.is_some()),
            ("timer-slack", self.timer_slack.is_some()),
        ];
        let foreign = keys.iter().find(|(key, given)| *given && !knows(self.kind, key));
        match (foreign, self.kind) {
            (None, AlgorithmKind::Cubic)
                if self.update_interval.is_some_and(|interval| interval > Time::ZERO)
                    && self.standard != Some(Standard::Rfc8312) =>
            {
                Err("`update-interval` needs standard = \"rfc8312\"".into())
            }
            (None, _) => self.refuse_without_rack(),
            (Some((key, _)), AlgorithmKind::Fixed) => Err(format!(
                "`{key}` has no meaning for `fixed`, whose window is always `max-window`"
            )),
            (Some((key, _)), kind) => {
                Err(format!("`{key}` has no meaning for `{}`: leave it out", kind.name()))
            }
        }
    }

    /// Refuses keys that do nothing where losses are found by counting.
    fn refuse_without_rack(&self) -> Result<(), String> {
        let keys = [
            ("tail-loss-probe", self.tail_loss_probe.is_some()),
            ("timer-slack", self.timer_slack.is_some()),
        ];
        match keys.iter().find(|(_, given)| *given) {
            Some((key, _)) if self.loss_recovery != Some(LossRecovery::Rack) => {
                Err(format!("`{key}` needs loss-recovery = \"rack\""))
            }
            _ => Ok(()),
        }
    }
}

/// Whether `key`, which not all kinds have, means something to `kind`.
fn knows(kind: AlgorithmKind, key: &str) -> bool {
    use AlgorithmKind::{Cubic, Dctcp, Fixed, NewReno, Retcp, Tdtcp};
    match key {
        "gain-shift" => matches!(kind, NewReno | Cubic | Dctcp),
        "standard" | "update-interval" => kind == Cubic,
        "circuit-increase" | "circuit-decrease" => kind == Retcp,
        "loss-recovery" | "tail-loss-probe" | "timer-slack" => !matches!(kind, Fixed | Tdtcp),
        _ => kind != Fixed,
    }
}

impl From<TransportSpec> for Table {
    fn from(spec: TransportSpec) -> Table {
        let controlled = spec.kind != AlgorithmKind::Fixed;
        let jumps = spec.kind == AlgorithmKind::Retcp;
        let rack = knows(spec.kind, "loss-recovery") && spec.loss_recovery == LossRecovery::Rack;
        Table {
            kind: spec.kind,
            mtu: Some(spec.mtu),
            framing: Some(spec.framing),
            headers: Some(spec.headers),
            initial_window: controlled.then_some(spec.initial_window),
            min_rto: Some(spec.min_rto),
            max_rto: Some(spec.max_rto),
            max_window: Some(spec.max_window),
            delayed_ack: Some(spec.delayed_ack),
            quick_acks: spec.quick_acks.then_some(true),
            idle_restart: controlled.then_some(spec.idle_restart),
            ecn: controlled.then_some(spec.ecn),
            gain_shift: knows(spec.kind, "gain-shift").then_some(spec.gain_shift),
            standard: (spec.kind == AlgorithmKind::Cubic && spec.standard != Standard::default())
                .then_some(spec.standard),
            update_interval: (spec.kind == AlgorithmKind::Cubic
                && spec.standard == Standard::Rfc8312)
                .then_some(spec.update_interval),
            circuit_increase: jumps.then_some(spec.circuit_increase),
            circuit_decrease: jumps.then_some(spec.circuit_decrease),
            loss_recovery: rack.then_some(spec.loss_recovery),
            tail_loss_probe: rack.then_some(spec.tail_loss_probe),
            timer_slack: rack.then_some(spec.timer_slack),
            tsq_limit: Some(spec.tsq_limit),
            shaper: spec.shaper,
            processing: Some(spec.processing),
        }
    }
}

impl From<Table> for TransportSpec {
    fn from(table: Table) -> TransportSpec {
        let base = TransportSpec::of(table.kind);
        TransportSpec {
            kind: table.kind,
            mtu: table.mtu.unwrap_or(base.mtu),
            framing: table.framing.unwrap_or(base.framing),
            headers: table.headers.unwrap_or(base.headers),
            initial_window: table.initial_window.unwrap_or(base.initial_window),
            min_rto: table.min_rto.unwrap_or(base.min_rto),
            max_rto: table.max_rto.unwrap_or(base.max_rto),
            max_window: table.max_window.unwrap_or(base.max_window),
            delayed_ack: table.delayed_ack.unwrap_or(base.delayed_ack),
            quick_acks: table.quick_acks.unwrap_or(base.quick_acks),
            idle_restart: table.idle_restart.unwrap_or(base.idle_restart),
            ecn: table.ecn.unwrap_or(base.ecn),
            gain_shift: table.gain_shift.unwrap_or(base.gain_shift),
            standard: table.standard.unwrap_or(base.standard),
            update_interval: table.update_interval.unwrap_or(base.update_interval),
            circuit_increase: table.circuit_increase.unwrap_or(base.circuit_increase),
            circuit_decrease: table.circuit_decrease.unwrap_or(base.circuit_decrease),
            loss_recovery: table.loss_recovery.unwrap_or(base.loss_recovery),
            tail_loss_probe: table.tail_loss_probe.unwrap_or(base.tail_loss_probe),
            timer_slack: table.timer_slack.unwrap_or(base.timer_slack),
            tsq_limit: table.tsq_limit.unwrap_or(base.tsq_limit),
            shaper: table.shaper.or(base.shaper),
            processing: table.processing.unwrap_or(base.processing),
        }
    }
}
