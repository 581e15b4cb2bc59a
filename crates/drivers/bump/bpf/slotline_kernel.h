/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A discipline of slotline_bump.h in the Linux kernel: classify by destination, estimate, ask, mark or drop, as
 * Slotline's own pipeline does. The object file then has two more programs, in the sections "xdp" and "tc":
 *
 *   #include "slotline_bump.h"
 *   SLOTLINE_DISCIPLINE int mine(struct slotline_bump *b) { ... }
 *   #define SLOTLINE_NAME mine
 *   #include "slotline_kernel.h"
 *
 *   clang -O2 -g -target bpf -c mine.c -o mine.o
 *   ip link set dev eth0 xdp obj mine.o sec xdp
 *   tc qdisc add dev eth0 clsact && tc filter add dev eth0 ingress bpf da obj mine.o sec tc
 *
 * Differences: notices are counted and not sent; packets that several processors handle at the same time may
 * count late, because levels are read and written without a lock. Malformed packets pass. */
#ifndef SLOTLINE_KERNEL_H
#define SLOTLINE_KERNEL_H

#ifndef SLOTLINE_RATE_BPS
#define SLOTLINE_RATE_BPS 1000000000ull
#endif
#ifndef SLOTLINE_CAPACITY
#define SLOTLINE_CAPACITY 150000ull
#endif
#ifndef SLOTLINE_QUEUES
#define SLOTLINE_QUEUES 1024
#endif
/* Bytes that the link adds to a packet: preamble, check sequence, gap. */
#ifndef SLOTLINE_FRAMING
#define SLOTLINE_FRAMING 24u
#endif
/* Picoseconds of a byte. */
#define SLOTLINE_BYTE_PS (8000000000000ull / SLOTLINE_RATE_BPS)

struct slotline_queue {
    slotline_u64 empty_at_ps;
    slotline_u64 state[16];
};

/* A queue for each destination; an IPv4 address is in the last word, after ffff. */
struct slotline_destination {
    slotline_u32 word[4];
};

struct {
    __uint(type, SLOTLINE_HASH);
    __uint(max_entries, SLOTLINE_QUEUES);
    __type(key, struct slotline_destination);
    __type(value, struct slotline_queue);
} slotline_queues SEC(".maps");

/* Packets by result: passed, marked, dropped, notified, no room, without a queue. */
enum { SLOTLINE_PASSED, SLOTLINE_MARKED, SLOTLINE_DROPPED, SLOTLINE_NOTIFIED, SLOTLINE_FULL, SLOTLINE_OTHERS };
struct {
    __uint(type, SLOTLINE_ARRAY);
    __uint(max_entries, 6);
    __type(key, slotline_u32);
    __type(value, slotline_u64);
} slotline_counts SEC(".maps");

static __attribute__((always_inline)) inline int slotline_count(slotline_u32 what, int forward)
{
    slotline_u64 *count = slotline_map_lookup(&slotline_counts, &what);
    if (count)
        __sync_fetch_and_add(count, 1);
    return forward;
}

static __attribute__((always_inline)) inline slotline_u16 slotline_swap16(slotline_u16 x)
{
    return (slotline_u16)(x << 8 | x >> 8);
}

/* The ECN bits become congestion experienced; of IPv4 the checksum follows (RFC 1624, equation 3). */
static __attribute__((always_inline)) inline void slotline_mark(slotline_u8 *ip, int six)
{
    if (six) {
        ip[1] |= 0x30;
        return;
    }
    slotline_u16 before = (slotline_u16)(ip[0] << 8 | ip[1]);
    ip[1] |= 3;
    slotline_u16 after = (slotline_u16)(ip[0] << 8 | ip[1]);
    slotline_u32 sum = (slotline_u16) ~(ip[10] << 8 | ip[11]);
    sum += (slotline_u16)~before;
    sum += after;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~sum;
    ip[10] = (slotline_u8)(sum >> 8);
    ip[11] = (slotline_u8)sum;
}

/* Whether the packet is forwarded. */
static __attribute__((always_inline)) inline int slotline_pass(void *data, void *data_end, slotline_u32 length)
{
    slotline_u8 *at = data;
    struct slotline_destination to = {};
    struct slotline_bump b = {};
    slotline_u16 kind;
    slotline_u8 ecn;
    int six;

    if ((void *)(at + 14) > data_end)
        return slotline_count(SLOTLINE_OTHERS, 1);
    kind = (slotline_u16)(at[12] << 8 | at[13]);
    at += 12;
    /* Tags of IEEE 802.1Q and 802.1ad, and of congestion notification. */
    for (int tag = 0; tag < 2; tag++) {
        if (kind != 0x8100 && kind != 0x88a8 && kind != 0x22e9)
            break;
        if ((void *)(at + 6) > data_end)
            return slotline_count(SLOTLINE_OTHERS, 1);
        kind = (slotline_u16)(at[4] << 8 | at[5]);
        at += 4;
    }
    at += 2;
    if (kind == 0x0800) {
        if ((void *)(at + 20) > data_end || (at[0] & 0xf0) != 0x40 || (at[0] & 15) < 5)
            return slotline_count(SLOTLINE_OTHERS, 1);
        if ((slotline_u32)(at[2] << 8 | at[3]) < (at[0] & 15u) * 4)
            return slotline_count(SLOTLINE_OTHERS, 1);
        six = 0;
        ecn = at[1] & 3;
        to.word[2] = 0xffff;
        __builtin_memcpy(&to.word[3], at + 16, 4);
    } else if (kind == 0x86dd) {
        if ((void *)(at + 40) > data_end || (at[0] & 0xf0) != 0x60)
            return slotline_count(SLOTLINE_OTHERS, 1);
        six = 1;
        ecn = at[1] >> 4 & 3;
        __builtin_memcpy(&to, at + 24, 16);
    } else {
        return slotline_count(SLOTLINE_OTHERS, 1);
    }

    struct slotline_queue *queue = slotline_map_lookup(&slotline_queues, &to);
    if (!queue) {
        struct slotline_queue fresh = {};
        slotline_map_update(&slotline_queues, &to, &fresh, SLOTLINE_NOEXIST);
        queue = slotline_map_lookup(&slotline_queues, &to);
        if (!queue)
            return slotline_count(SLOTLINE_OTHERS, 1);
    }

    slotline_u64 now_ns = slotline_now_ns(), now = now_ns * 1000, level = queue->empty_at_ps;
    slotline_u64 len = length + SLOTLINE_FRAMING;
    b.now_ns = now_ns;
    b.queue_bytes = level > now ? (level - now) / SLOTLINE_BYTE_PS : 0;
    b.capacity_bytes = SLOTLINE_CAPACITY;
    b.rate_bps = SLOTLINE_RATE_BPS;
    b.len = (slotline_u32)len;
    b.ect = ecn != 0;
    b.idle_ns = level > now ? 0 : (now - level) / 1000;
    b.data = data;
    b.data_end = data_end;
    __builtin_memcpy(b.state, queue->state, sizeof(b.state));
    slotline_u32 answer = (slotline_u32)SLOTLINE_NAME(&b);
    __builtin_memcpy(queue->state, b.state, sizeof(b.state));

    if (answer == SLOTLINE_DROP || (answer == SLOTLINE_MARK && !ecn))
        return slotline_count(SLOTLINE_DROPPED, 0);
    level = (level > now ? level : now) + len * SLOTLINE_BYTE_PS;
    if (level - now > SLOTLINE_CAPACITY * SLOTLINE_BYTE_PS)
        return slotline_count(SLOTLINE_FULL, 0);
    queue->empty_at_ps = level;
    if (answer == SLOTLINE_MARK) {
        slotline_mark(at, six);
        return slotline_count(SLOTLINE_MARKED, 1);
    }
    if ((answer & ~0x3fu) == 0x100u && (answer & 0x3fu))
        return slotline_count(SLOTLINE_NOTIFIED, 1);
    return slotline_count(SLOTLINE_PASSED, 1);
}

/* The beginnings of Linux' contexts (linux/bpf.h), which do not change. */
struct slotline_xdp {
    slotline_u32 data, data_end;
};
struct slotline_skb {
    slotline_u32 len, others[18], data, data_end;
};

SEC("xdp")
int slotline_xdp(struct slotline_xdp *context)
{
    void *data = (void *)(long)context->data, *data_end = (void *)(long)context->data_end;
    return slotline_pass(data, data_end, (slotline_u32)(data_end - data)) ? 2 /* XDP_PASS */ : 1 /* XDP_DROP */;
}

SEC("tc")
int slotline_tc(struct slotline_skb *context)
{
    void *data = (void *)(long)context->data, *data_end = (void *)(long)context->data_end;
    return slotline_pass(data, data_end, context->len) ? 0 /* TC_ACT_OK */ : 2 /* TC_ACT_SHOT */;
}

char slotline_license[] SEC("license") = "Dual MIT/GPL";

#endif
