//! The affected set of a decision: the nodes whose schedule may change, by ticket (Algorithm 1).

use slotline_net::id::HostId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nodes in the order of their tickets. Most are known from the beginning and are sorted once. Nodes that
/// come later, after a pre-emption, are merged in.
pub(super) struct Affected {
    /// The nodes in descending order: the last one is next.
    sorted: Vec<Reverse<(u64, HostId)>>,
    later: BinaryHeap<Reverse<(u64, HostId)>>,
    begun: bool,
    /// By host, the round in which it was considered.
    considered: Vec<u64>,
    /// The number of considered nodes.
    count: usize,
    round: u64,
}

impl Affected {
    pub fn new(hosts: usize) -> Affected {
        Affected {
            sorted: Vec::new(),
            later: BinaryHeap::new(),
            begun: false,
            considered: vec![0; hosts],
            count: 0,
            round: 0,
        }
    }
    /// Begins a decision. The set is empty then.
    pub fn clear(&mut self) {
        self.round += 1;
        self.count = 0;
        self.begun = false;
    }
    /// Marks a node as considered. Returns whether it was not considered in this decision yet.
    #[inline]
    pub fn begin(&mut self, host: HostId) -> bool {
        let new = std::mem::replace(&mut self.considered[host.at()], self.round) != self.round;
        self.count += usize::from(new);
        new
    }
    /// How many nodes have been considered.
    pub fn considered(&self) -> usize {
        self.count
    }
    /// Allows a node to be considered again.
    pub fn allow(&mut self, host: HostId) {
        self.considered[host.at()] = 0;
        self.count -= 1;
    }
    pub fn add(&mut self, ticket: u64, host: HostId) {
        if self.begun {
            self.later.push(Reverse((ticket, host)));
        } else {
            self.sorted.push(Reverse((ticket, host)));
        }
    }
    /// Takes the node with the lowest ticket out.
    pub fn next(&mut self) -> Option<HostId> {
        if !std::mem::replace(&mut self.begun, true) {
            self.sorted.sort_unstable();
        }
        let later = self.later.peek();
        let first = if later > self.sorted.last() { self.later.pop() } else { self.sorted.pop() };
        first.map(|Reverse((_, host))| host)
    }
}
