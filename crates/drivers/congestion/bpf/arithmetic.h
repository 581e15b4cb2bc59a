/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The arithmetic of congestion controls, in whole segments. It is that of Slotline's model
 * (crates/model/net/src/transport/congestion), and a test compares both on a trace. */
#ifndef SLOTLINE_ARITHMETIC_H
#define SLOTLINE_ARITHMETIC_H

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;

#define INLINE static inline __attribute__((always_inline))

/* No window grows beyond this. */
#define MAX_WINDOW (1u << 20)
/* The least slow start threshold (RFC 5681, section 3.1). */
#define MIN_THRESHOLD 2u
/* The most segments by which one acknowledgement lets a window grow beyond slow start, so that the kernel sees the end of
 * the loop. From a window of 1 it takes 2,080 acknowledged segments to get there. The rest waits in `credit`. */
#define MOST_STEPS 64

/* Slow start and congestion avoidance. */
struct growth {
    u32 window;
    u32 threshold;
    /* Segments acknowledged towards the next increase of one. */
    u32 credit;
};

INLINE u32 least(u32 a, u32 b)
{
    return a < b ? a : b;
}

INLINE u32 most(u32 a, u32 b)
{
    return a > b ? a : b;
}

/* Slow start adds the acknowledged segments, up to the threshold. Beyond it, one segment is added per window. */
INLINE void grow(struct growth *g, u32 acked)
{
    u32 room = g->threshold > g->window ? g->threshold - g->window : 0;
    u32 quick;

    acked = least(acked, MAX_WINDOW);
    quick = least(acked, room);
    g->window = least(g->window + quick, MAX_WINDOW);
    g->credit += acked - quick;
    for (int step = 0; step < MOST_STEPS && g->credit >= g->window; step++) {
        g->credit -= g->window;
        g->window = least(g->window + 1, MAX_WINDOW);
    }
}

/* The threshold after a loss with `flight` segments in the network. */
INLINE u32 half(u32 flight)
{
    return most(flight / 2, MIN_THRESHOLD);
}

/* A window by a factor in 1/1024. */
INLINE void scale(struct growth *g, u32 by)
{
    u64 scaled = (u64)g->window * by / 1024;

    g->window = scaled < 1 ? 1 : scaled > MAX_WINDOW ? MAX_WINDOW : scaled;
    g->credit = 0;
}

/* reTCP after the growth: the window jumps once when a circuit is announced, and once when it no longer is. */
INLINE void jump(struct growth *g, u32 *jumped, u32 announced, u32 up, u32 down)
{
    if (announced == *jumped)
        return;
    *jumped = announced;
    scale(g, announced ? up : down);
}

/* DCTCP's estimate. */
struct marks {
    /* The fraction of marked segments, in 1/1024. */
    u32 alpha;
    /* Segments acknowledged in the present observation window, and those of them with a mark. */
    u32 acked;
    u32 marked;
    /* The observation window ends when data from here on are acknowledged. */
    u32 observed;
};

/* Once per window of data: alpha = (1 - g) alpha + g F, with a gain g of 2 to the power of minus `shift`. An alpha that
 * is too small for a step becomes zero. */
INLINE void observe(struct marks *m, u32 acked, u32 echo, u32 una, u32 nxt, u32 shift)
{
    u32 step = m->alpha >> shift;

    m->acked += acked;
    m->marked += echo ? acked : 0;
    if ((int)(una - m->observed) < 0)
        return;
    m->alpha = (step ? m->alpha - step : 0) + (u32)(((u64)m->marked << (10 - shift)) / most(m->acked, 1));
    m->alpha = least(m->alpha, 1024);
    m->acked = 0;
    m->marked = 0;
    m->observed = nxt;
}

/* The threshold after a mark. */
INLINE u32 answer(const struct marks *m, u32 window)
{
    return most(window - (u32)(((u64)window * m->alpha) >> 11), MIN_THRESHOLD);
}

#endif
