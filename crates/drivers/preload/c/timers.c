/* Timers of the kernel: file descriptors, interval timers, POSIX timers. */
#include "common.h"
#include "real.h"
#include "virtual.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Zero disarms a timer. A moment that has passed must not become zero. */
static void real_expiry(clockid_t clock, bool absolute, struct itimerspec *timer)
{
    bool armed = timer->it_value.tv_sec != 0 || timer->it_value.tv_nsec != 0;
    struct timespec room;
    if (absolute && armed)
        timer->it_value = *real_moment(clock, &timer->it_value, &room);
    else
        stretch_timespec(&timer->it_value);
    if (armed && timer->it_value.tv_sec == 0 && timer->it_value.tv_nsec == 0)
        timer->it_value.tv_nsec = 1;
    stretch_timespec(&timer->it_interval);
}

static void virtual_rest(struct itimerspec *timer)
{
    shrink_timespec(&timer->it_value);
    shrink_timespec(&timer->it_interval);
}

/* The kernel names the clock of a timer's descriptor in /proc. */
#define CLOCK_LABEL "clockid: "

static clockid_t clock_of_descriptor(int fd)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    int info = open(path, O_RDONLY | O_CLOEXEC);
    if (info < 0)
        return CLOCK_MONOTONIC;
    ssize_t length = read(info, text, sizeof text - 1);
    REAL(close)(info);
    text[length < 0 ? 0 : length] = '\0';
    const char *label = strstr(text, CLOCK_LABEL);
    return label == NULL ? CLOCK_MONOTONIC : atoi(label + strlen(CLOCK_LABEL));
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *timer, struct itimerspec *old)
{
    if (timer == NULL || !dilated())
        return REAL(timerfd_settime)(fd, flags, timer, old);
    struct itimerspec real = *timer;
    bool absolute = flags & TFD_TIMER_ABSTIME;
    real_expiry(absolute ? clock_of_descriptor(fd) : CLOCK_MONOTONIC, absolute, &real);
    int result = REAL(timerfd_settime)(fd, flags, &real, old);
    if (result == 0 && old != NULL)
        virtual_rest(old);
    return result;
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *timer)
{
    int result = REAL(timerfd_gettime)(fd, timer);
    if (result == 0)
        virtual_rest(timer);
    return result;
}

/* The two other interval timers count processor time, which stays real. */
EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict timer, struct itimerval *restrict old)
{
    if (which != ITIMER_REAL || timer == NULL)
        return REAL(setitimer)(which, timer, old);
    struct itimerval real = *timer;
    stretch_timeval(&real.it_value);
    stretch_timeval(&real.it_interval);
    int result = REAL(setitimer)(which, &real, old);
    if (result == 0 && old != NULL) {
        shrink_timeval(&old->it_value);
        shrink_timeval(&old->it_interval);
    }
    return result;
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *timer)
{
    int result = REAL(getitimer)(which, timer);
    if (result == 0 && which == ITIMER_REAL) {
        shrink_timeval(&timer->it_value);
        shrink_timeval(&timer->it_interval);
    }
    return result;
}

/* The remaining time is rounded as in the C library, but that of an armed timer is never 0 s. */
EXPORT unsigned alarm(unsigned seconds)
{
    struct itimerval timer = {.it_value = {seconds, 0}}, old;
    if (setitimer(ITIMER_REAL, &timer, &old) != 0)
        return 0;
    bool up = old.it_value.tv_usec >= 500000 || (old.it_value.tv_sec == 0 && old.it_value.tv_usec > 0);
    return (unsigned)old.it_value.tv_sec + up;
}

EXPORT useconds_t ualarm(useconds_t us, useconds_t interval)
{
    struct itimerval timer = {{0, interval}, {0, us}}, old;
    if (setitimer(ITIMER_REAL, &timer, &old) != 0)
        return (useconds_t)-1;
    return (useconds_t)(old.it_value.tv_sec * 1000000 + old.it_value.tv_usec);
}

/* Clocks of the POSIX timers of this process, which cannot be read from the kernel. An entry is free (0), taken, or has
 * the timer's name plus `NAME`. Names are small numbers or addresses. */
#define TIMERS 1024
enum { FREE, TAKEN, NAME };
static _Atomic uintptr_t timer_names[TIMERS];
static clockid_t timer_clocks[TIMERS];

static int find_timer(uintptr_t wanted)
{
    for (int at = 0; at < TIMERS; at++)
        if (atomic_load_explicit(&timer_names[at], memory_order_acquire) == wanted)
            return at;
    return -1;
}

static int take_entry(void)
{
    for (int at = 0; at < TIMERS; at++) {
        uintptr_t free_entry = FREE;
        if (atomic_compare_exchange_strong(&timer_names[at], &free_entry, TAKEN))
            return at;
    }
    return -1;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
    int at = take_entry();
    if (at < 0) {
        errno = EAGAIN;
        return -1;
    }
    int result = REAL(timer_create)(clock, event, timer);
    timer_clocks[at] = clock;
    uintptr_t name = result == 0 ? (uintptr_t)*timer + NAME : FREE;
    atomic_store_explicit(&timer_names[at], name, memory_order_release);
    return result;
}

EXPORT int timer_delete(timer_t timer)
{
    int at = find_timer((uintptr_t)timer + NAME);
    if (at >= 0)
        atomic_store_explicit(&timer_names[at], FREE, memory_order_release);
    return REAL(timer_delete)(timer);
}

static clockid_t clock_of_timer(timer_t timer)
{
    int at = find_timer((uintptr_t)timer + NAME);
    return at < 0 ? CLOCK_REALTIME : timer_clocks[at];
}

EXPORT int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict value,
                         struct itimerspec *restrict old)
{
    clockid_t clock = clock_of_timer(timer);
    if (!dilated_clock(clock))
        return REAL(timer_settime)(timer, flags, value, old);
    struct itimerspec real = *value;
    real_expiry(clock, flags & TIMER_ABSTIME, &real);
    int result = REAL(timer_settime)(timer, flags, &real, old);
    if (result == 0 && old != NULL)
        virtual_rest(old);
    return result;
}

EXPORT int timer_gettime(timer_t timer, struct itimerspec *value)
{
    int result = REAL(timer_gettime)(timer, value);
    if (result == 0 && dilated_clock(clock_of_timer(timer)))
        virtual_rest(value);
    return result;
}
