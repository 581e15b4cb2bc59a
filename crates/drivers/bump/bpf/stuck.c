/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A faulty discipline for tests: it does not end if more than 100 KB wait. */
#include "slotline_bump.h"

SLOTLINE_DISCIPLINE
int stuck(struct slotline_bump *b)
{
    while (b->queue_bytes > 100000)
        __asm__ volatile("" ::: "memory");
    return b->queue_bytes > 30000 && b->ect ? SLOTLINE_MARK : SLOTLINE_PASS;
}
