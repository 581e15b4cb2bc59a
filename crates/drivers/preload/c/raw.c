/* System calls by number: syscall(3). Runtimes wait on futexes in this way, since the C library has no function. */
#include "common.h"
#include "descriptors.h"
#include "real.h"
#include "virtual.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

#define ARGUMENTS 6

static long call(long number, const long *a)
{
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Makes the call with another time at one place. */
static long call_at(long number, long *a, int place, const struct timespec *time)
{
    a[place] = (long)time;
    return call(number, a);
}

static long with_span(long number, long *a, int place)
{
    struct timespec room;
    return call_at(number, a, place, real_span((const struct timespec *)a[place], &room));
}

static long with_moment(long number, long *a, int place, clockid_t clock)
{
    struct timespec room;
    return call_at(number, a, place, real_moment(clock, (const struct timespec *)a[place], &room));
}

/* The kernel writes the remaining time-out back. */
static long with_rest(long number, long *a, int place)
{
    struct timespec *timeout = (struct timespec *)a[place];
    if (timeout == NULL)
        return call(number, a);
    struct timespec rest = *timeout;
    stretch_timespec(&rest);
    long result = call_at(number, a, place, &rest);
    shrink_timespec(&rest);
    *timeout = rest;
    return result;
}

static long with_milliseconds(long number, long *a, int place)
{
    wide real = stretch((int)a[place]);
    a[place] = real > INT_MAX ? INT_MAX : (long)real;
    return call(number, a);
}

/* FUTEX_WAIT has a span, and the operations below have a moment. All others have no time-out. */
static long with_futex(long *a)
{
    int operation = (int)a[1] & FUTEX_CMD_MASK;
    bool real_clock = (int)a[1] & FUTEX_CLOCK_REALTIME;
    switch (operation) {
    case FUTEX_WAIT:
        return with_span(SYS_futex, a, 3);
    case FUTEX_LOCK_PI:
        return with_moment(SYS_futex, a, 3, CLOCK_REALTIME);
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI2:
        return with_moment(SYS_futex, a, 3, real_clock ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    default:
        return call(SYS_futex, a);
    }
}

/* The function returns its error, the system call sets `errno`. */
static long with_clock_nanosleep(const long *a)
{
    int error = clock_nanosleep((clockid_t)a[0], (int)a[1], (const struct timespec *)a[2], (struct timespec *)a[3]);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

static long with_close(long *a)
{
    descriptor_ends((int)a[0]);
    return call(SYS_close, a);
}

static long dispatch(long number, long *a)
{
    switch (number) {
    case SYS_clock_gettime:
        return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
    case SYS_gettimeofday:
        return gettimeofday((struct timeval *)a[0], (void *)a[1]);
    case SYS_nanosleep:
        return nanosleep((const struct timespec *)a[0], (struct timespec *)a[1]);
    case SYS_clock_nanosleep:
        return with_clock_nanosleep(a);
    case SYS_futex:
        return with_futex(a);
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
        return with_moment(number, a, 3, (clockid_t)a[4]);
#endif
#ifdef SYS_time
    case SYS_time:
        return time((time_t *)a[0]);
#endif
#ifdef SYS_poll
    case SYS_poll:
        return with_milliseconds(number, a, 2);
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
        return with_milliseconds(number, a, 3);
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
        return with_span(number, a, 3);
#endif
    case SYS_ppoll:
        return with_rest(number, a, 2);
    case SYS_pselect6:
        return with_rest(number, a, 4);
    case SYS_rt_sigtimedwait:
        return with_span(number, a, 2);
    case SYS_timerfd_settime:
        return timerfd_settime((int)a[0], (int)a[1], (const struct itimerspec *)a[2], (struct itimerspec *)a[3]);
    case SYS_timerfd_gettime:
        return timerfd_gettime((int)a[0], (struct itimerspec *)a[1]);
    case SYS_close:
        return with_close(a);
    default:
        return call(number, a);
    }
}

/* Always reads six arguments, as the C library's function does. */
EXPORT long syscall(long number, ...)
{
    long a[ARGUMENTS];
    va_list arguments;
    va_start(arguments, number);
    for (int n = 0; n < ARGUMENTS; n++)
        a[n] = va_arg(arguments, long);
    va_end(arguments);
    return dispatch(number, a);
}
