//! Ports: the interface between the pipeline and the endpoints.

use crate::permit::Permits;
use slotline_fastpass::Demand;

/// The answer of a port to a request for demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intake {
    /// The demand of the round is not complete. The pipeline retains it and asks the port again.
    Wait,
    /// The demand of the round is complete.
    Ready,
    /// The port has no demand for this round or a later one. The pipeline discards the demand of this call.
    End,
}

/// The reason why the pipeline refuses a demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// No endpoint has this number.
    #[error("endpoint {0} does not exist")]
    Unknown(u16),
    /// The source is also the destination.
    #[error("endpoint {0} requests slots to itself; traffic within an endpoint needs none")]
    Itself(u16),
    /// The source belongs to another port.
    #[error("endpoint {src} belongs to port {port}")]
    Elsewhere {
        /// The source.
        src: u16,
        /// The port of the source.
        port: u16,
    },
}

/// The communication with some of the endpoints: supplies their demand and receives their permits.
///
/// If a port never returns [`Intake::Wait`], the order of calls is fixed: the pipeline requests round `r`
/// when it has delivered all batches of round `r - depth` and no later ones. Therefore the result does not
/// depend on the number of threads even if demand depends on earlier permits.
pub trait Port: Send {
    /// Appends the demand of the endpoints for this round to `out`.
    fn demand(&mut self, round: u64, out: &mut Vec<Demand>) -> Intake;
    /// Receives the permits of a batch. Every batch is delivered, in order.
    fn granted(&mut self, batch: u64, permits: Permits<'_>);
    /// Receives a demand that the pipeline refuses, with the reason.
    fn refused(&mut self, demand: Demand, why: Refusal);
}
