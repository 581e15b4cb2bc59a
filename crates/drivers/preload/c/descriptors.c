/* The peers of file descriptors, and all functions that give a number to another file. */
#include "descriptors.h"

#include "common.h"
#include "demand.h"
#include "real.h"

#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* The host of a descriptor plus `HOST`, or one of the first two. Descriptors beyond the table are looked up at each
 * call. */
#define DESCRIPTORS 65536
enum { UNKNOWN, UNCOUNTED, HOST };
static atomic_int peers[DESCRIPTORS];

/* The process that looked a descriptor up. If a child closes an inherited descriptor, the connection remains. */
static atomic_int owners[DESCRIPTORS];

static bool within_table(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS;
}

/* The host with the address. An IPv6 socket may have an IPv4 peer. */
static int host_at(const struct sockaddr_storage *peer)
{
    struct in_addr address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)peer;
    if (peer->ss_family == AF_INET)
        address = ((const struct sockaddr_in *)peer)->sin_addr;
    else if (peer->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        memcpy(&address, &six->sin6_addr.s6_addr[12], sizeof address);
    else
        return NO_PEER;
    return host_of(address);
}

static int classify(int fd)
{
    int protocol = 0;
    socklen_t size = sizeof protocol;
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer;
    if (REAL(getsockopt)(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0)
        return errno == EBADF ? UNKNOWN : UNCOUNTED;
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP)
        return UNCOUNTED;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0)
        return UNKNOWN;
    int host = host_at(&peer);
    return host == NO_PEER ? UNCOUNTED : host + HOST;
}

static int look_up(int fd)
{
    int before = errno;
    int peer = classify(fd);
    errno = before;
    if (within_table(fd)) {
        atomic_store_explicit(&owners[fd], (int)getpid(), memory_order_relaxed);
        atomic_store_explicit(&peers[fd], peer, memory_order_relaxed);
    }
    return peer;
}

int peer_of(int fd)
{
    int peer = within_table(fd) ? atomic_load_explicit(&peers[fd], memory_order_relaxed) : UNKNOWN;
    if (peer == UNKNOWN)
        peer = look_up(fd);
    return peer >= HOST ? peer - HOST : NO_PEER;
}

void descriptor_changes(int fd)
{
    if (within_table(fd))
        atomic_store_explicit(&peers[fd], UNKNOWN, memory_order_relaxed);
}

/* Linux discards unsent data if SO_LINGER is 0 s, or if the process has not read all received data
 * (tcp_close()). Otherwise it sends the data after the end of the process. */
static bool discards(int fd)
{
    struct linger linger = {0, 0};
    socklen_t size = sizeof linger;
    int unread = 0;
    if (REAL(getsockopt)(fd, SOL_SOCKET, SO_LINGER, &linger, &size) == 0 && linger.l_onoff && linger.l_linger == 0)
        return true;
    return REAL(ioctl)(fd, SIOCINQ, &unread) == 0 && unread > 0;
}

static void withdraw(int fd, int host)
{
    int unsent = 0;
    if (atomic_load_explicit(&owners[fd], memory_order_relaxed) != (int)getpid())
        return;
    if (REAL(ioctl)(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > 0 && discards(fd))
        atomic_fetch_add_explicit(withdrawn_from(host), (uint64_t)unsent, memory_order_relaxed);
}

/* Only connections with writes have a known peer. */
void descriptor_ends(int fd)
{
    if (!within_table(fd))
        return;
    int peer = atomic_exchange_explicit(&peers[fd], UNKNOWN, memory_order_relaxed);
    if (peer < HOST)
        return;
    int before = errno;
    withdraw(fd, peer - HOST);
    errno = before;
}

static int new_descriptor(int fd)
{
    descriptor_changes(fd);
    return fd;
}

EXPORT int socket(int domain, int type, int protocol)
{
    return new_descriptor(REAL(socket)(domain, type, protocol));
}

EXPORT int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    descriptor_changes(fd);
    return REAL(connect)(fd, address, size);
}

EXPORT int accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict size)
{
    return new_descriptor(REAL(accept)(fd, address, size));
}

EXPORT int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict size, int flags)
{
    return new_descriptor(REAL(accept4)(fd, address, size, flags));
}

EXPORT int dup(int fd)
{
    return new_descriptor(REAL(dup)(fd));
}

EXPORT int dup2(int fd, int target)
{
    if (fd != target)
        descriptor_ends(target);
    return new_descriptor(REAL(dup2)(fd, target));
}

EXPORT int dup3(int fd, int target, int flags)
{
    if (fd != target)
        descriptor_ends(target);
    return new_descriptor(REAL(dup3)(fd, target, flags));
}

EXPORT int close(int fd)
{
    descriptor_ends(fd);
    return REAL(close)(fd);
}

static void range_ends(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; fd++)
        descriptor_ends((int)fd);
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    if (!(flags & (int)CLOSE_RANGE_CLOEXEC))
        range_ends(first, last);
    return REAL(close_range)(first, last, flags);
}

EXPORT void closefrom(int first)
{
    range_ends(first < 0 ? 0 : (unsigned)first, UINT_MAX);
    REAL(closefrom)(first);
}

EXPORT int fclose(FILE *file)
{
    descriptor_ends(fileno(file));
    return REAL(fclose)(file);
}
