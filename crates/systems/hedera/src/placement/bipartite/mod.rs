//! Bipartite graphs: colours for their edges, and halves of them.

mod colour;
mod split;

pub(super) use colour::by_colours;
pub use colour::{bijective, colour};
