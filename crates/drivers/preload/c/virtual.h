/* Virtual time: what a program in an emulated host sees (time dilation: Etalon, §3.3). */
#ifndef SLOTLINE_VIRTUAL_H
#define SLOTLINE_VIRTUAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/* Nanoseconds of any `struct timespec`, times a dilation of 32 bits, fit. */
typedef __int128 wide;

#define NS_PER_S 1000000000

/* Whether this process has virtual time. */
bool dilated(void);

/* Whether this clock is virtual here. Clocks of processor time are not. */
bool dilated_clock(clockid_t clock);

/* A real span for a virtual one, in the same unit, rounded up; and the other way. Both keep negative numbers. */
wide stretch(wide span);
wide shrink(wide span);

/* A real number of events per second for a virtual one, at least 1; and the other way. */
uint64_t slower(uint64_t rate);
uint64_t faster(uint64_t rate);

/* Replaces a real moment by the virtual one. */
void make_virtual(clockid_t clock, struct timespec *moment);

/* The real moment at which a virtual one is reached. Returns `moment` itself if nothing has to be changed, which
 * includes NULL and invalid values, and `room` otherwise. */
const struct timespec *real_moment(clockid_t clock, const struct timespec *moment, struct timespec *room);

/* The same for spans. */
const struct timespec *real_span(const struct timespec *span, struct timespec *room);

/* Replaces a virtual span by the real one, or a real one by the virtual one. Invalid values remain. */
void stretch_timespec(struct timespec *span);
void shrink_timespec(struct timespec *span);
void stretch_timeval(struct timeval *span);
void shrink_timeval(struct timeval *span);

#endif
