//! XCo's nodes: the controller runs a scheduler on a host of its own, and a coordinator in every other host
//! holds packets back.

pub mod controller;
pub mod coordinator;
