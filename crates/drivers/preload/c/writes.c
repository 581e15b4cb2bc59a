/* Bytes that an application gives to TCP. They count from the beginning of the call: a call that blocks has announced
 * all of its bytes, including those without room in the socket's buffer. Bytes that are not accepted are subtracted. */
#include "common.h"
#include "demand.h"
#include "descriptors.h"
#include "real.h"

#include <stdatomic.h>

struct announcement {
    _Atomic uint64_t *counter;
    uint64_t bytes;
};

static struct announcement announce(int fd, uint64_t bytes)
{
    int host = reporting() ? peer_of(fd) : NO_PEER;
    if (host == NO_PEER)
        return (struct announcement){NULL, bytes};
    _Atomic uint64_t *counter = written_to(host);
    atomic_fetch_add_explicit(counter, bytes, memory_order_relaxed);
    return (struct announcement){counter, bytes};
}

static ssize_t settle(struct announcement announced, ssize_t taken)
{
    uint64_t bytes = taken > 0 ? (uint64_t)taken : 0;
    if (announced.counter != NULL && bytes != announced.bytes)
        atomic_fetch_sub_explicit(announced.counter, announced.bytes - bytes, memory_order_relaxed);
    return taken;
}

/* For calls whose number of bytes is only known when they return. */
static ssize_t count(int fd, ssize_t taken)
{
    if (taken > 0)
        announce(fd, (uint64_t)taken);
    return taken;
}

static uint64_t bytes_of(const struct iovec *parts, size_t count)
{
    uint64_t bytes = 0;
    for (size_t n = 0; n < count; n++)
        bytes += parts[n].iov_len;
    return bytes;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
    struct announcement announced = announce(fd, size);
    return settle(announced, REAL(write)(fd, bytes, size));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int number)
{
    if (!reporting() || number < 0)
        return REAL(writev)(fd, parts, number);
    struct announcement announced = announce(fd, bytes_of(parts, (size_t)number));
    return settle(announced, REAL(writev)(fd, parts, number));
}

EXPORT ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    struct announcement announced = announce(fd, size);
    return settle(announced, REAL(send)(fd, bytes, size, flags));
}

EXPORT ssize_t sendto(int fd, const void *bytes, size_t size, int flags, __CONST_SOCKADDR_ARG address,
                      socklen_t address_size)
{
    struct announcement announced = announce(fd, size);
    return settle(announced, REAL(sendto)(fd, bytes, size, flags, address, address_size));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!reporting())
        return REAL(sendmsg)(fd, message, flags);
    struct announcement announced = announce(fd, bytes_of(message->msg_iov, message->msg_iovlen));
    return settle(announced, REAL(sendmsg)(fd, message, flags));
}

static ssize_t bytes_sent(const struct mmsghdr *messages, int number)
{
    ssize_t bytes = 0;
    for (int n = 0; n < number; n++)
        bytes += messages[n].msg_len;
    return bytes;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned number, int flags)
{
    if (!reporting())
        return REAL(sendmmsg)(fd, messages, number, flags);
    uint64_t bytes = 0;
    for (unsigned n = 0; n < number; n++)
        bytes += bytes_of(messages[n].msg_hdr.msg_iov, messages[n].msg_hdr.msg_iovlen);
    struct announcement announced = announce(fd, bytes);
    int sent = REAL(sendmmsg)(fd, messages, number, flags);
    settle(announced, bytes_sent(messages, sent));
    return sent;
}

EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t size)
{
    return count(fd, REAL(sendfile)(fd, from, offset, size));
}

EXPORT ssize_t sendfile64(int fd, int from, off64_t *offset, size_t size)
{
    return count(fd, REAL(sendfile64)(fd, from, offset, size));
}

EXPORT ssize_t splice(int from, off64_t *from_offset, int fd, off64_t *offset, size_t size, unsigned flags)
{
    return count(fd, REAL(splice)(from, from_offset, fd, offset, size, flags));
}
