//! `sweep.html`: the points of a parameter study on one page.

mod figures;
mod page;
mod page_table;

pub use figures::plots;
pub use page::html;

#[cfg(test)]
mod tests;
