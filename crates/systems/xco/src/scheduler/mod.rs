//! XCo's schedulers: timeslices, rates, and coordination on demand.

mod affected;
mod demand;
mod max_min;
mod on_demand;
mod rate_limit;
mod timeslice;

#[cfg(test)]
mod fairness_tests;

pub use on_demand::OnDemand;
pub use rate_limit::RateLimit;
pub use timeslice::Timeslice;
