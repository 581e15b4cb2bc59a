/* Time-outs of locks, conditions, semaphores, threads, signals and message queues. */
#include "common.h"
#include "real.h"
#include "virtual.h"

#include <stdatomic.h>

/* A bit of a condition's state identifies its clock (GNU libc since 2.25). */
static clockid_t clock_of_condition(pthread_cond_t *condition)
{
    unsigned state = __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED);
    return state & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                  const struct timespec *restrict at)
{
    struct timespec room;
    at = real_moment(clock_of_condition(condition), at, &room);
    return REAL(pthread_cond_timedwait)(condition, mutex, at);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                                  const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(pthread_cond_clockwait)(condition, mutex, clock, real_moment(clock, at, &room));
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(pthread_mutex_timedlock)(mutex, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(pthread_mutex_clocklock)(mutex, clock, real_moment(clock, at, &room));
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(pthread_rwlock_timedrdlock)(lock, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(pthread_rwlock_timedwrlock)(lock, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict lock, clockid_t clock,
                                      const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(pthread_rwlock_clockrdlock)(lock, clock, real_moment(clock, at, &room));
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict lock, clockid_t clock,
                                      const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(pthread_rwlock_clockwrlock)(lock, clock, real_moment(clock, at, &room));
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *at)
{
    struct timespec room;
    return REAL(pthread_timedjoin_np)(thread, result, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *at)
{
    struct timespec room;
    return REAL(pthread_clockjoin_np)(thread, result, clock, real_moment(clock, at, &room));
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(sem_timedwait)(semaphore, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(sem_clockwait)(semaphore, clock, real_moment(clock, at, &room));
}

EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(cnd_timedwait)(condition, mutex, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(mtx_timedlock)(mutex, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout)
{
    struct timespec room;
    return REAL(sigtimedwait)(set, info, real_span(timeout, &room));
}

EXPORT int semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *timeout)
{
    struct timespec room;
    return REAL(semtimedop)(set, operations, count, real_span(timeout, &room));
}

EXPORT int mq_timedsend(mqd_t queue, const char *message, size_t size, unsigned priority, const struct timespec *at)
{
    struct timespec room;
    return REAL(mq_timedsend)(queue, message, size, priority, real_moment(CLOCK_REALTIME, at, &room));
}

EXPORT ssize_t mq_timedreceive(mqd_t queue, char *restrict message, size_t size, unsigned *restrict priority,
                               const struct timespec *restrict at)
{
    struct timespec room;
    return REAL(mq_timedreceive)(queue, message, size, priority, real_moment(CLOCK_REALTIME, at, &room));
}
