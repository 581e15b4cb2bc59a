/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* reTCP (Mukerjee et al., "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks", 2018, section 4.4):
 * Reno with a window that jumps. JUMP_UP and JUMP_DOWN are the factors in 1/1024.
 *
 * The network tells of circuits by the map, or with BY_MARKS by ECN-Echo in acknowledgements, as in the paper. With
 * marks the control moves the window alone (cong_control), because the kernel would reduce it at each mark. */
#include "kernel.h"

struct state {
    u32 jumped;
    /* With marks: the last acknowledgement had one, and segments delivered until then. */
    u32 announced;
    u32 delivered;
};

INLINE struct state *state_of(void *sk)
{
    return (struct state *)((char *)sk + icsk_ca_priv_AT);
}

INLINE void acknowledge(void *sk, u32 acked, u32 announced)
{
    struct state *state = state_of(sk);
    struct growth g;
    u32 jumped = state->jumped;

    repair(sk);
    g = growth_of(sk);
    if (is_limited(sk))
        grow(&g, acked);
    jump(&g, &jumped, announced, JUMP_UP, JUMP_DOWN);
    state->jumped = jumped;
    set_growth(sk, &g);
}

/* The kernel asks before it sends. */
PROGRAM(u32, min_tso_segs, u64 *ctx)
{
    repair((void *)ctx[0]);
    return MIN_TSO_SEGMENTS;
}

PROGRAM(u32, undo_cwnd, u64 *ctx)
{
    void *sk = (void *)ctx[0];

    return most(FIELD(sk, snd_cwnd), FIELD(sk, prior_cwnd));
}

#ifndef BY_MARKS

PROGRAM(u32, ssthresh, u64 *ctx)
{
    return half(FIELD((void *)ctx[0], snd_cwnd));
}

PROGRAM(int, cong_avoid, u64 *ctx)
{
    void *sk = (void *)ctx[0];

    acknowledge(sk, ctx[2], is_announced(sk));
    return 0;
}

PROGRAM(int, set_state, u64 *ctx)
{
    repair((void *)ctx[0]);
    return 0;
}

#else

/* Without this flag the kernel ignores ECN-Echo. */
PROGRAM(int, init, u64 *ctx)
{
    void *sk = (void *)ctx[0];

    FIELD(sk, ecn_flags) |= 1;
    state_of(sk)->delivered = FIELD(sk, delivered);
    return 0;
}

/* The kernel asks at each mark, too: nothing changes. */
PROGRAM(u32, ssthresh, u64 *ctx)
{
    return FIELD((void *)ctx[0], snd_ssthresh);
}

PROGRAM(int, in_ack_event, u64 *ctx)
{
    state_of((void *)ctx[0])->announced = ctx[1] & ACK_ECHO ? 1 : 0;
    return 0;
}

PROGRAM(int, cong_control, u64 *ctx)
{
    void *sk = (void *)ctx[0];
    struct state *state = state_of(sk);
    u32 delivered = FIELD(sk, delivered);
    u32 acked = delivered - state->delivered;

    state->delivered = delivered;
    if (BITS(sk, icsk_ca_state) != TCP_CA_Recovery)
        acknowledge(sk, acked, state->announced);
    return 0;
}

/* A loss: the kernel is about to enter this state. */
PROGRAM(int, set_state, u64 *ctx)
{
    void *sk = (void *)ctx[0];
    u32 threshold = half(FIELD(sk, snd_cwnd));

    if ((ctx[1] & 255) != TCP_CA_Recovery || BITS(sk, icsk_ca_state) == TCP_CA_Recovery)
        return 0;
    FIELD(sk, snd_ssthresh) = threshold;
    FIELD(sk, snd_cwnd) = threshold;
    FIELD(sk, snd_cwnd_cnt) = 0;
    return 0;
}

/* A time-out: the kernel is about to reduce the window. */
PROGRAM(int, cwnd_event, u64 *ctx)
{
    void *sk = (void *)ctx[0];

    if ((u32)ctx[1] == CA_EVENT_LOSS)
        FIELD(sk, snd_ssthresh) = half(FIELD(sk, snd_cwnd));
    return 0;
}

#endif
