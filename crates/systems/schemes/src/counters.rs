//! All counters of central schemes and of networks. Each crate declares its own.

pub use slotline_fastpass::counters as fastpass;
pub use slotline_hedera::counters as hedera;
pub use slotline_hybrid::counters as hybrid;
pub use slotline_net::node::counters as net;
pub use slotline_net::scheme::counters as shared;
pub use slotline_tdma::counters as tdma;
pub use slotline_xco::counters as xco;

use slotline_net::node::{Counter, Times};

/// The tables of counters. Each has the name of what counts them.
pub fn tables() -> [(&'static str, Vec<Counter>); 7] {
    let times = |all: &[Times]| all.iter().flat_map(|times| times.counters()).collect();
    [
        ("several schemes", shared::ALL.to_vec()),
        ("XCo", xco::ALL.to_vec()),
        ("TDMA", tdma::ALL.to_vec()),
        ("Fastpass", fastpass::ALL.to_vec()),
        ("Hedera", hedera::ALL.to_vec()),
        ("hybrid", [hybrid::ALL.to_vec(), times(hybrid::ALL_TIMES)].concat()),
        ("nodes", net::ALL.to_vec()),
    ]
}

/// All counters that a result can have.
pub fn all() -> Vec<Counter> {
    tables().into_iter().flat_map(|(_, counters)| counters).collect()
}
