//! Turns planned weeks into the actions of one switch.

mod action;
mod active;
mod executor;
mod rack_days;
mod switch_program;

pub use action::{Condition, LeadTimes, PanelCircuit, ScheduleAction};
pub use active::{ActiveCircuits, PanelRoutes, RouteKind};
pub use executor::ScheduleExecutor;
pub use rack_days::{RackDay, circuits_of_weeks, rack_days, rack_days_of_switch};
pub use switch_program::{CircuitList, SwitchChange, SwitchProgram};
