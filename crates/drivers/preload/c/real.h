/* The C library's functions, below those of this library. */
#ifndef SLOTLINE_REAL_H
#define SLOTLINE_REAL_H

#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <fcntl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* These are not declared by every version of the C library that has them. */
int epoll_pwait2(int epoll, struct epoll_event *events, int limit, const struct timespec *timeout,
                 const sigset_t *mask);
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);

/* Functions whose originals are called. */
#define REAL_FUNCTIONS(X)                                                                                              \
    X(clock_gettime)                                                                                                   \
    X(gettimeofday)                                                                                                    \
    X(nanosleep)                                                                                                       \
    X(clock_nanosleep)                                                                                                 \
    X(poll)                                                                                                            \
    X(ppoll)                                                                                                           \
    X(select)                                                                                                          \
    X(pselect)                                                                                                         \
    X(epoll_wait)                                                                                                      \
    X(epoll_pwait)                                                                                                     \
    X(epoll_pwait2)                                                                                                    \
    X(timerfd_settime)                                                                                                 \
    X(timerfd_gettime)                                                                                                 \
    X(setitimer)                                                                                                       \
    X(getitimer)                                                                                                       \
    X(timer_create)                                                                                                    \
    X(timer_delete)                                                                                                    \
    X(timer_settime)                                                                                                   \
    X(timer_gettime)                                                                                                   \
    X(pthread_cond_timedwait)                                                                                          \
    X(pthread_cond_clockwait)                                                                                          \
    X(pthread_mutex_timedlock)                                                                                         \
    X(pthread_mutex_clocklock)                                                                                         \
    X(pthread_rwlock_timedrdlock)                                                                                      \
    X(pthread_rwlock_timedwrlock)                                                                                      \
    X(pthread_rwlock_clockrdlock)                                                                                      \
    X(pthread_rwlock_clockwrlock)                                                                                      \
    X(pthread_timedjoin_np)                                                                                            \
    X(pthread_clockjoin_np)                                                                                            \
    X(sem_timedwait)                                                                                                   \
    X(sem_clockwait)                                                                                                   \
    X(cnd_timedwait)                                                                                                   \
    X(mtx_timedlock)                                                                                                   \
    X(thrd_sleep)                                                                                                      \
    X(sigtimedwait)                                                                                                    \
    X(semtimedop)                                                                                                      \
    X(mq_timedsend)                                                                                                    \
    X(mq_timedreceive)                                                                                                 \
    X(setsockopt)                                                                                                      \
    X(getsockopt)                                                                                                      \
    X(recvmsg)                                                                                                         \
    X(recvmmsg)                                                                                                        \
    X(ioctl)                                                                                                           \
    X(syscall)                                                                                                         \
    X(write)                                                                                                           \
    X(writev)                                                                                                          \
    X(send)                                                                                                            \
    X(sendto)                                                                                                          \
    X(sendmsg)                                                                                                         \
    X(sendmmsg)                                                                                                        \
    X(sendfile)                                                                                                        \
    X(sendfile64)                                                                                                      \
    X(splice)                                                                                                          \
    X(socket)                                                                                                          \
    X(connect)                                                                                                         \
    X(accept)                                                                                                          \
    X(accept4)                                                                                                         \
    X(dup)                                                                                                             \
    X(dup2)                                                                                                            \
    X(dup3)                                                                                                            \
    X(close)                                                                                                           \
    X(close_range)                                                                                                     \
    X(closefrom)                                                                                                       \
    X(fclose)                                                                                                          \
    X(execve)                                                                                                          \
    X(execvpe)                                                                                                         \
    X(fexecve)                                                                                                         \
    X(posix_spawn)                                                                                                     \
    X(posix_spawnp)

#define REAL_FIELD(name) __typeof__(&name) name;
struct real_functions {
    REAL_FUNCTIONS(REAL_FIELD)
};
#undef REAL_FIELD

const struct real_functions *real_functions(void);

/* The C library's function of this name. */
#define REAL(name) (real_functions()->name)

#endif
