//! The counters of Hedera and the fat-tree's flow scheduler.

pub use slotline_net::scheme::counters::{
    CONTROL_BYTES_RECEIVED, CONTROL_BYTES_SENT, DECISIONS, DIRECTIVES, IGNORED_MESSAGES, REPORTS,
    REWIRINGS,
};

slotline_net::counters! {
    LARGE_FLOWS = "large_flows", Count, Sum, "Large flows that edge switches reported, summed over polls.", "large flows";
    INSTALLED_PATHS = "installed_paths", Count, Sum, "Paths that edge switches installed.";
    CHANGED_PATHS = "changed_paths", Count, Sum, "Installed paths that differ from the flow's path before.", "paths changed afterwards" of INSTALLED_PATHS;
}
