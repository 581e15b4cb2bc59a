//! The published experiments: runs at a fraction of their length, complete computations, and the pages.

mod brief;
mod fat_tree;
#[path = "../../../report/tests/browser/harness.rs"]
mod harness;
mod page;
mod tables;
