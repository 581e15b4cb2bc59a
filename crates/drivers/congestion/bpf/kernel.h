/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the programs use of Linux. `layout.h` is written for the running kernel: where its structures have their
 * fields (NAME_AT, NAME_TYPE, for fields of some bits also NAME_SHIFT and NAME_MASK), and the values of constants. */
#ifndef SLOTLINE_KERNEL_H
#define SLOTLINE_KERNEL_H

#include "arithmetic.h"
#include "layout.h"

/* A program, in a section of its own. */
#define PROGRAM(type, name, argument) __attribute__((section("slotline/" #name), used)) type name(argument)
#define FIELD(sk, name) (*(name##_TYPE *)((char *)(sk) + name##_AT))
#define BITS(sk, name) ((FIELD(sk, name) >> name##_SHIFT) & name##_MASK)

/* The map with the states of circuits has this descriptor when programs are loaded. */
#define CIRCUITS ((void *)load_map(1, CIRCUITS_FD))
u64 load_map(u64 kind, u64 descriptor) __asm__("llvm.bpf.pseudo");

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*load_bytes)(const void *packet, u32 offset, void *to, u32 length) = (void *)26;
static long (*send_ack)(void *sk, u32 rcv_nxt) = (void *)116;

/* A state of `Circuits` in the model: a circuit is announced. */
#define ANNOUNCED 64
/* A flag of in_ack_event: the acknowledgement has ECN-Echo. */
#define ACK_ECHO 4

/* The kernel's own least number of segments that TCP joins (net.ipv4.tcp_min_tso_segs). */
#define MIN_TSO_SEGMENTS 2

INLINE struct growth growth_of(void *sk)
{
    struct growth g = {FIELD(sk, snd_cwnd), FIELD(sk, snd_ssthresh), FIELD(sk, snd_cwnd_cnt)};

    return g;
}

INLINE void set_growth(void *sk, const struct growth *g)
{
    FIELD(sk, snd_cwnd) = g->window;
    FIELD(sk, snd_cwnd_cnt) = g->credit;
}

/* Some kernels rarely leave out a call of a program, and take what is on the stack for its result. Such a window or
 * threshold is too large to be right. What a control would have answered follows from the window before the loss. */
INLINE void repair(void *sk)
{
    u32 before = FIELD(sk, prior_cwnd);

    if (FIELD(sk, snd_cwnd) > MAX_WINDOW)
        FIELD(sk, snd_cwnd) = least(most(before, 1), MAX_WINDOW);
    if (FIELD(sk, snd_ssthresh) > 0x7fffffff)
        FIELD(sk, snd_ssthresh) = half(before);
}

/* Whether the window was fully used, so that it may grow (RFC 7661). */
INLINE int is_limited(void *sk)
{
    u32 window = FIELD(sk, snd_cwnd);

    if (BITS(sk, is_cwnd_limited))
        return 1;
    return window < FIELD(sk, snd_ssthresh) && window < 2 * FIELD(sk, max_packets_out);
}

/* Whether the path to the far end of the connection has a circuit, or will have one soon. */
INLINE u32 is_announced(void *sk)
{
    u32 from = __builtin_bswap32(FIELD(sk, skc_rcv_saddr)) - FIRST_ADDRESS;
    u32 to = __builtin_bswap32(FIELD(sk, skc_daddr)) - FIRST_ADDRESS;
    u32 place = from * HOSTS + to;
    u32 *state;

    if (from >= HOSTS || to >= HOSTS)
        return 0;
    state = map_lookup(CIRCUITS, &place);
    return state && *state & ANNOUNCED ? 1 : 0;
}

#endif
