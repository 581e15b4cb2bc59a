/* The file of virtual time, and its arithmetic. */
#include "virtual.h"

#include "common.h"

#include <stdatomic.h>
#include <string.h>

#define VARIABLE "SLOTLINE_TIME"
#define VERSION 1

/* A moment of a clock, in both times, in nanoseconds. */
struct origin {
    int64_t real;
    int64_t virtual;
};

enum { REALTIME, MONOTONIC, NO_ORIGIN };

struct time_file {
    char magic[8];
    uint64_t version;
    uint64_t numerator;
    uint64_t denominator;
    struct origin origin[2];
};

static const struct time_file real_time = {.numerator = 1, .denominator = 1};
static _Atomic(const struct time_file *) current;

static const struct time_file *read_file(void)
{
    size_t size;
    const struct time_file *file = map_named_file(VARIABLE, false, &size);
    if (file == NULL)
        return &real_time;
    if (size < sizeof *file || memcmp(file->magic, "SLOTTIME", 8) != 0 || file->version != VERSION)
        refuse(VARIABLE, "names a file that does not describe virtual time");
    if (file->denominator == 0 || file->numerator < file->denominator || file->numerator > UINT32_MAX)
        refuse(VARIABLE, "names a file with a wrong dilation");
    return file;
}

/* Threads that do this at the same time each map the file: a lock would block in signal handlers. */
static const struct time_file *time_file(void)
{
    const struct time_file *file = atomic_load_explicit(&current, memory_order_acquire);
    if (file == NULL) {
        file = read_file();
        atomic_store_explicit(&current, file, memory_order_release);
    }
    return file;
}

__attribute__((constructor)) static void read_early(void)
{
    time_file();
}

bool dilated(void)
{
    return time_file() != &real_time;
}

static int origin_of(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
        return REALTIME;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
        return MONOTONIC;
    default:
        return NO_ORIGIN;
    }
}

bool dilated_clock(clockid_t clock)
{
    return dilated() && origin_of(clock) != NO_ORIGIN;
}

static wide floor_division(wide value, wide by)
{
    return value >= 0 ? value / by : -((-value + by - 1) / by);
}

static wide ceiling_division(wide value, wide by)
{
    return -floor_division(-value, by);
}

wide stretch(wide span)
{
    const struct time_file *file = time_file();
    return span <= 0 ? span : ceiling_division(span * (wide)file->numerator, (wide)file->denominator);
}

wide shrink(wide span)
{
    const struct time_file *file = time_file();
    return span <= 0 ? span : ceiling_division(span * (wide)file->denominator, (wide)file->numerator);
}

uint64_t slower(uint64_t rate)
{
    const struct time_file *file = time_file();
    wide slow = (wide)rate * (wide)file->denominator / (wide)file->numerator;
    return rate > 0 && slow == 0 ? 1 : (uint64_t)slow;
}

uint64_t faster(uint64_t rate)
{
    const struct time_file *file = time_file();
    wide fast = ceiling_division((wide)rate * (wide)file->numerator, (wide)file->denominator);
    return fast > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)fast;
}

static bool valid(const struct timespec *time)
{
    return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < NS_PER_S;
}

static wide to_ns(const struct timespec *time)
{
    return (wide)time->tv_sec * NS_PER_S + time->tv_nsec;
}

static struct timespec from_ns(wide ns)
{
    wide seconds = floor_division(ns, NS_PER_S);
    if (seconds > INT64_MAX)
        return (struct timespec){INT64_MAX, NS_PER_S - 1};
    return (struct timespec){(time_t)seconds, (long)(ns - seconds * NS_PER_S)};
}

/* A division of 64 bits is several times as fast, and suffices for 29 years since the origin. */
static wide virtual_elapsed(const struct time_file *file, wide elapsed)
{
    uint64_t product;
    if (elapsed >= 0 && elapsed <= INT64_MAX
        && !__builtin_mul_overflow((uint64_t)elapsed, file->denominator, &product))
        return (wide)(product / file->numerator);
    return floor_division(elapsed * (wide)file->denominator, (wide)file->numerator);
}

void make_virtual(clockid_t clock, struct timespec *moment)
{
    const struct time_file *file = time_file();
    int origin = origin_of(clock);
    if (file == &real_time || origin == NO_ORIGIN)
        return;
    wide elapsed = to_ns(moment) - file->origin[origin].real;
    *moment = from_ns(file->origin[origin].virtual + virtual_elapsed(file, elapsed));
}

/* A real moment before the clock's zero becomes zero: it has passed, and the kernel refuses negative moments. */
const struct timespec *real_moment(clockid_t clock, const struct timespec *moment, struct timespec *room)
{
    const struct time_file *file = time_file();
    int origin = origin_of(clock);
    if (moment == NULL || file == &real_time || origin == NO_ORIGIN || !valid(moment))
        return moment;
    wide elapsed = to_ns(moment) - file->origin[origin].virtual;
    wide real = ceiling_division(elapsed * (wide)file->numerator, (wide)file->denominator);
    real += file->origin[origin].real;
    *room = from_ns(real < 0 ? 0 : real);
    return room;
}

const struct timespec *real_span(const struct timespec *span, struct timespec *room)
{
    if (span == NULL || !dilated())
        return span;
    *room = *span;
    stretch_timespec(room);
    return room;
}

void stretch_timespec(struct timespec *span)
{
    if (dilated() && valid(span))
        *span = from_ns(stretch(to_ns(span)));
}

void shrink_timespec(struct timespec *span)
{
    if (dilated() && valid(span))
        *span = from_ns(shrink(to_ns(span)));
}

#define US_PER_S 1000000

static void set_timeval(struct timeval *time, wide us)
{
    wide seconds = us / US_PER_S;
    *time = seconds > INT64_MAX ? (struct timeval){INT64_MAX, US_PER_S - 1}
                                : (struct timeval){(time_t)seconds, (suseconds_t)(us % US_PER_S)};
}

void stretch_timeval(struct timeval *span)
{
    if (dilated() && span->tv_sec >= 0 && span->tv_usec >= 0)
        set_timeval(span, stretch((wide)span->tv_sec * US_PER_S + span->tv_usec));
}

void shrink_timeval(struct timeval *span)
{
    if (dilated() && span->tv_sec >= 0 && span->tv_usec >= 0)
        set_timeval(span, shrink((wide)span->tv_sec * US_PER_S + span->tv_usec));
}
