/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Marks the packets of sources that have sent more than a quarter of all bytes: it reads the packet, and keeps
 * bytes by source in a map that all virtual queues share. */
#include "slotline_bump.h"

struct {
    __uint(type, SLOTLINE_HASH);
    __uint(max_entries, 4096);
    __type(key, slotline_u32);
    __type(value, slotline_u64);
} bytes_by_source SEC(".maps");

/* Bytes of all packets, and of packets that are not IPv4. */
struct {
    __uint(type, SLOTLINE_ARRAY);
    __uint(max_entries, 2);
    __type(key, slotline_u32);
    __type(value, slotline_u64);
} totals SEC(".maps");

/* A constant and variables, which the object file has in sections of their own. */
static volatile const slotline_u64 least = 20000;
static slotline_u64 packets = 1;
static slotline_u64 others_seen;

/* A function of its own, which is called. */
static __attribute__((noinline)) int too_much(slotline_u64 own, slotline_u64 all)
{
    return packets > 10 && own > least && own * 4 > all;
}

static __attribute__((always_inline)) slotline_u64 add(void *map, const void *key, slotline_u64 bytes)
{
    slotline_u64 *known = slotline_map_lookup(map, key);
    if (!known) {
        slotline_map_update(map, key, &bytes, SLOTLINE_ANY);
        return bytes;
    }
    return __sync_fetch_and_add(known, bytes) + bytes;
}

SEC("slotline_bump")
int heavy(struct slotline_bump *b)
{
    const slotline_u8 *at = b->data;
    slotline_u32 all = 0, others = 1, from;

    packets++;
    if ((const void *)(at + 34) > b->data_end || at[12] != 8 || at[13] != 0) {
        others_seen++;
        add(&totals, &others, b->len);
        return SLOTLINE_PASS;
    }
    __builtin_memcpy(&from, at + 26, 4);
    slotline_u64 own = add(&bytes_by_source, &from, b->len);
    return too_much(own, add(&totals, &all, b->len)) ? SLOTLINE_MARK : SLOTLINE_PASS;
}
