/* Readings of clocks. */
#include "common.h"
#include "real.h"
#include "virtual.h"

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = REAL(clock_gettime)(clock, now);
    if (result == 0)
        make_virtual(clock, now);
    return result;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int result = REAL(gettimeofday)(now, zone);
    struct timeval *real = now;
    if (result != 0 || real == NULL)
        return result;
    struct timespec moment = {real->tv_sec, real->tv_usec * 1000};
    make_virtual(CLOCK_REALTIME, &moment);
    *real = (struct timeval){moment.tv_sec, moment.tv_nsec / 1000};
    return result;
}

EXPORT time_t time(time_t *now)
{
    struct timespec moment;
    clock_gettime(CLOCK_REALTIME, &moment);
    if (now != NULL)
        *now = moment.tv_sec;
    return moment.tv_sec;
}

EXPORT int timespec_get(struct timespec *now, int base)
{
    if (base != TIME_UTC)
        return 0;
    return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}
