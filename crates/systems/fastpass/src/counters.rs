//! The counters of Fastpass.

pub use slotline_net::scheme::counters::TAKE_OVERS;

slotline_net::counters! {
    SLOTS_GRANTED = "slots_granted", Count, Sum, "Timeslots that were given out.";
    SLOTS_USED = "slots_used", Count, Sum, "Timeslots in which a packet was sent.";
    SLOTS_UNUSED = "slots_unused", Count, Sum, "Timeslots in which nothing was waiting.", "timeslots unused" of SLOTS_GRANTED;
    SLOTS_LATE = "slots_late", Count, Sum, "Timeslots that an endpoint learned of, or could begin, too late.", "timeslots notified too late";
    SLOTS_LOST = "slots_lost", Count, Sum, "Timeslots in messages that never arrived; they are requested again.", "timeslots lost";
    SLOTS_UNPLACED = "slots_unplaced", Count, Sum, "Timeslots without a path; they are allocated again.", "timeslots without a path";
    SLOTS_DENIED = "slots_denied", Count, Sum, "Timeslots whose demand was gone when they were given out.";
    SLOTS_REFUSED = "slots_refused", Count, Sum, "Timeslots of demand beyond the largest count at an endpoint.";
    DEMANDS_REFUSED = "demands_refused", Count, Sum, "Demands that are not valid at the arbiter.";
    BATCHES = "batches", Count, Sum, "Times that a batch of timeslots was allocated.";
    BATCHES_LEFT_OUT = "batches_left_out", Count, Sum, "Batches that the arbiter left out, because its messages did not leave in time or the batch had begun before.";
    ENDPOINT_MESSAGES = "endpoint_messages", Count, Sum, "Messages of endpoints.";
    ENDPOINT_MESSAGE_BYTES = "endpoint_message_bytes", Bytes, Sum, "Bytes on the wire of messages of endpoints.";
    ARBITER_MESSAGES = "arbiter_messages", Count, Sum, "Messages of arbiters.";
    ARBITER_MESSAGE_BYTES = "arbiter_message_bytes", Bytes, Sum, "Bytes on the wire of messages of arbiters.";
    ARBITER_RECEIVED = "arbiter_received", Count, Sum, "Messages that reached an arbiter.";
    ARBITER_RECEIVED_BYTES = "arbiter_received_bytes", Bytes, Sum, "Bytes on the wire of messages that reached an arbiter.";
    ARBITER_CHANGES = "arbiter_changes", Count, Sum, "Times that an endpoint changed its arbiter.";
    STEP_BACKS = "step_backs", Count, Sum, "Times that an active arbiter became passive.";
    TAKE_OVER_AT_NS = "take_over_at_ns", Nanoseconds, Maximum, "Time of the last take-over.";
    TAKE_OVER_SILENCE_NS = "take_over_silence_ns", Nanoseconds, Maximum, "Longest silence of the other arbiter before a take-over.";
    TAKE_OVER_TO_GRANT_NS = "take_over_to_grant_ns", Nanoseconds, Maximum, "Longest time from a take-over to the first timeslot given out.";
    LOSS_REPORTS = "loss_reports", Count, Sum, "Reports of lost packets.", "reports of lost packets";
    LINK_REPORTS = "link_reports", Count, Sum, "Links that a switch of a real network reported as broken.";
    FAULTS_FOUND = "faults_found", Count, Sum, "Links and switches that the arbiter stopped using.", "faults detected";
    FAULTS_CLEARED = "faults_cleared", Count, Sum, "Links and switches that the arbiter uses again.";
    LAST_FAULT_AT_NS = "last_fault_at_ns", Nanoseconds, Maximum, "Time at which the last faulty link or switch was found.";
}
