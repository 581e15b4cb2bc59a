//! Scenario files against their schema, and files of other programs as workloads.

mod imported;
mod schema;
