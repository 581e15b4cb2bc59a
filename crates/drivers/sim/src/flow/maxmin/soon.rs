//! Requests of the state that is needed soon. With many links it is not in a cache, and each access leads to the next: from
//! a link to its flows, to the links that limit them, and to the other links of their paths. Each step reads what the step
//! before it has requested.

use super::{FlowKey, MaxMin};
use crate::flow::flow_paths::HEAD;
use crate::flow::shares::Shares;
use slotline_net::prefetch::prefetch;

/// The number of flows of a link that are prefetched.
const FIRST: usize = 3;
/// The number of flows of a link of which one may end next.
const ENDING: usize = 2;

impl<S: Shares> MaxMin<S> {
    /// The links of which a flow is likely to end soon.
    pub(in crate::flow) fn soon(&self) -> impl Iterator<Item = u32> {
        self.ends.soon()
    }

    /// Requests such a link and the list of its flows.
    pub(in crate::flow) fn fetch_ending(&self, link: u32) {
        self.members.prefetch(link);
        prefetch(&self.levels.links, link);
    }

    /// The flows of such a link of which one is likely to end soon.
    pub(in crate::flow) fn ending(&self, link: u32) -> impl Iterator<Item = FlowKey> {
        self.members.own(link).iter().take(ENDING).map(|&flow| FlowKey(flow))
    }

    /// Requests a flow and its path.
    pub(in crate::flow) fn fetch_flow(&self, FlowKey(flow): FlowKey) {
        prefetch(&self.flows, flow);
        self.paths.prefetch(flow);
    }

    /// The first links of a flow's path, and others that no flow uses.
    pub(in crate::flow) fn first_links(&self, FlowKey(flow): FlowKey) -> &[u32; HEAD] {
        self.paths.head(flow)
    }

    /// Requests the links of a path, which a flow enters or leaves soon.
    pub(in crate::flow) fn fetch_links(&self, path: &[u32]) {
        for &link in path {
            prefetch(&self.levels.links, link);
            prefetch(&self.levels.sums, link);
            self.members.prefetch(link);
        }
    }

    /// Requests the first flows of these links.
    pub(in crate::flow) fn fetch_flows(&self, path: &[u32]) {
        self.first_flows(path).for_each(|flow| self.fetch_flow(FlowKey(flow)));
    }

    /// Requests the links that limit these flows, and the sums of all their links.
    pub(in crate::flow) fn fetch_limits(&self, path: &[u32]) {
        self.first_flows(path).for_each(|flow| {
            let limit = self.flows[flow as usize].at;
            prefetch(&self.levels.links, limit);
            self.paths.head(flow).iter().for_each(|&link| prefetch(&self.levels.sums, link));
        });
    }

    #[inline(always)]
    fn first_flows(&self, path: &[u32]) -> impl Iterator<Item = u32> {
        path.iter().flat_map(|&link| self.members.of(link).iter().take(FIRST).copied())
    }
}
