//! XCo's nodes: the controller, and the coordinator in every host.

pub mod controller;
pub mod coordinator;
