/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The threshold of DCTCP (RFC 8257, 3.1): marks packets that find more than 30 KB. */
#include "slotline_bump.h"

SLOTLINE_DISCIPLINE
int dctcp(struct slotline_bump *b)
{
    return b->queue_bytes > 30000 && b->ect ? SLOTLINE_MARK : SLOTLINE_PASS;
}

/* The same in XDP and tc. */
#define SLOTLINE_NAME dctcp
#include "slotline_kernel.h"
