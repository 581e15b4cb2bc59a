//! The one list of disciplines, by the names that scenarios use.

use super::avq::AvqSpec;
use super::codel::CodelSpec;
use super::custom::CustomSpec;
use super::discipline::{Arrival, Departure, Discipline, Failure, Verdict};
use super::drop_tail::DropTailSpec;
use super::guest::ObjectSpec;
use super::pie::PieSpec;
use super::qcn::QcnSpec;
use super::red::RedSpec;
use super::settings::{QueueParams, Settings};
use super::threshold::EcnSpec;
use crate::error::SpecError;
use crate::time::Time;
use crate::units::{Bytes, InverseRate};
use serde::{Deserialize, Serialize};

/// Makes the policies of scenarios, and the state of a queue under any of them, from a list of names and settings.
macro_rules! policies {
    ($($(#[$comment:meta])* $name:ident($settings:ty),)*) => {
        /// Which packets are marked or dropped before the queue is full, and whose senders are notified. If a port has
        /// eight queues, the policy of each uses its own backlog.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Policy {
            $($(#[$comment])* $name($settings),)*
        }

        /// The state of one queue under any policy, without a dynamic call.
        #[derive(Clone, Debug)]
        pub enum Marker {
            $($(#[$comment])* $name(<$settings as Settings>::Discipline),)*
        }

        impl Policy {
            /// The state of one queue.
            ///
            /// # Panics
            /// The policy is not valid: the program of an `object`, or a `custom` policy, is missing.
            pub fn marker(&self, queue: QueueParams) -> Marker {
                match self {
                    $(Policy::$name(settings) => Marker::$name(settings.discipline(queue)),)*
                }
            }
            /// Checks the settings for a queue that holds `limit`.
            ///
            /// # Errors
            /// A value is outside its range, or two values contradict each other.
            pub fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
                match self { $(Policy::$name(settings) => settings.validate(limit),)* }
            }
            /// A short description of its effect on packets; `size` writes a number of bytes.
            pub fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String {
                match self { $(Policy::$name(settings) => settings.describe(size),)* }
            }
            /// Whether it may mark packets.
            pub fn marks(&self) -> bool {
                match self { $(Policy::$name(settings) => settings.marks(),)* }
            }
            /// Whether it notifies senders.
            pub fn notifies(&self) -> bool {
                match self { $(Policy::$name(settings) => settings.notifies(),)* }
            }
            /// Whether it never drops a packet that is in the queue.
            pub fn is_lossless(&self) -> bool {
                match self { $(Policy::$name(settings) => settings.is_lossless(),)* }
            }
            /// Whether the packet engine's own FIFO port supports it.
            pub fn is_plain(&self) -> bool {
                match self { $(Policy::$name(settings) => settings.is_plain(),)* }
            }
        }

        impl Marker {
            /// Whether it comes from outside this program, and therefore can fail.
            pub fn is_foreign(&self) -> bool {
                match self { $(Marker::$name(_) => <$settings as Settings>::FOREIGN,)* }
            }
        }

        impl Discipline for Marker {
            #[inline]
            fn arrive(&mut self, arrival: &Arrival) -> Verdict {
                match self { $(Marker::$name(it) => it.arrive(arrival),)* }
            }
            #[inline]
            fn arrive_with(&mut self, arrival: &Arrival, frame: &[u8]) -> Verdict {
                match self { $(Marker::$name(it) => it.arrive_with(arrival, frame),)* }
            }
            #[inline]
            fn leave(&mut self, departure: &Departure) -> Verdict {
                match self { $(Marker::$name(it) => it.leave(departure),)* }
            }
            #[inline]
            fn decides_on_departure(&self) -> bool {
                match self { $(Marker::$name(it) => it.decides_on_departure(),)* }
            }
            #[inline]
            fn passes(&self, wait: Time) -> bool {
                match self { $(Marker::$name(it) => it.passes(wait),)* }
            }
            #[inline]
            fn passes_until(&self) -> Time {
                match self { $(Marker::$name(it) => it.passes_until(),)* }
            }
            #[inline]
            fn forgets(&self, wait: Time) -> bool {
                match self { $(Marker::$name(it) => it.forgets(wait),)* }
            }
            #[inline]
            fn expect(&self) {
                match self { $(Marker::$name(it) => it.expect(),)* }
            }
            fn marks_above(&self) -> Option<Time> {
                match self { $(Marker::$name(it) => it.marks_above(),)* }
            }
            fn set_pace(&mut self, pace: InverseRate) {
                match self { $(Marker::$name(it) => it.set_pace(pace),)* }
            }
            fn failure(&self) -> Option<Failure> {
                match self { $(Marker::$name(it) => it.failure(),)* }
            }
        }
    };
}

policies! {
    /// Drops packets that do not fit.
    DropTail(DropTailSpec),
    /// Marks ECN-capable packets that find more than a threshold queued.
    ///
    /// Source: RFC 3168 for the mark; RFC 8257 (DCTCP), section 3.1, for the threshold.
    Ecn(EcnSpec),
    /// Random early detection on the average backlog, optionally gentle and with ECN.
    ///
    /// Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
    /// IEEE/ACM Transactions on Networking 1(4), 1993, whose recommendations are the defaults.
    Red(RedSpec),
    /// Drops or marks packets, more and more often, if they wait longer than a target during an interval.
    ///
    /// Source: RFC 8289 (CoDel), whose recommendations are the defaults; they are for the Internet.
    Codel(CodelSpec),
    /// Drops or marks packets with a probability. A controller sets it so that the delay approaches a target.
    ///
    /// Source: RFC 8033 (PIE), whose recommendations are the defaults; they are for the Internet.
    Pie(PieSpec),
    /// Drops or marks packets that overflow a virtual queue. Its capacity adapts to a target of the utilisation.
    ///
    /// Source: Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue
    /// Management", IEEE/ACM Transactions on Networking 12(2), 2004.
    Avq(AvqSpec),
    /// Quantized congestion notification: samples packets and sends their senders the severity of the congestion.
    ///
    /// Source: IEEE 802.1Q-2018, clauses 30 to 32 (802.1Qau).
    Qcn(QcnSpec),
    /// A program of the user, in C or another language, compiled to an eBPF object file.
    ///
    /// Source: RFC 9669 for its instructions.
    Object(ObjectSpec),
    /// A policy that the calling program supplies, in Rust.
    Custom(CustomSpec),
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::DropTail(DropTailSpec::default())
    }
}
