//! The state that is needed soon. With many links it is not in a cache, and each access leads to the next: from a link
//! to its flows, to the links that limit them, and to the other links of their paths. So all that one step needs
//! is requested together, before the next step reads it.

use super::{FlowKey, MaxMin};
use crate::flow::shares::Shares;
use slotline_net::prefetch::prefetch;

/// The number of flows of a link that are prefetched.
const FIRST: usize = 3;

impl<S: Shares> MaxMin<S> {
    /// The flows of which one is likely to end soon.
    pub(in crate::flow) fn soon(&self) -> impl Iterator<Item = FlowKey> {
        self.ends
            .soon()
            .flat_map(|link| self.members.own(link).iter().take(2).copied().map(FlowKey))
    }

    /// Requests the lists of the flows that are likely to end soon.
    pub(in crate::flow) fn fetch_soon(&self) {
        self.ends.soon().for_each(|link| self.members.prefetch(link));
    }

    /// Requests a flow and its path.
    pub(in crate::flow) fn fetch_flow(&self, FlowKey(flow): FlowKey) {
        prefetch(&self.flows, flow);
        self.paths.prefetch(flow);
    }

    /// Requests all that a change of a flow on these links is likely to need.
    pub(in crate::flow) fn fetch_links(&self, links: &[u32]) {
        for &link in links {
            prefetch(&self.levels.links, link);
            prefetch(&self.levels.sums, link);
            self.members.prefetch(link);
            self.ends.prefetch(link);
        }
        self.first_flows(links).for_each(|flow| self.fetch_flow(FlowKey(flow)));
        for flow in self.first_flows(links) {
            let limit = self.flows[flow as usize].at;
            prefetch(&self.levels.links, limit);
            self.ends.prefetch(limit);
            self.paths.head(flow).iter().for_each(|&link| prefetch(&self.levels.sums, link));
        }
    }

    fn first_flows(&self, links: &[u32]) -> impl Iterator<Item = u32> {
        links.iter().flat_map(|&link| self.members.of(link).iter().take(FIRST).copied())
    }
}
