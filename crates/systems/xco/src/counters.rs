//! What XCo counts.

pub use slotline_net::scheme::counters::{
    CONTROL_BYTES_RECEIVED, CONTROL_BYTES_SENT, DECISIONS, DIRECTIVES, IGNORED_MESSAGES, REPORTS,
    REWIRINGS, SILENT_HOSTS, TAKE_OVERS,
};

slotline_net::counters! {
    SILENCES = "silences", Count, Sum, "Times that a controller was silent for too long, so that a host sent uncontrolled.", "times a host missed its controller";
    FLOWS_SET_UP = "flows_set_up", Count, Sum, "Flows of virtual machines for which a host set up a queue.", "flows set up";
}
