//! What TDMA counts.

pub use slotline_net::scheme::counters::{
    CONTROL_BYTES_RECEIVED, CONTROL_BYTES_SENT, DIRECTIVES, IGNORED_MESSAGES, REPORTS, SILENT_HOSTS,
};

slotline_net::counters! {
    ROUNDS = "rounds", Count, Sum, "Rounds planned.";
    SLOTS = "slots", Count, Sum, "Slots of these rounds.";
    SLOTS_OPENED = "slots_opened", Count, Sum, "Slots that hosts opened, one for each destination.";
    SLOT_TIME_NS = "slot_time_ns", Nanoseconds, Sum, "Time that slots were open, added up over hosts and destinations.";
    SLOT_USED_NS = "slot_used_ns", Nanoseconds, Sum, "Part of that time which packets took at the rate of their slot.", "of slots used" of SLOT_TIME_NS;
    PAUSE_FRAMES = "pause_frames", Count, Sum, "Pause frames that open and end slots.";
    PAUSE_FRAME_BYTES = "pause_frame_bytes", Bytes, Sum, "Bytes on the wire of these pause frames.";
    LATE_FRAMES = "late_frames", Count, Sum, "Pause frames that reached a host too late to open a slot.", "pause frames that came too late";
    OVERRUNS = "overruns", Count, Sum, "Packets that left more than a guard time after the end of their slot.", "packets sent after their slot";
    LONGEST_OVERRUN_NS = "longest_overrun_ns", Nanoseconds, Maximum, "Longest time from the end of a slot to the end of a packet that overran it.";
    PACKETS_WITHOUT_SLOT = "packets_without_slot", Count, Sum, "Packets sent without a slot, because the fabric manager was silent.", "packets sent without a slot";
    RECEIVE_BUFFER_PEAK_BYTES = "receive_buffer_peak_bytes", Bytes, Maximum, "Highest fill of a receive buffer.";
    RECEIVE_BUFFER_OVERFLOWS = "receive_buffer_overflows", Count, Sum, "Packets that found no room in a receive buffer.", "packets dropped at full receive buffers";
    ABORTED_ROUNDS = "aborted_rounds", Count, Sum, "Rounds that ended early, because routes or rates changed.", "rounds aborted";
}
