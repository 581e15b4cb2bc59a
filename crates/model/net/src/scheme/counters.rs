//! Counters that several central schemes share, and those of a scheme in the flow-level engine.

crate::counters! {
    DECISIONS = "decisions", Count, Sum, "Decisions of the central scheduler.", "decisions";
    DIRECTIVES = "directives", Count, Sum, "Messages with decisions; with TDMA those that are not pause frames.";
    CONTROL_BYTES_SENT = "control_bytes_sent", Bytes, Sum, "Bytes on the wire of messages with decisions; with Hedera also of the reports of edge switches.", "sent by the scheduler";
    CONTROL_BYTES_RECEIVED = "control_bytes_received", Bytes, Sum, "Bytes on the wire of messages that reached a controller or scheduler.", "received by the scheduler";
    REPORTS = "reports", Count, Sum, "Reports that reached the central scheduler.";
    IGNORED_MESSAGES = "ignored_messages", Count, Sum, "Messages to a controller or scheduler that were invalid or late.", "messages ignored";
    SILENT_HOSTS = "silent_hosts", Count, Sum, "Hosts removed from the schedule, because nothing was heard from them for too long.", "hosts that stopped reporting";
    REWIRINGS = "rewirings", Count, Sum, "Changes of the network that the central scheduler learned of.";
    TAKE_OVERS = "take_overs", Count, Sum, "Times that a standby controller or arbiter took over.", "take-overs by another arbiter or controller";
    FLOW_DECISIONS = "flow-decisions", Count, Sum, "Decisions about paths in the flow-level engine, and with real switches.";
    FLOW_POLLS = "flow-polls", Count, Sum, "Polls of the switches in the flow-level engine, and of real switches.";
    LARGE_FLOWS_SEEN = "large-flows-seen", Count, Sum, "Large flows reported in the flow-level engine and by real switches, summed over polls.";
}
