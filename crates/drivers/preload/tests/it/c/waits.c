/* Waits for 20 ms in each way, each in a process of its own, at the same time. Prints for each way its name, the
 * nanoseconds that the clock showed, the nanoseconds that really passed, and whether the call returned as it does
 * after a time-out. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define SPAN_NS 20000000
#define SPAN_MS 20

static const struct timespec span = {0, SPAN_NS};
static const struct timeval short_span = {0, SPAN_NS / 1000};

/* The moment when the wait ends. */
static struct timespec end_on(clockid_t clock)
{
    int64_t end = shown_ns(clock) + SPAN_NS;
    return (struct timespec){end / 1000000000, end % 1000000000};
}

static bool timed_out(int result)
{
    return result == -1 && (errno == ETIMEDOUT || errno == EAGAIN);
}

static bool by_nanosleep(void) { return nanosleep(&span, NULL) == 0; }
static bool by_clock_nanosleep(void) { return clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL) == 0; }
static bool by_usleep(void) { return usleep(SPAN_NS / 1000) == 0; }
static bool by_thrd_sleep(void) { return thrd_sleep(&span, NULL) == 0; }

static bool until_realtime(void)
{
    struct timespec end = end_on(CLOCK_REALTIME);
    return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL) == 0;
}

static bool until_monotonic(void)
{
    struct timespec end = end_on(CLOCK_MONOTONIC);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == 0;
}

static bool by_poll(void) { return poll(NULL, 0, SPAN_MS) == 0; }
static bool by_ppoll(void) { return ppoll(NULL, 0, &span, NULL) == 0; }
static bool by_pselect(void) { return pselect(0, NULL, NULL, NULL, &span, NULL) == 0; }

static bool by_select(void)
{
    struct timeval rest = short_span;
    return select(0, NULL, NULL, NULL, &rest) == 0 && rest.tv_sec == 0 && rest.tv_usec == 0;
}

static bool by_epoll_wait(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, SPAN_MS) == 0;
}

static bool by_epoll_pwait(void)
{
    struct epoll_event event;
    return epoll_pwait(epoll_create1(0), &event, 1, SPAN_MS, NULL) == 0;
}

static bool by_epoll_pwait2(void)
{
    struct epoll_event event;
    return epoll_pwait2(epoll_create1(0), &event, 1, &span, NULL) == 0;
}

static bool by_timerfd(clockid_t clock, int flags, struct timespec end)
{
    uint64_t times = 0;
    int fd = timerfd_create(clock, 0);
    struct itimerspec timer = {.it_value = end};
    return timerfd_settime(fd, flags, &timer, NULL) == 0 && read(fd, &times, sizeof times) == 8 && times == 1;
}

static bool by_timerfd_span(void) { return by_timerfd(CLOCK_MONOTONIC, 0, span); }
static bool by_timerfd_moment(void) { return by_timerfd(CLOCK_REALTIME, TFD_TIMER_ABSTIME, end_on(CLOCK_REALTIME)); }

/* Waits for a signal, which is blocked before the timer starts. */
static void block(sigset_t *signals, int signal)
{
    sigemptyset(signals);
    sigaddset(signals, signal);
    sigprocmask(SIG_BLOCK, signals, NULL);
}

static bool by_setitimer(void)
{
    sigset_t signals;
    int got;
    block(&signals, SIGALRM);
    struct itimerval timer = {.it_value = short_span};
    return setitimer(ITIMER_REAL, &timer, NULL) == 0 && sigwait(&signals, &got) == 0;
}

static bool by_ualarm(void)
{
    sigset_t signals;
    int got;
    block(&signals, SIGALRM);
    ualarm(SPAN_NS / 1000, 0);
    return sigwait(&signals, &got) == 0;
}

static bool by_timer(clockid_t clock, int flags, struct timespec end)
{
    sigset_t signals;
    int got;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec value = {.it_value = end};
    block(&signals, SIGUSR1);
    bool done = timer_create(clock, &event, &timer) == 0 && timer_settime(timer, flags, &value, NULL) == 0
                && sigwait(&signals, &got) == 0;
    return timer_delete(timer) == 0 && done;
}

static bool by_timer_span(void) { return by_timer(CLOCK_REALTIME, 0, span); }
static bool by_timer_moment(void) { return by_timer(CLOCK_MONOTONIC, TIMER_ABSTIME, end_on(CLOCK_MONOTONIC)); }

static bool by_condition(clockid_t clock, bool named)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    pthread_condattr_t attributes;
    struct timespec end = end_on(clock);
    pthread_condattr_init(&attributes);
    if (!named)
        pthread_condattr_setclock(&attributes, clock);
    pthread_cond_init(&condition, &attributes);
    pthread_mutex_lock(&mutex);
    return ETIMEDOUT == (named ? pthread_cond_clockwait(&condition, &mutex, clock, &end)
                               : pthread_cond_timedwait(&condition, &mutex, &end));
}

static bool by_realtime_condition(void) { return by_condition(CLOCK_REALTIME, false); }
static bool by_monotonic_condition(void) { return by_condition(CLOCK_MONOTONIC, false); }
static bool by_cond_clockwait(void) { return by_condition(CLOCK_MONOTONIC, true); }

static bool by_mutex_timedlock(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec end = end_on(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    return pthread_mutex_timedlock(&mutex, &end) == ETIMEDOUT;
}

static bool by_mutex_clocklock(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec end = end_on(CLOCK_MONOTONIC);
    pthread_mutex_lock(&mutex);
    return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end) == ETIMEDOUT;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *hold_rwlock(void *unused)
{
    pthread_rwlock_wrlock(&rwlock);
    return unused;
}

static void hold_rwlock_elsewhere(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, hold_rwlock, NULL);
    pthread_join(thread, NULL);
}

static bool by_rwlock_timedrdlock(void)
{
    hold_rwlock_elsewhere();
    struct timespec end = end_on(CLOCK_REALTIME);
    return pthread_rwlock_timedrdlock(&rwlock, &end) == ETIMEDOUT;
}

static bool by_rwlock_timedwrlock(void)
{
    hold_rwlock_elsewhere();
    struct timespec end = end_on(CLOCK_REALTIME);
    return pthread_rwlock_timedwrlock(&rwlock, &end) == ETIMEDOUT;
}

static bool by_rwlock_clockrdlock(void)
{
    hold_rwlock_elsewhere();
    struct timespec end = end_on(CLOCK_MONOTONIC);
    return pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &end) == ETIMEDOUT;
}

static bool by_rwlock_clockwrlock(void)
{
    hold_rwlock_elsewhere();
    struct timespec end = end_on(CLOCK_MONOTONIC);
    return pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &end) == ETIMEDOUT;
}

static void *wait_for_ever(void *unused)
{
    pause();
    return unused;
}

static bool by_timedjoin(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    struct timespec end = end_on(CLOCK_REALTIME);
    return pthread_timedjoin_np(thread, NULL, &end) == ETIMEDOUT;
}

static bool by_clockjoin(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    struct timespec end = end_on(CLOCK_MONOTONIC);
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end) == ETIMEDOUT;
}

static bool by_sem_timedwait(void)
{
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    struct timespec end = end_on(CLOCK_REALTIME);
    return timed_out(sem_timedwait(&semaphore, &end));
}

static bool by_sem_clockwait(void)
{
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    struct timespec end = end_on(CLOCK_MONOTONIC);
    return timed_out(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &end));
}

static bool by_cnd_timedwait(void)
{
    cnd_t condition;
    mtx_t mutex;
    cnd_init(&condition);
    mtx_init(&mutex, mtx_plain);
    mtx_lock(&mutex);
    struct timespec end;
    timespec_get(&end, TIME_UTC);
    end = end_on(CLOCK_REALTIME);
    return cnd_timedwait(&condition, &mutex, &end) == thrd_timedout;
}

static bool by_mtx_timedlock(void)
{
    mtx_t mutex;
    mtx_init(&mutex, mtx_timed);
    mtx_lock(&mutex);
    struct timespec end = end_on(CLOCK_REALTIME);
    return mtx_timedlock(&mutex, &end) == thrd_timedout;
}

static bool by_sigtimedwait(void)
{
    sigset_t signals;
    block(&signals, SIGUSR2);
    return timed_out(sigtimedwait(&signals, NULL, &span));
}

static bool by_semtimedop(void)
{
    struct sembuf take = {0, -1, 0};
    int set = semget(IPC_PRIVATE, 1, 0600);
    bool done = timed_out(semtimedop(set, &take, 1, &span));
    semctl(set, 0, IPC_RMID);
    return done;
}

static bool by_mq_timedreceive(void)
{
    char name[64], message[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof message};
    snprintf(name, sizeof name, "/slotline-test-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
    struct timespec end = end_on(CLOCK_REALTIME);
    bool done = timed_out((int)mq_timedreceive(queue, message, sizeof message, NULL, &end));
    mq_unlink(name);
    return done;
}

static bool by_receive_timeout(void)
{
    char byte;
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &short_span, sizeof short_span);
    return timed_out((int)recv(pair[0], &byte, 1, 0));
}

static bool by_futex_wait(void)
{
    unsigned word = 0;
    return timed_out((int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0));
}

static bool by_futex_wait_bitset(void)
{
    unsigned word = 0;
    struct timespec end = end_on(CLOCK_MONOTONIC);
    return timed_out((int)syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &end, NULL, ~0u));
}

static bool by_number_of_nanosleep(void) { return syscall(SYS_nanosleep, &span, NULL) == 0; }
static bool by_number_of_clock_nanosleep(void) { return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &span, NULL) == 0; }

static bool by_number_of_epoll_pwait(void)
{
    struct epoll_event event;
    return syscall(SYS_epoll_pwait, epoll_create1(0), &event, 1, SPAN_MS, NULL, 8) == 0;
}

static bool by_number_of_ppoll(void)
{
    struct timespec rest = span;
    return syscall(SYS_ppoll, NULL, 0, &rest, NULL, 8) == 0 && rest.tv_nsec == 0;
}

#define WAY(name) {#name, name}
static const struct way {
    const char *name;
    bool (*wait)(void);
} ways[] = {
    WAY(by_nanosleep), WAY(by_clock_nanosleep), WAY(by_usleep), WAY(by_thrd_sleep), WAY(until_realtime),
    WAY(until_monotonic), WAY(by_poll), WAY(by_ppoll), WAY(by_pselect), WAY(by_select), WAY(by_epoll_wait),
    WAY(by_epoll_pwait), WAY(by_epoll_pwait2), WAY(by_timerfd_span), WAY(by_timerfd_moment), WAY(by_setitimer),
    WAY(by_ualarm), WAY(by_timer_span), WAY(by_timer_moment), WAY(by_realtime_condition), WAY(by_monotonic_condition),
    WAY(by_cond_clockwait), WAY(by_mutex_timedlock), WAY(by_mutex_clocklock), WAY(by_rwlock_timedrdlock),
    WAY(by_rwlock_timedwrlock), WAY(by_rwlock_clockrdlock), WAY(by_rwlock_clockwrlock), WAY(by_timedjoin),
    WAY(by_clockjoin), WAY(by_sem_timedwait), WAY(by_sem_clockwait), WAY(by_cnd_timedwait), WAY(by_mtx_timedlock),
    WAY(by_sigtimedwait), WAY(by_semtimedop), WAY(by_mq_timedreceive), WAY(by_receive_timeout), WAY(by_futex_wait),
    WAY(by_futex_wait_bitset), WAY(by_number_of_nanosleep), WAY(by_number_of_clock_nanosleep),
    WAY(by_number_of_epoll_pwait), WAY(by_number_of_ppoll),
};
#define WAYS (sizeof ways / sizeof *ways)

/* Killed with the program, so that it does not wait for years if a moment is not translated. */
static void measure(const struct way *way)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int64_t shown = shown_ns(CLOCK_MONOTONIC), real = real_ns();
    bool ended = way->wait();
    shown = shown_ns(CLOCK_MONOTONIC) - shown, real = real_ns() - real;
    char line[128];
    int length = snprintf(line, sizeof line, "%s %ld %ld %s\n", way->name, shown, real, ended ? "ended" : strerror(errno));
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(1);
    _exit(0);
}

int main(void)
{
    for (size_t n = 0; n < WAYS; n++)
        if (fork() == 0)
            measure(&ways[n]);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
