//! The natural demands of flows: a fast estimator, and the pseudo-code of the thesis.

mod estimator;
pub mod matrix;

pub use estimator::Estimator;
