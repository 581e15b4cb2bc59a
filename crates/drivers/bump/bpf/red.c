/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random early detection (Floyd and Jacobson 1993) in integers: the average in state[0], in 1/1024 bytes. */
#include "slotline_bump.h"

#define MIN 30000ull
#define MAX 90000ull
#define MAX_P 429496729ull /* 0.1 of 2^32 */

SLOTLINE_DISCIPLINE
int red(struct slotline_bump *b)
{
    slotline_u64 average = b->state[0], now = b->queue_bytes << 10;

    /* Weight 1/512. */
    average = average - (average >> 9) + (now >> 9);
    b->state[0] = average;
    average >>= 10;
    if (average < MIN)
        return SLOTLINE_PASS;
    if (average >= MAX)
        return SLOTLINE_DROP;
    if (slotline_random() < MAX_P * (average - MIN) / (MAX - MIN))
        return SLOTLINE_MARK;
    return SLOTLINE_PASS;
}

/* The same in XDP and tc. */
#define SLOTLINE_NAME red
#include "slotline_kernel.h"
