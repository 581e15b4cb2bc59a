/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* DCTCP (Alizadeh et al., "Data Center TCP", SIGCOMM 2010, and RFC 8257): the window falls in proportion to the fraction
 * of marked segments. The gain is 2 to the power of minus GAIN_SHIFT. */
#include "kernel.h"

#define DEMAND_CWR 4

struct state {
    struct marks marks;
    /* Segments delivered, at the last acknowledgement. */
    u32 delivered;
    /* The window before the last reduction, and the last window of these programs. */
    u32 before;
    u32 window;
    /* As receiver: whether the last packet was marked, and the data received before it. */
    u32 marked;
    u32 received;
};

INLINE struct state *state_of(void *sk)
{
    return (struct state *)((char *)sk + icsk_ca_priv_AT);
}

PROGRAM(int, init, u64 *ctx)
{
    void *sk = (void *)ctx[0];
    struct state *state = state_of(sk);

    state->marks.alpha = 1024;
    state->marks.observed = FIELD(sk, snd_una);
    state->delivered = FIELD(sk, delivered);
    state->window = FIELD(sk, snd_cwnd);
    state->received = FIELD(sk, rcv_nxt);
    return 0;
}

/* Between programs the kernel only reduces the window, or takes a reduction back. */
INLINE void check(void *sk)
{
    struct state *state = state_of(sk);
    u32 limit = most(state->window, state->before);

    repair(sk);
    if (FIELD(sk, snd_cwnd) > limit)
        FIELD(sk, snd_cwnd) = most(limit, 1);
}

PROGRAM(int, in_ack_event, u64 *ctx)
{
    void *sk = (void *)ctx[0];
    struct state *state = state_of(sk);
    struct marks marks = state->marks;
    u32 delivered = FIELD(sk, delivered);
    u32 acked = delivered - state->delivered;

    check(sk);
    observe(&marks, acked, ctx[1] & ACK_ECHO, FIELD(sk, snd_una), FIELD(sk, snd_nxt), GAIN_SHIFT);
    state->marks = marks;
    state->delivered = delivered;
    return 0;
}

PROGRAM(int, cong_avoid, u64 *ctx)
{
    void *sk = (void *)ctx[0];
    struct growth g;

    check(sk);
    g = growth_of(sk);
    if (is_limited(sk))
        grow(&g, ctx[2]);
    set_growth(sk, &g);
    state_of(sk)->window = g.window;
    return 0;
}

/* The kernel asks at a mark, and at a loss, for which the next two functions correct the answer. */
PROGRAM(u32, ssthresh, u64 *ctx)
{
    void *sk = (void *)ctx[0];
    struct marks marks = state_of(sk)->marks;
    u32 window = FIELD(sk, snd_cwnd);

    state_of(sk)->before = window;
    return answer(&marks, window);
}

PROGRAM(int, set_state, u64 *ctx)
{
    void *sk = (void *)ctx[0];

    check(sk);
    if ((ctx[1] & 255) == TCP_CA_Recovery && BITS(sk, icsk_ca_state) != TCP_CA_Recovery)
        FIELD(sk, snd_ssthresh) = half(FIELD(sk, snd_cwnd));
    return 0;
}

/* As receiver, an acknowledgement tells only of packets before a change of marks (RFC 8257, section 3.2). */
INLINE void receive(void *sk, u32 marked)
{
    struct state *state = state_of(sk);
    u32 flags = FIELD(sk, ecn_flags);

    if (marked != state->marked) {
        if (FIELD(sk, icsk_ack_pending) & ICSK_ACK_TIMER)
            send_ack(sk, state->received);
        FIELD(sk, icsk_ack_pending) |= ICSK_ACK_NOW;
    }
    state->received = FIELD(sk, rcv_nxt);
    state->marked = marked;
    FIELD(sk, ecn_flags) = marked ? flags | DEMAND_CWR : flags & ~DEMAND_CWR;
}

PROGRAM(int, cwnd_event, u64 *ctx)
{
    void *sk = (void *)ctx[0];
    u32 event = ctx[1];

    if (event == CA_EVENT_LOSS)
        FIELD(sk, snd_ssthresh) = half(FIELD(sk, snd_cwnd));
    else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
        receive(sk, event == CA_EVENT_ECN_IS_CE);
    return 0;
}

/* The kernel asks before it sends. */
PROGRAM(u32, min_tso_segs, u64 *ctx)
{
    check((void *)ctx[0]);
    return MIN_TSO_SEGMENTS;
}

PROGRAM(u32, undo_cwnd, u64 *ctx)
{
    void *sk = (void *)ctx[0];

    return most(FIELD(sk, snd_cwnd), state_of(sk)->before);
}
