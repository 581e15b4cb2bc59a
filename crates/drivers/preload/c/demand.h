/* The table of application data units: bytes that applications have given to TCP (Etalon, §5.2). */
#ifndef SLOTLINE_DEMAND_H
#define SLOTLINE_DEMAND_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether this process reports what it writes. */
bool reporting(void);

/* The number of the host with this address, or -1. */
int host_of(struct in_addr address);

/* The counter of bytes from this host towards another. */
_Atomic uint64_t *written_to(int host);
_Atomic uint64_t *withdrawn_from(int host);

#endif
