//! The published experiments: those that need runs at a fraction of their length, those that are computed as a
//! whole, and their pages.

mod brief;
mod fat_tree;
#[path = "../../../report/tests/browser/harness.rs"]
mod harness;
mod page;
