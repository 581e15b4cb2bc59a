/* Sleeping for a span, or until a moment. */
#include "common.h"
#include "real.h"
#include "virtual.h"

#include <errno.h>

EXPORT int nanosleep(const struct timespec *span, struct timespec *rest)
{
    struct timespec room;
    int result = REAL(nanosleep)(real_span(span, &room), rest);
    if (result != 0 && errno == EINTR && rest != NULL)
        shrink_timespec(rest);
    return result;
}

/* Returns an error, as the original does, instead of setting `errno`. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span, struct timespec *rest)
{
    if (!dilated_clock(clock))
        return REAL(clock_nanosleep)(clock, flags, span, rest);
    struct timespec room;
    if (flags & TIMER_ABSTIME)
        return REAL(clock_nanosleep)(clock, flags, real_moment(clock, span, &room), rest);
    int error = REAL(clock_nanosleep)(clock, flags, real_span(span, &room), rest);
    if (error == EINTR && rest != NULL)
        shrink_timespec(rest);
    return error;
}

EXPORT int thrd_sleep(const struct timespec *span, struct timespec *rest)
{
    struct timespec room;
    int result = REAL(thrd_sleep)(real_span(span, &room), rest);
    if (result == -1 && rest != NULL)
        shrink_timespec(rest);
    return result;
}

EXPORT int usleep(useconds_t us)
{
    struct timespec span = {us / 1000000, us % 1000000 * 1000};
    return nanosleep(&span, NULL);
}

EXPORT unsigned sleep(unsigned seconds)
{
    struct timespec span = {seconds, 0};
    return nanosleep(&span, &span) == 0 ? 0 : (unsigned)span.tv_sec;
}
