/* The file with the table. Every process of every host adds to it. */
#include "demand.h"

#include "common.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "SLOTLINE_ADU"
#define HOST_VARIABLE "SLOTLINE_HOST"
#define VERSION 1
#define MOST_HOSTS 4096

/* A matrix of bytes written follows, and one of bytes withdrawn. A row belongs to the host that sends. */
struct demand_file {
    char magic[8];
    uint64_t version;
    uint64_t hosts;
    uint64_t first_address;
    _Atomic uint64_t written[];
};

static struct demand_file none;
static _Atomic(struct demand_file *) current;
static atomic_uint own_host;

static void check(const struct demand_file *file, size_t size)
{
    if (size < sizeof *file || memcmp(file->magic, "SLOTADUS", 8) != 0 || file->version != VERSION)
        refuse(VARIABLE, "names a file that is not a table of demand");
    if (file->hosts > MOST_HOSTS || size < sizeof *file + 16 * file->hosts * file->hosts)
        refuse(VARIABLE, "names a table with a wrong size");
}

static void read_own_host(uint64_t hosts)
{
    const char *text = getenv(HOST_VARIABLE);
    char *end = NULL;
    unsigned long host = text != NULL ? strtoul(text, &end, 10) : hosts;
    if (end == NULL || end == text || *end != '\0' || host >= hosts)
        refuse(HOST_VARIABLE, "must be the number of a host in the table of demand");
    atomic_store_explicit(&own_host, (unsigned)host, memory_order_relaxed);
}

static struct demand_file *read_file(void)
{
    size_t size;
    struct demand_file *file = map_named_file(VARIABLE, true, &size);
    if (file == NULL)
        return &none;
    check(file, size);
    read_own_host(file->hosts);
    return file;
}

/* As for virtual time, concurrent threads each map the file. */
static struct demand_file *demand_file(void)
{
    struct demand_file *file = atomic_load_explicit(&current, memory_order_acquire);
    if (file == NULL) {
        file = read_file();
        atomic_store_explicit(&current, file, memory_order_release);
    }
    return file;
}

__attribute__((constructor)) static void read_early(void)
{
    demand_file();
}

bool reporting(void)
{
    return demand_file() != &none;
}

int host_of(struct in_addr address)
{
    const struct demand_file *file = demand_file();
    uint64_t number = (uint64_t)ntohl(address.s_addr) - file->first_address;
    return number < file->hosts ? (int)number : -1;
}

static _Atomic uint64_t *counter(uint64_t matrix, int host)
{
    struct demand_file *file = demand_file();
    uint64_t row = matrix * file->hosts + atomic_load_explicit(&own_host, memory_order_relaxed);
    return &file->written[row * file->hosts + (uint64_t)host];
}

_Atomic uint64_t *written_to(int host)
{
    return counter(0, host);
}

_Atomic uint64_t *withdrawn_from(int host)
{
    return counter(1, host);
}
