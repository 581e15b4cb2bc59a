// Runs flows of TCP or DCTCP in htsim (csg-htsim) and says how many packet-hops that took. `slotline bench engine
// --compare htsim:PROGRAM` starts it; docs/performance.md says how it is built.
//
// Options, each with a value: -topo FILE, -tm FILE (connection matrix), -cc tcp|dctcp, -q PACKETS, -mtu BYTES,
// -min_rto MICROSECONDS, -end MICROSECONDS.

#include "config.h"
#include "connection_matrix.h"
#include "dctcp.h"
#include "eventlist.h"
#include "fat_tree_topology.h"
#include "network.h"
#include "tcp.h"

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

EventList eventlist; // The topology's objects refer to it by this name.

namespace {

simtime_picosec min_rto;

// A sender with a minimum time-out other than htsim's 250 ms, which notes when its flow is complete.
template <class Base>
class Sender : public Base {
public:
    Sender(EventList &events, uint64_t bytes) : Base(NULL, NULL, events) {
        this->set_ssthresh(0xffffffff);
        this->_rto = min_rto;
        this->_flow_size = bytes;
    }
    void receivePacket(Packet &packet) override {
        const bool timer_was_set = this->_RFC2988_RTO_timeout != timeInf;
        Base::receivePacket(packet);
        const simtime_picosec now = this->eventlist().now();
        const bool restarted = timer_was_set && this->_RFC2988_RTO_timeout == now + this->_rto;
        this->_rto = std::max<simtime_picosec>(this->_rtt + 4 * this->_mdev, min_rto);
        if (restarted) this->_RFC2988_RTO_timeout = now + this->_rto;
        if (!end && this->_last_acked >= this->_flow_size) end = now;
    }
    simtime_picosec end = 0;
};

struct Flow {
    TcpSrc *sender;
    TcpSink *receiver;
    const simtime_picosec *end;
    simtime_picosec start;
    uint64_t links;
};

template <class Base>
Flow add(FatTreeTopology &fabric, TcpRtxTimerScanner &timers, const connection &of) {
    auto *paths = fabric.get_bidir_paths(of.src, of.dst, false);
    auto *back = fabric.get_bidir_paths(of.dst, of.src, false);
    const size_t chosen = rand() % paths->size();
    auto *sender = new Sender<Base>(eventlist, of.size);
    auto *receiver = new TcpSink();
    auto *out = new Route(*paths->at(chosen));
    auto *in = new Route(*back->at(rand() % back->size()));
    const uint64_t links = out->size() / 2; // a queue and a pipe for each
    out->push_back(receiver);
    in->push_back(sender);
    timers.registerTcp(*sender);
    sender->connect(*out, *in, *receiver, of.start);
    return Flow{sender, receiver, &sender->end, of.start, links};
}

[[noreturn]] void fail(const std::string &why) {
    std::cerr << why << std::endl;
    exit(1);
}

std::map<std::string, std::string> options(int argc, char **argv) {
    std::map<std::string, std::string> given;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) fail(std::string("no value after ") + argv[i]);
        given[argv[i]] = argv[i + 1];
    }
    for (const char *name : {"-topo", "-tm", "-cc", "-q", "-mtu", "-min_rto", "-end"})
        if (!given.count(name)) fail(std::string("the option ") + name + " is missing");
    return given;
}

} // namespace

int main(int argc, char **argv) {
    auto given = options(argc, argv);
    const bool dctcp = given["-cc"] == "dctcp";
    srand(1);
    Packet::set_packet_size(stoi(given["-mtu"]));
    min_rto = timeFromUs(stod(given["-min_rto"]));
    eventlist.setEndtime(timeFromUs(stod(given["-end"])));
    const mem_b queue = memFromPkt(stod(given["-q"]));
    auto *fabric = FatTreeTopology::load(given["-topo"].c_str(), NULL, eventlist, queue, dctcp ? ECN : RANDOM, FAIR_PRIO);
    ConnectionMatrix matrix(fabric->no_of_nodes());
    if (!matrix.load(given["-tm"].c_str())) fail("cannot read " + given["-tm"]);
    TcpRtxTimerScanner timers(timeFromMs(1), eventlist);
    std::vector<Flow> flows;
    for (const connection *flow : *matrix.getAllConnections())
        flows.push_back(dctcp ? add<DCTCPSrc>(*fabric, timers, *flow) : add<TcpSrc>(*fabric, timers, *flow));
    while (eventlist.doNextEvent()) {
    }
    uint64_t hops = 0, finished = 0;
    double total_ms = 0;
    for (const Flow &flow : flows) {
        // Data that was sent, and an acknowledgement for each packet that arrived. A lost packet counts in full.
        hops += flow.links * (flow.sender->_packets_sent + flow.receiver->_packets) / Packet::data_packet_size();
        finished += *flow.end != 0;
        total_ms += *flow.end ? timeAsMs(*flow.end - flow.start) : 0;
    }
    std::cout << "slotline-hops " << hops << "\nslotline-flows " << finished << "\nslotline-fct-ms "
              << (finished ? total_ms / finished : 0) << std::endl;
}
