/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a discipline in C is given by Slotline's bump, and what it answers. docs/bump.md explains.
 *
 *   #include "slotline_bump.h"
 *   SEC("slotline_bump")
 *   int discipline(struct slotline_bump *b) { return b->queue_bytes > 30000 ? SLOTLINE_MARK : SLOTLINE_PASS; }
 *
 *   clang -O2 -target bpf -c discipline.c -o discipline.o
 *
 * The program runs once for each packet. It may use the stack (512 bytes) and the two helpers below; it
 * has no maps and no global variables, and ends within 10,000 instructions. A program that breaks a rule
 * is stopped: packets of its virtual queue pass from then on. */
#ifndef SLOTLINE_BUMP_H
#define SLOTLINE_BUMP_H

typedef unsigned int slotline_u32;
typedef unsigned long long slotline_u64;

/* What becomes of a packet. */
#define SLOTLINE_PASS 0u
#define SLOTLINE_MARK 1u /* congestion experienced; a packet that cannot be marked is dropped (RFC 3168) */
#define SLOTLINE_DROP 2u
#define SLOTLINE_NOTIFY(feedback) (0x100u | ((feedback) & 0x3fu)) /* tell the sender, 1 to 63 */

struct slotline_bump {
    /* For reading. */
    slotline_u64 now_ns;         /* since the first packet */
    slotline_u64 queue_bytes;    /* in the virtual queue, without this packet */
    slotline_u64 capacity_bytes; /* what it holds */
    slotline_u64 rate_bps;       /* what it drains at */
    slotline_u32 len;            /* of this packet on the wire, framing included */
    slotline_u32 ect;            /* 1: the packet can be marked */
    slotline_u64 idle_ns;        /* how long the queue has been empty; 0 while it is not */
    slotline_u64 reserved[2];
    /* For reading and writing: this queue's own, zero at first, kept from packet to packet. */
    slotline_u64 state[16];
};

#ifndef SEC
#define SEC(name) __attribute__((section(name), used))
#endif

/* Helpers, by their numbers in Linux. */
static slotline_u64 (*const slotline_now_ns)(void) = (void *)5;
static slotline_u32 (*const slotline_random)(void) = (void *)7;

#endif
