//! The one list of congestion control algorithms, by the names that scenarios use.

use super::{
    Ack, Configure, Congestion, Cubic, Custom, Dctcp, Fixed, Loss, Needs, Reno, Retcp, Tdtcp,
    Tuning,
};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Makes the kinds, the states and their methods from a list of kinds, names and state types.
macro_rules! algorithms {
    ($($(#[$comment:meta])* $kind:ident($name:literal, $state:ty),)*) => {
        /// The algorithms by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum AlgorithmKind {
            $($(#[$comment])* #[serde(rename = $name)] $kind,)*
        }

        impl AlgorithmKind {
            /// All kinds, in the order of the list.
            pub const ALL: &[AlgorithmKind] = &[$(AlgorithmKind::$kind,)*];

            /// The name in scenario files.
            pub const fn name(self) -> &'static str {
                match self { $(AlgorithmKind::$kind => $name,)* }
            }
            /// The parts of the transport that the algorithm needs.
            pub const fn needs(self) -> Needs {
                match self { $(AlgorithmKind::$kind => <$state as Configure>::NEEDS,)* }
            }
        }

        /// The state of any of the algorithms, without a dynamic call.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $($(#[$comment])* $kind($state),)*
        }

        impl Algorithm {
            /// A fresh state. It starts from `initial_window` segments.
            pub fn new(kind: AlgorithmKind, initial_window: u32, tuning: Tuning) -> Algorithm {
                match kind {
                    $(AlgorithmKind::$kind => {
                        Algorithm::$kind(<$state>::configure(initial_window, &tuning))
                    })*
                }
            }
            /// Which algorithm it is.
            pub const fn kind(&self) -> AlgorithmKind {
                match self { $(Algorithm::$kind(_) => AlgorithmKind::$kind,)* }
            }
        }

        impl Congestion for Algorithm {
            #[inline]
            fn on_ack(&mut self, ack: &Ack, now: Time) {
                match self { $(Algorithm::$kind(it) => it.on_ack(ack, now),)* }
            }
            fn on_loss(&mut self, loss: Loss, now: Time) {
                match self { $(Algorithm::$kind(it) => it.on_loss(loss, now),)* }
            }
            fn restart(&mut self, initial_window: u32) {
                match self { $(Algorithm::$kind(it) => it.restart(initial_window),)* }
            }
            #[inline]
            fn window(&self) -> u32 {
                match self { $(Algorithm::$kind(it) => it.window(),)* }
            }
            fn select(&mut self, path: u8) {
                match self { $(Algorithm::$kind(it) => it.select(path),)* }
            }
            fn on_circuit(&mut self, announced: bool, recovering: bool) {
                match self { $(Algorithm::$kind(it) => it.on_circuit(announced, recovering),)* }
            }
        }
    };
}

algorithms! {
    /// Loss-based, additive increase and halving, with selective acknowledgements.
    ///
    /// Source: RFC 5681, RFC 6582 and RFC 6675.
    NewReno("newreno", Reno),
    /// Loss-based, cubic growth, with selective acknowledgements; Linux' default.
    ///
    /// Source: RFC 9438 and RFC 6675.
    Cubic("cubic", Cubic),
    /// Reacts to the fraction of ECN marks; needs a queue that marks.
    ///
    /// Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, and RFC 8257.
    Dctcp("dctcp", Dctcp),
    /// NewReno whose window doubles when a circuit begins and halves when it ends; needs a fabric that
    /// announces circuits.
    ///
    /// Source: Mukerjee et al., "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks"
    /// (Etalon), 2018, section 4.4.
    Retcp("retcp", Retcp),
    /// NewReno with one window for each class of paths (packet switch, circuits). The window of the current
    /// path applies. A packet that overtakes one on another path is no sign of loss. It needs a fabric that
    /// announces which path is active.
    ///
    /// Source: Chen et al., "Time-Division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022.
    Tdtcp("tdtcp", Tdtcp),
    /// No congestion control: a constant window, for networks in which a schedule prevents all losses.
    ///
    /// At most `max-window` bytes are outstanding at any time, and lost segments are sent again. It is like raw frames
    /// or RDMA: acknowledgements, of every sixteenth segment, do not slow the sender down. Under TDMA and Fastpass it
    /// fills the slots; without a schedule it fills queues.
    Fixed("fixed", Fixed),
    /// An algorithm that the calling program supplies, in Rust.
    Custom("custom", Custom),
}
