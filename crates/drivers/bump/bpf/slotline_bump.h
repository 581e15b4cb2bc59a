/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The interface of a discipline in C to Slotline's bump. docs/bump.md explains it.
 *
 *   #include "slotline_bump.h"
 *   SLOTLINE_DISCIPLINE
 *   int discipline(struct slotline_bump *b) { return b->queue_bytes > 30000 ? SLOTLINE_MARK : SLOTLINE_PASS; }
 *
 *   clang -O2 -g -target bpf -c discipline.c -o discipline.o
 *
 * The program runs once for each packet. It has a stack of 512 bytes for each function, global variables, maps
 * (hash and array), the helpers below, and the bytes of the packet for reading; it ends within 10,000
 * instructions. A program that breaks a rule is stopped: packets of its virtual queue pass from then on.
 *
 * With slotline_kernel.h after the discipline the same object file runs in XDP and tc. */
#ifndef SLOTLINE_BUMP_H
#define SLOTLINE_BUMP_H

typedef unsigned char slotline_u8;
typedef unsigned short slotline_u16;
typedef unsigned int slotline_u32;
typedef unsigned long long slotline_u64;

/* Return values. */
#define SLOTLINE_PASS 0u
#define SLOTLINE_MARK 1u /* congestion experienced; a packet that cannot be marked is dropped (RFC 3168) */
#define SLOTLINE_DROP 2u
#define SLOTLINE_NOTIFY(feedback) (0x100u | ((feedback) & 0x3fu)) /* tell the sender, 1 to 63 */

struct slotline_bump {
    /* For reading. */
    slotline_u64 now_ns;         /* since the first packet; in the kernel since the machine started */
    slotline_u64 queue_bytes;    /* in the virtual queue, without this packet */
    slotline_u64 capacity_bytes; /* its capacity */
    slotline_u64 rate_bps;       /* the rate at which it drains */
    slotline_u32 len;            /* of this packet on the wire, framing included */
    slotline_u32 ect;            /* 1: the packet can be marked */
    slotline_u64 idle_ns;        /* how long the queue has been empty; 0 while it is not */
    /* The packet from its destination address on, and where it ends: compare before you read, as in XDP.
     * Of a packet that a capture has cut off, only the captured part exists. */
    const void *data;
    const void *data_end;
    /* For reading and writing: the state of this queue, initially zero. It persists between packets. */
    slotline_u64 state[16];
};

#ifndef SEC
#define SEC(name) __attribute__((section(name), used))
#endif

#define SLOTLINE_DISCIPLINE SEC("slotline_bump") __attribute__((always_inline))

/* Maps are declared as with libbpf:
 *   struct {
 *       __uint(type, SLOTLINE_HASH);
 *       __uint(max_entries, 1024);
 *       __type(key, slotline_u32);
 *       __type(value, slotline_u64);
 *   } name SEC(".maps");
 * All virtual queues of a bump share them. */
#ifndef __uint
#define __uint(name, number) int(*name)[number]
#define __type(name, of) __typeof__(of) *name
#endif
#define SLOTLINE_HASH 1
#define SLOTLINE_ARRAY 2
#define SLOTLINE_ANY 0     /* sets a value whether it exists or not */
#define SLOTLINE_NOEXIST 1 /* only if it does not exist */
#define SLOTLINE_EXIST 2   /* only if it exists */

/* Helpers, by their numbers in Linux. */
static void *(*const slotline_map_lookup)(void *map, const void *key) = (void *)1;
static long (*const slotline_map_update)(void *map, const void *key, const void *value, slotline_u64 flags) = (void *)2;
static long (*const slotline_map_delete)(void *map, const void *key) = (void *)3;
static slotline_u64 (*const slotline_now_ns)(void) = (void *)5;
static slotline_u32 (*const slotline_random)(void) = (void *)7;

#endif
