/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The filter of a socket. It stores the states of circuits that messages to the socket contain, and drops the messages.
 * It runs while a message is sent, so a state is known when the sender continues. */
#include "kernel.h"

#define MOST_PLACES 1024

/* `count` places of the map, from `first` on, get `state`. */
struct message {
    u32 first;
    u32 count;
    u32 state;
};

PROGRAM(int, filter, void *packet)
{
    struct message message = {};

    if (load_bytes(packet, 0, &message, sizeof message))
        return 0;
    for (u32 at = 0; at < MOST_PLACES && at < message.count; at++) {
        u32 place = message.first + at;
        u32 *state = map_lookup(CIRCUITS, &place);

        if (state)
            *state = message.state;
    }
    return 0;
}
