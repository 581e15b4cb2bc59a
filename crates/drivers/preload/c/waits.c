/* Waiting for files and sockets. */
#include "common.h"
#include "real.h"
#include "virtual.h"

#include <limits.h>
#include <stdlib.h>

int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t size);

/* Spans are waited for in nanoseconds, so that a long one does not overflow the milliseconds of poll(2). */
EXPORT int poll(struct pollfd *files, nfds_t count, int timeout)
{
    if (timeout <= 0 || !dilated())
        return REAL(poll)(files, count, timeout);
    struct timespec span = {timeout / 1000, timeout % 1000 * 1000000L};
    stretch_timespec(&span);
    return REAL(ppoll)(files, count, &span, NULL);
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    struct timespec room;
    return REAL(ppoll)(files, count, real_span(timeout, &room), mask);
}

/* Programs that were compiled with _FORTIFY_SOURCE call this function. */
EXPORT int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t size)
{
    if (size / sizeof *files < count)
        abort();
    return poll(files, count, timeout);
}

EXPORT int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                       size_t size)
{
    if (size / sizeof *files < count)
        abort();
    return ppoll(files, count, timeout, mask);
}

EXPORT int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
                  struct timeval *restrict timeout)
{
    if (timeout == NULL)
        return REAL(select)(count, in, out, other, NULL);
    struct timeval rest = *timeout;
    stretch_timeval(&rest);
    int result = REAL(select)(count, in, out, other, &rest);
    shrink_timeval(&rest);
    *timeout = rest;
    return result;
}

EXPORT int pselect(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
                   const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
    struct timespec room;
    return REAL(pselect)(count, in, out, other, real_span(timeout, &room), mask);
}

/* A wait of more than 24 real days ends after 24 days. */
static int real_milliseconds(int timeout)
{
    wide real = stretch(timeout);
    return real > INT_MAX ? INT_MAX : (int)real;
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int limit, int timeout)
{
    return REAL(epoll_wait)(epoll, events, limit, real_milliseconds(timeout));
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int limit, int timeout, const sigset_t *mask)
{
    return REAL(epoll_pwait)(epoll, events, limit, real_milliseconds(timeout), mask);
}

EXPORT int epoll_pwait2(int epoll, struct epoll_event *events, int limit, const struct timespec *timeout,
                        const sigset_t *mask)
{
    struct timespec room;
    return REAL(epoll_pwait2)(epoll, events, limit, real_span(timeout, &room), mask);
}
