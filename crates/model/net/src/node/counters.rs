//! The counters of bumps, and of senders that congestion notices slow down. They need no central scheme.

crate::counters! {
    BUMP_MARKS = "bump_marks", Count, Sum, "Packets that bumps marked with congestion experienced.", "packets marked by bumps";
    BUMP_DROPS = "bump_drops", Count, Sum, "Packets that bumps dropped.", "packets dropped by bumps";
    BUMP_NOTICES = "bump_notices", Count, Sum, "Congestion notices that bumps sent.", "notices sent by bumps";
    STOPPED_DISCIPLINES = "stopped_disciplines", Count, Sum, "Queues whose discipline, a program, failed.", "queue programs stopped";
    UNJUDGED_PACKETS = "unjudged_packets", Count, Sum, "Packets that passed a queue whose discipline had failed.", "packets that passed stopped programs";
    BUMP_ESTIMATES = "bump_estimates", Count, Sum, "Estimates of bumps that were compared with the real queue.";
    BUMP_WITHIN_1_MTU = "bump_within_1_mtu", Count, Sum, "Estimates that differ from the real queue by at most one packet of the largest size.";
    BUMP_WITHIN_2_MTU = "bump_within_2_mtu", Count, Sum, "Estimates that differ from the real queue by at most two packets of the largest size.";
    BUMP_WITHIN_3_MTU = "bump_within_3_mtu", Count, Sum, "Estimates that differ from the real queue by at most three packets of the largest size.";
    BUMP_ERROR_BYTES = "bump_error_bytes", Bytes, Sum, "Differences between estimates and the real queue, added up.";
    BUMP_ERROR_MOST = "bump_error_most", Bytes, Maximum, "Largest difference between an estimate and the real queue.", "maximum error of an estimated queue";
    BUMP_UPDATES = "bump_updates", Count, Sum, "Updates that bumps sent to each other.";
    BUMP_UPDATE_BYTES = "bump_update_bytes", Bytes, Sum, "Bytes of updates between bumps.";
    BUMP_UPDATES_MERGED = "bump_updates_merged", Count, Sum, "Updates that arrived at another bump.";
    BUMP_UPDATES_LOST = "bump_updates_lost", Count, Sum, "Updates between bumps that were lost.", "updates between bumps lost";
    NOTICES = "notices", Count, Sum, "Congestion notices that reached a sender.";
    UNREAD_NOTICES = "unread_notices", Count, Sum, "Congestion notices that a sender could not read.";
    LIMITED_CONNECTIONS = "limited_connections", Count, Sum, "Connections that notices slow down when the run ends.", "connections limited by notices";
    LIMITER_NOTICES = "limiter_notices", Count, Sum, "Congestion notices that bumps took in place of the sender.";
    LIMITER_UNREAD_NOTICES = "limiter_unread_notices", Count, Sum, "Congestion notices that bumps took and could not read.";
    LIMITER_DROPS = "limiter_drops", Count, Sum, "Packets of limited flows that bumps dropped.", "packets of limited flows dropped by bumps";
    LIMITER_QUEUE_MOST = "limiter_queue_most", Bytes, Maximum, "Longest virtual queue of a limited flow.", "maximum virtual queue of a limited flow";
    LIMITER_FLOWS = "limiter_flows", Count, Sum, "Flows that bumps limit when the run ends.";
}
