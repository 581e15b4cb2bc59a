//! The counters of Hedera and the fat-tree's flow scheduler.

pub use slotline_net::scheme::counters::{
    CONTROL_BYTES_RECEIVED, CONTROL_BYTES_SENT, DECISIONS, DIRECTIVES, IGNORED_MESSAGES, REPORTS,
    REWIRINGS,
};

slotline_net::counters! {
    LARGE_FLOWS = "large_flows", Count, Sum, "Large flows that edge switches reported, summed over polls.", "large flows";
    INSTALLED_PATHS = "installed_paths", Count, Sum, "Paths that edge switches installed.";
    CHANGED_PATHS = "changed_paths", Count, Sum, "Installed paths that differ from the flow's path before.", "paths changed afterwards" of INSTALLED_PATHS;
    BROKEN_PORTS = "broken_ports", Count, Sum, "Ports of real switches towards others that do not work at the end.";
    BROKEN_LINKS = "broken_links", Count, Sum, "Directed links of a real network that the scheduler avoids at the end.";
    DETOURS = "detours", Count, Sum, "Hosts to which real switches send all packets on one path at the end, because of links that do not work.";
}
