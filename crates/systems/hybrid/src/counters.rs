//! What hybrid fabrics count. A virtual output queue (VOQ) has the packets of one rack for another; data
//! packets are those of more than 1,000 bytes.

slotline_net::counters! {
    CIRCUIT_PACKETS = "circuit_packets", Count, Sum, "Packets that left a rack by a circuit.";
    CIRCUIT_BYTES = "circuit_bytes", Bytes, Sum, "Bytes that left a rack by a circuit.", "by circuits";
    PACKET_SWITCH_PACKETS = "packet_switch_packets", Count, Sum, "Packets that left a rack by the packet switch.";
    PACKET_SWITCH_BYTES = "packet_switch_bytes", Bytes, Sum, "Bytes that left a rack by the packet switch.", "by the packet switch";
    CIRCUIT_DAYS = "circuit_days", Count, Sum, "Days in which a rack had a circuit.";
    CIRCUIT_UP_NS = "circuit_up_ns", Nanoseconds, Sum, "Time with a circuit, added up over racks and destinations.";
    DATA_CIRCUIT_UP_NS = "data_circuit_up_ns", Nanoseconds, Sum, "Time with a circuit, of pairs of racks with data packets, until the last packet of each day has left.";
    DATA_CIRCUIT_BYTES = "data_circuit_bytes", Bytes, Sum, "Bytes that left on circuits between pairs of racks with data packets, also those of other pairs.";
    DATA_PACKET_SWITCH_BYTES = "data_packet_switch_bytes", Bytes, Sum, "Bytes that left by the packet switch, of pairs of racks with data packets.";
    VOQ_DROPS = "voq_drops", Count, Sum, "Packets dropped because their VOQ was full.", "packets dropped at full queues of racks";
    VOQ_DROPS_BY_RESIZING = "voq_drops_by_resizing", Count, Sum, "Packets dropped because their VOQ became shorter.", "packets dropped when queues were resized";
    VOQ_LONGEST = "voq_longest", Count, Maximum, "Packets in the longest VOQ.";
    PACKET_SWITCH_HOLDS = "packet_switch_holds", Count, Sum, "Pause messages of the packet switch, by which racks hold their packets.";
    PACKET_SWITCH_RETURNS = "packet_switch_returns", Count, Sum, "Packets that the packet switch returned to their rack.";
    PACKET_SWITCH_LONGEST_QUEUE = "packet_switch_longest_queue", Count, Maximum, "Packets in the longest queue of the packet switch.";
    PACKETS_TO_RELAYS = "packets_to_relays", Count, Sum, "Packets that left for a relaying rack.";
    PACKETS_FROM_RELAYS = "packets_from_relays", Count, Sum, "Packets of other racks that left on their second circuit.";
    RELAYED_PACKETS = "relayed_packets", Count, Sum, "Packets that a rack between source and destination forwarded.";
    RELAY_DROPS = "relay_drops", Count, Sum, "Packets that found no room at a relaying rack.", "packets dropped at relaying racks";
    PACKETS_BY_CORE = "packets_by_core", Count, Sum, "Packets that core switches forwarded.";
    PACKETS_WITH_CIRCUIT_MARK = "packets_with_circuit_mark", Count, Sum, "Packets that carry the notification of a circuit in a mark.";
    CIRCUIT_NOTIFICATIONS = "circuit_notifications", Count, Sum, "Messages that notify a host of circuits.";
    PACKETS_CUT_BY_NIGHT = "packets_cut_by_night", Count, Sum, "Packets that a night cut off.", "packets cut off by a night";
    PACKETS_DRAINED_INTO_NIGHT = "packets_drained_into_night", Count, Sum, "Packets whose transmission ended after their day.", "packets sent during a night";
    CIRCUIT_WAITS_FOR_NIGHT = "circuit_waits_for_night", Count, Sum, "Times that a circuit waited, because the next packet would not have been complete by night.", "packets held during a night";
    PACKETS_MOVED_BY_NIGHT = "packets_moved_by_night", Count, Sum, "Packets that moved to another queue, because their link ended at night.";
    PACKETS_WITHOUT_ROUTE = "packets_without_route", Count, Sum, "Packets that waited at a switch without a route.";
    PORT_FAILURES = "port_failures", Count, Sum, "Failures of a rack's port at a circuit switch.", "failures of a rack's port at a circuit switch";
    DAYS_WITHOUT_PORT = "days_without_port", Count, Sum, "Days, or parts of days, without a circuit, because a port had failed.";
    LINKS_REWIRED = "links_rewired", Count, Sum, "Links of switches that a new day connects elsewhere.";
    WEEKS_PLANNED = "weeks_planned", Count, Sum, "Weeks that the scheduler planned.";
    DAYS_PLANNED = "days_planned", Count, Sum, "Days of these weeks.";
    WEEKS_OF_ROTATION = "weeks_of_rotation", Count, Sum, "Weeks with a rotation in place of a plan, because the scheduler had no demand or no plan.", "weeks scheduled as a rotation" of WEEKS_PLANNED;
    SWITCH_CHANGES = "switch_changes", Count, Sum, "On a real network: changes that circuit switches were told.";
    REFUSED_REPORTS = "refused_reports", Count, Sum, "On a real network: messages that a rack may not send, such as a second report for a week.";
    LATE_WEEKS = "late_weeks", Count, Sum, "Weeks begun without their plan, summed over racks.", "weeks started without a schedule, summed over racks";
}

slotline_net::times! {
    LATENCY = "latency", "Time of a data packet from its rack's switch to that of its destination, by either path, without waiting in the packet switch.";
    CIRCUIT_LATENCY = "circuit_latency", "Time of a data packet from its rack's switch to that of its destination, by a circuit, without waiting in the packet switch.";
    PACKET_SWITCH_LATENCY = "packet_switch_latency", "Time of a data packet from its rack's switch to that of its destination, by the packet switch, without waiting in the packet switch.";
}
