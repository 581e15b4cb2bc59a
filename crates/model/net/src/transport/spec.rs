//! The settings of a transport, and the values that are computed from them once.

#[macro_use]
mod table;

use super::congestion::{
    Algorithm, AlgorithmKind, Custom, Jumps, MakeCongestion, Standard, Tuning,
};
use super::rtt::Limits;
use crate::custom::{Named, Options};
use crate::error::SpecError;
use crate::schema::{by_kind, or_name};
use crate::time::Time;
use crate::units::{Bytes, InverseRate, Rate};
use serde::{Deserialize, Serialize};

/// How a sender detects lost segments, and how fast it then slows down.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LossRecovery {
    /// By three segments received beyond a lost one. The sender pauses until the smaller window allows more.
    ///
    /// Source: RFC 6675.
    #[default]
    Sack,
    /// By time: a segment is lost if another one that was sent sufficiently later was received. Probes detect lost
    /// tails, and the data in transit falls in proportion to the acknowledged data. As Linux since 4.18.
    ///
    /// Source: RFC 8985 (RACK-TLP) and RFC 6937 (proportional rate reduction).
    Rack,
}

/// How a sender slows down when marks are echoed.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EcnResponse {
    /// Over a round trip: the data in transit falls to the smaller window in proportion to the acknowledged data, and
    /// the window does not grow meanwhile. DCTCP's alpha has ten binary digits. As Linux.
    ///
    /// Source: RFC 6937; `tcp_enter_cwr` and `tcp_dctcp.c` in Linux.
    #[default]
    Gradual,
    /// At once: the sender pauses until the smaller window allows more. DCTCP's alpha has twenty binary digits.
    ///
    /// Source: RFC 3168, section 6.1.2, and RFC 8257, section 3.3.
    AtOnce,
}

keys! { |kind|
    /// The name of the algorithm in the calling program.
    #[schemars(extend("x-needed-by" = ["custom"]))]
    name: Option<Named<MakeCongestion>> = None,
    /// The algorithm's own options.
    #[schemars(extend("x-only" = ["custom"]))]
    options: Options = Options::default(),
    /// Largest IP packet, 576 B to 9216 B.
    mtu: Bytes = Bytes(1500),
    /// Bytes that each packet adds on the wire: Ethernet's preamble (8), header (14), checksum (4)
    /// and gap (12). Where it is not zero, packets are padded to Ethernet's minimum frame.
    ///
    /// Source: IEEE 802.3, clause 3.
    framing: Bytes = Bytes(38),
    /// IPv4 and TCP headers, 40 B to 120 B; 52 B with the time-stamp option.
    headers: Bytes = Bytes(40),
    /// Initial window in segments.
    ///
    /// Source: RFC 6928.
    #[schemars(range(min = 1, max = 1000), extend("x-except" = ["fixed"]))]
    initial_window: u32 = 10,
    /// Smallest retransmission time-out; Linux's default is 200 ms.
    ///
    /// Source: RFC 6298 for the time-out's computation.
    min_rto: Time = Time::ms(200),
    /// Largest retransmission time-out.
    max_rto: Time = Time::s(120),
    /// The most unacknowledged payload of a connection: the receive window, and for `fixed` the whole window. At most
    /// 60,000 segments count.
    max_window: Bytes = Bytes(if kind.needs().constant_window { 80_000_000 } else { 2_000_000 }),
    /// Delays acknowledgements by up to this time or every second segment (with `fixed`, every
    /// sixteenth); zero acknowledges each.
    ///
    /// Source: RFC 5681, section 4.2.
    delayed_ack: Time = if kind.needs().constant_window { Time::ms(1) } else { Time::ZERO },
    /// The first acknowledgements of a connection are not delayed, nor those after a duplicate segment or after a pause
    /// longer than `min-rto`. Each time these are up to sixteen: half of the segments of `max-window`, as in Linux.
    /// Only if `delayed-ack` is above zero.
    #[schemars(extend("x-except" = ["fixed"]))]
    quick_acks: bool = false,
    /// After an idle time-out the window falls back to the initial one, as in Linux.
    ///
    /// Source: RFC 2861.
    #[schemars(extend("x-except" = ["fixed"]))]
    idle_restart: bool = !kind.needs().constant_window,
    /// Negotiates ECN. DCTCP requires it.
    ///
    /// Source: RFC 3168.
    #[schemars(extend("x-except" = ["fixed"]))]
    ecn: bool = kind.needs().marks,
    /// How fast the sender slows down when marks are echoed. Only with `ecn`.
    #[schemars(extend("x-only" = ["newreno", "cubic", "dctcp"]))]
    ecn_response: EcnResponse = EcnResponse::Gradual,
    /// DCTCP's gain g is 2 to the power of minus this.
    ///
    /// Source: RFC 8257, which recommends 4.
    #[schemars(range(min = 1, max = 10), extend("x-only" = ["newreno", "cubic", "dctcp"]))]
    gain_shift: u8 = 4,
    /// The version of CUBIC.
    #[schemars(extend("x-only" = ["cubic"]))]
    standard: Standard = Standard::Rfc9438,
    /// CUBIC's growth is computed when the window has changed by a segment, or this long after the last computation
    /// (1/32 s in Linux). If zero, it is computed for each acknowledgement. Only with `standard = "rfc8312"`.
    #[schemars(extend("x-only" = ["cubic"]))]
    update_interval: Time = Time::ZERO,
    /// The factor of the window when a circuit begins, in steps of 1/1024.
    ///
    /// Source: Etalon paper, section 4.4: alpha, for which 2 was found best.
    #[schemars(range(min = 1.0, max = 64.0), extend("x-only" = ["retcp"]))]
    circuit_increase: f64 = 2.0,
    /// The factor of the window when the circuit ends, in steps of 1/1024.
    ///
    /// Source: Etalon paper, section 4.4: beta, for which 0.5 was found best.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-only" = ["retcp"]))]
    circuit_decrease: f64 = 0.5,
    /// How lost segments are detected.
    #[schemars(extend("x-except" = ["tdtcp", "fixed"]))]
    loss_recovery: LossRecovery = LossRecovery::Sack,
    /// If nothing is acknowledged for two round trips, a probe segment is sent. Only with
    /// `loss-recovery = "rack"`.
    ///
    /// Source: RFC 8985, section 7.
    #[schemars(extend("x-except" = ["tdtcp", "fixed"]))]
    tail_loss_probe: bool = true,
    /// The delay of a host's timers for late segments and probes: two ticks of its clock in Linux, 2 ms to
    /// 8 ms. Only with `loss-recovery = "rack"`.
    #[schemars(extend("x-except" = ["tdtcp", "fixed"]))]
    timer_slack: Time = Time::ZERO,
    /// The most bytes that wait in the network card of a host before connections take turns.
    tsq_limit: Bytes = Bytes(64_000),
    /// The rate of a shaper that the packets of a host pass. Packets that arrive at the same time leave together, when
    /// all of them would have been sent, as with Linux's `netem rate` and segmentation by the card (TSO). The link of
    /// the host should be faster. Default: no shaper.
    shaper: Option<Rate> = None,
    /// The longest reaction time of a host. When a host reacts to a packet or a timer, its packets leave after a random
    /// time between zero and this, unless its card is busy that long. With zero, senders of equal rate stay
    /// synchronised, and some keep others out of a full queue. At most 1 ms. Default: the time of one full packet at
    /// the slowest link of the connection's path, at most 1 ms; 100 ns if a central scheme decides when packets leave.
    ///
    /// Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways",
    /// Internetworking: Research and Experience 3(3), 1992.
    processing: Option<Time> = None,
}

/// Only `kind` must be given. All other keys have a default that depends on it.
fn defaults(schema: &mut schemars::Schema) {
    let tables = schema.get_mut("oneOf").and_then(|tables| tables.as_array_mut());
    for table in tables.into_iter().flatten() {
        let named = !table["properties"]["name"].is_null();
        let needed: &[&str] = if named { &["kind", "name"] } else { &["kind"] };
        table["required"] = serde_json::json!(needed);
        let kind = AlgorithmKind::deserialize(&table["properties"]["kind"]["const"]);
        let usual =
            kind.map(|kind| serde_json::json!(Table::of(&TransportSpec::of(kind), |_| true)));
        for (key, default) in usual.iter().flat_map(|table| table.as_object()).flatten() {
            if key != "kind" && !default.is_null() && !table["properties"][key].is_null() {
                table["properties"][key]["default"] = default.clone();
            }
        }
    }
}

impl TransportSpec {
    /// Checks the settings, and computes the values that follow from them.
    pub fn build(&self) -> Result<Transport, SpecError> {
        let refuse = |key: &str, message: String| Err(SpecError::new(key, message));
        if !(Bytes(576)..=Bytes(9_216)).contains(&self.mtu) {
            return refuse("mtu", format!("`mtu` = {} is outside 576B to 9216B", self.mtu));
        }
        if self.headers.0 < 40 || self.headers.0 > 120 {
            return refuse(
                "headers",
                format!("`headers` = {}: IPv4 and TCP headers have 40B to 120B", self.headers),
            );
        }
        if self.framing.0 > 1_000 {
            return refuse(
                "framing",
                format!("`framing` = {}: at most 1000B per packet are possible", self.framing),
            );
        }
        if self.initial_window == 0 || self.initial_window > 1_000 {
            return refuse(
                "initial-window",
                format!(
                    "`initial-window` = {} segments: 1 to 1000 are possible",
                    self.initial_window
                ),
            );
        }
        if self.min_rto == Time::ZERO || self.max_rto < self.min_rto {
            let message = format!(
                "`min-rto` = {} must be above 0 and at most `max-rto` = {}",
                self.min_rto, self.max_rto
            );
            return refuse("min-rto", message);
        }
        self.check_host()?;
        self.check_timer_and_gain()?;
        self.check_jumps()?;
        self.check_part()?;
        if self.kind.needs().marks && !self.ecn {
            let message =
                format!("`{}` reacts to ECN marks: it needs ecn = true", self.kind.name());
            return refuse("ecn", message);
        }
        let mss = (self.mtu.0 - self.headers.0) as u32;
        let max_window = (self.max_window.0 / u64::from(mss)).min(60_000) as u32;
        if max_window < 2 {
            return refuse(
                "max-window",
                format!("`max-window` = {} is less than two segments of {mss} B", self.max_window),
            );
        }
        Ok(Transport { spec: self.clone(), mss, max_window })
    }

    fn check_host(&self) -> Result<(), SpecError> {
        let refuse = |key: &str, message: &str| Err(SpecError::new(key, message));
        if let Some(processing) = self.processing.filter(|span| *span > Transport::MOST_PROCESSING)
        {
            let message = format!("`processing` = {processing}: at most 1ms is possible");
            return refuse("processing", &message);
        }
        if self.quick_acks && self.delayed_ack == Time::ZERO {
            let message =
                "`quick-acks` does nothing: without `delayed-ack` no acknowledgement is delayed";
            return refuse("quick-acks", message);
        }
        if self.shaper == Some(Rate(0)) {
            return refuse("shaper", "`shaper` = 0: leave it out if there is no shaper");
        }
        Ok(())
    }

    /// Checks that a `custom` algorithm has been supplied.
    fn check_part(&self) -> Result<(), SpecError> {
        match &self.name {
            Some(name) => name.part().map(drop),
            None if self.kind == AlgorithmKind::Custom => Err(SpecError::new(
                "name",
                "`name` is missing: the name of the algorithm in the calling program",
            )),
            None => Ok(()),
        }
    }

    /// The factors by which the window of reTCP changes.
    pub fn jumps(&self) -> Jumps {
        let scaled = |factor: f64| (factor * 1024.0) as u32;
        Jumps { up: scaled(self.circuit_increase), down: scaled(self.circuit_decrease) }
    }

    fn check_timer_and_gain(&self) -> Result<(), SpecError> {
        if self.timer_slack > Time::s(1) {
            let message = format!("`timer-slack` = {}: at most 1s is possible", self.timer_slack);
            return Err(SpecError::new("timer-slack", message));
        }
        if self.gain_shift == 0 || self.gain_shift > 10 {
            let message = format!("`gain-shift` = {}: 1 to 10 are possible", self.gain_shift);
            return Err(SpecError::new("gain-shift", message));
        }
        Ok(())
    }

    fn check_jumps(&self) -> Result<(), SpecError> {
        for (key, value, least, most) in [
            ("circuit-increase", self.circuit_increase, 1.0, 64.0),
            ("circuit-decrease", self.circuit_decrease, 0.0, 1.0),
        ] {
            if !(least..=most).contains(&value) {
                let message = format!("`{key}` = {value}: {least} to {most} are possible");
                return Err(SpecError::new(key, message));
            }
        }
        Ok(())
    }
}

/// Bytes of preamble and gap beside the minimum frame of 64 B.
const MIN_ON_WIRE: u64 = 84;

/// A transport ready for use.
#[derive(Clone, Debug)]
pub struct Transport {
    spec: TransportSpec,
    mss: u32,
    max_window: u32,
}

impl Transport {
    /// Payload of a full segment.
    #[inline]
    pub fn mss(&self) -> u32 {
        self.mss
    }
    /// Largest IP packet.
    pub fn mtu(&self) -> u32 {
        self.spec.mtu.0 as u32
    }
    /// Bytes on the wire of a packet besides its IP packet.
    pub fn framing(&self) -> u32 {
        self.spec.framing.0 as u32
    }
    /// Largest window in segments.
    #[inline]
    pub fn max_window(&self) -> u32 {
        self.max_window
    }
    /// Initial window in segments; the whole window if it is fixed.
    pub fn initial_window(&self) -> u32 {
        if self.spec.kind.needs().constant_window {
            return self.max_window;
        }
        self.spec.initial_window.min(self.max_window)
    }
    /// The same transport without a limit of the window, from the first packet on. Fluid models are compared with it.
    pub fn without_windows(&self) -> Transport {
        let spec = TransportSpec { kind: AlgorithmKind::Fixed, ..self.spec.clone() };
        Transport { spec, max_window: u32::MAX / 4, ..*self }
    }
    /// Whether packets are ECN-capable.
    pub fn ecn(&self) -> bool {
        self.spec.ecn
    }
    /// Whether each mark is echoed exactly (DCTCP) instead of until acknowledged (RFC 3168).
    #[inline]
    pub fn exact_echo(&self) -> bool {
        self.spec.kind.needs().marks
    }
    /// Whether each class of paths has a separate state (TDTCP).
    pub fn by_path(&self) -> bool {
        self.spec.kind.needs().path_classes
    }
    /// Whether losses are detected by time (RACK).
    pub fn by_time(&self) -> bool {
        self.spec.loss_recovery == LossRecovery::Rack && !self.by_path()
    }
    /// Whether probes for the loss of the last segments are sent.
    pub fn tail_loss_probe(&self) -> bool {
        self.spec.tail_loss_probe
    }
    /// The delay of the timers for late segments and probes.
    pub fn timer_slack(&self) -> Time {
        self.spec.timer_slack
    }
    /// The largest possible value of the reaction time of a host.
    pub const MOST_PROCESSING: Time = Time::ms(1);

    /// The longest reaction time of a host, if the option is given.
    pub fn processing(&self) -> Option<Time> {
        self.spec.processing
    }
    /// The time of one full packet at `rate`, as the longest time that a host takes to react.
    pub fn packet_time(&self, rate: Rate) -> Time {
        let full = rate.inverse_rate().time_for(self.data_len(self.mss).into());
        full.min(Transport::MOST_PROCESSING)
    }
    /// Whether the window falls over a round trip when marks are echoed.
    pub fn eases(&self) -> bool {
        let kinds = [AlgorithmKind::NewReno, AlgorithmKind::Cubic, AlgorithmKind::Dctcp];
        self.ecn()
            && self.spec.ecn_response == EcnResponse::Gradual
            && kinds.contains(&self.spec.kind)
    }
    /// Most bytes waiting in a host's network card.
    pub fn tsq_limit(&self) -> Bytes {
        self.spec.tsq_limit
    }
    /// The rate of the shaper of a host's packets, if there is one.
    pub fn shaper(&self) -> Option<InverseRate> {
        self.spec.shaper.map(|rate| rate.inverse_rate())
    }
    /// The longest delay of acknowledgements; zero for none.
    #[inline]
    pub fn delayed_ack(&self) -> Time {
        self.spec.delayed_ack
    }
    /// The number of acknowledgements that are not delayed, each time there is a reason for this.
    #[inline]
    pub fn quick_acks(&self) -> u32 {
        if self.spec.quick_acks { (self.max_window / 2).clamp(2, 16) } else { 0 }
    }
    /// The number of segments for each delayed acknowledgement.
    #[inline]
    pub fn ack_every(&self) -> u32 {
        if self.spec.kind.needs().constant_window { 16 } else { 2 }
    }
    /// Whether an idle connection starts again from the initial window.
    pub fn idle_restart(&self) -> bool {
        self.spec.idle_restart
    }
    /// Limits of the retransmission time-out.
    #[inline]
    pub fn rto_limits(&self) -> Limits {
        Limits { min: self.spec.min_rto, max: self.spec.max_rto }
    }
    /// A new state of congestion control.
    pub fn congestion(&self) -> Algorithm {
        if let (AlgorithmKind::Custom, Some(Ok(make))) =
            (self.spec.kind, self.spec.name.as_ref().map(Named::part))
        {
            return Algorithm::Custom(Custom::new(make(self.initial_window())));
        }
        let jumps = self.spec.jumps();
        let TransportSpec { gain_shift, standard, update_interval, ecn_response, .. } = self.spec;
        let tuning = Tuning { gain_shift, jumps, standard, update_interval, ecn_response };
        Algorithm::new(self.spec.kind, self.initial_window(), tuning)
    }
    /// Segments of a message of `bytes`.
    #[inline]
    pub fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.mss)) as u32
    }
    /// Bytes on the wire of all segments of a message of `bytes` (at least 1), and of the longest segment. At each
    /// switch a short last segment waits for the full one before it.
    pub fn wire_bytes(&self, bytes: u64) -> (u64, u64) {
        let full = u64::from(self.segments(bytes)).saturating_sub(1);
        let last = self.data_len((bytes - full * u64::from(self.mss)) as u32);
        let longest = if full > 0 { self.data_len(self.mss) } else { last };
        (full * u64::from(self.data_len(self.mss)) + u64::from(last), longest.into())
    }
    /// Bytes on the wire of a segment with `payload`.
    #[inline]
    pub fn data_len(&self, payload: u32) -> u16 {
        self.on_wire(u64::from(payload) + self.spec.headers.0)
    }
    /// Bytes on the wire of a pure acknowledgement.
    #[inline]
    pub fn ack_len(&self) -> u16 {
        self.on_wire(self.spec.headers.0)
    }
    /// Bytes on the wire of an IP packet of `bytes`.
    pub fn datagram_len(&self, bytes: u32) -> u16 {
        self.on_wire(u64::from(bytes).max(self.spec.headers.0))
    }
    #[inline]
    fn on_wire(&self, ip: u64) -> u16 {
        let least = if self.spec.framing.0 > 0 { MIN_ON_WIRE } else { 0 };
        (ip + self.spec.framing.0).max(least).min(u16::MAX.into()) as u16
    }
}
