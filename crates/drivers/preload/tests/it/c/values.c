/* Times and rates of the kernel, and those that a program sees. Prints the name, the value that the program set or
 * saw, and the kernel's value in the same unit. */
#define _GNU_SOURCE
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void say(const char *name, long long seen, long long real)
{
    printf("%s %lld %lld\n", name, seen, real);
}

/* Sets an option. Prints the value that the program gets back, and that of the kernel. */
static void integer_option(int fd, const char *text, int level, int name, int value)
{
    int seen = 0, real = 0;
    socklen_t size = sizeof seen;
    setsockopt(fd, level, name, &value, sizeof value);
    getsockopt(fd, level, name, &seen, &size);
    BELOW(getsockopt)(fd, level, name, &real, &size);
    say(text, seen, real);
}

static void timeval_option(int fd, const char *text, int name)
{
    struct timeval value = {2, 500000}, seen, real;
    socklen_t size = sizeof seen;
    setsockopt(fd, SOL_SOCKET, name, &value, sizeof value);
    getsockopt(fd, SOL_SOCKET, name, &seen, &size);
    BELOW(getsockopt)(fd, SOL_SOCKET, name, &real, &size);
    say(text, seen.tv_sec * 1000000 + seen.tv_usec, real.tv_sec * 1000000 + real.tv_usec);
}

static void linger_option(int fd)
{
    struct linger value = {1, 3}, seen, real;
    socklen_t size = sizeof seen;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof value);
    getsockopt(fd, SOL_SOCKET, SO_LINGER, &seen, &size);
    BELOW(getsockopt)(fd, SOL_SOCKET, SO_LINGER, &real, &size);
    say("linger", seen.l_linger, real.l_linger);
}

/* The kernel's rate is lower, so the two values are printed in reverse order. */
static void pacing_option(int fd)
{
    uint64_t value = 2000000000, seen = 0, real = 0, unlimited = UINT64_MAX;
    socklen_t size = sizeof seen;
    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof value);
    getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &seen, &size);
    BELOW(getsockopt)(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &real, &size);
    say("pacing-rate", (long long)real, (long long)seen);
    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &unlimited, sizeof unlimited);
    BELOW(getsockopt)(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &real, &size);
    say("unlimited-pacing", 1, real == UINT64_MAX ? 1 : 0);
}

static void options(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    timeval_option(fd, "receive-timeout", SO_RCVTIMEO);
    timeval_option(fd, "send-timeout", SO_SNDTIMEO);
    linger_option(fd);
    integer_option(fd, "user-timeout", IPPROTO_TCP, TCP_USER_TIMEOUT, 7000);
    integer_option(fd, "keep-alive-idle", IPPROTO_TCP, TCP_KEEPIDLE, 60);
    integer_option(fd, "keep-alive-interval", IPPROTO_TCP, TCP_KEEPINTVL, 10);
    integer_option(fd, "keep-alive-count", IPPROTO_TCP, TCP_KEEPCNT, 5);
    pacing_option(fd);
    close(fd);
}

/* A connection over the loopback interface, so that the kernel has measured a round trip. */
static int connection(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1)
        || getsockname(listener, (struct sockaddr *)&address, &size) || connect(fd, (struct sockaddr *)&address, size))
        exit(3);
    return fd;
}

static void tcp_info(void)
{
    struct tcp_info seen = {0}, real = {0};
    int fd = connection();
    socklen_t size = sizeof seen, real_size = sizeof real;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &seen, &size);
    BELOW(getsockopt)(fd, IPPROTO_TCP, TCP_INFO, &real, &real_size);
    say("retransmission-timeout", seen.tcpi_rto, real.tcpi_rto);
    say("segment-size", seen.tcpi_snd_mss, real.tcpi_snd_mss);
    say("pacing-rate-of-connection", (long long)real.tcpi_pacing_rate, (long long)seen.tcpi_pacing_rate);
}

static void timers(void)
{
    struct itimerval seen, real;
    alarm(100);
    getitimer(ITIMER_REAL, &seen);
    BELOW(getitimer)(ITIMER_REAL, &real);
    say("alarm", seen.it_value.tv_sec * 1000000 + seen.it_value.tv_usec,
        real.it_value.tv_sec * 1000000 + real.it_value.tv_usec);
    say("alarm-left", alarm(0), 100);
    struct itimerspec timer = {{30, 0}, {100, 0}}, kernel;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(fd, 0, &timer, NULL);
    timerfd_gettime(fd, &timer);
    BELOW(timerfd_gettime)(fd, &kernel);
    say("timerfd", to_ns(timer.it_value), to_ns(kernel.it_value));
    say("timerfd-interval", to_ns(timer.it_interval), to_ns(kernel.it_interval));
    struct itimerspec disarm = {{0, 0}, {0, 0}};
    timerfd_settime(fd, 0, &disarm, &timer);
    say("timerfd-old", to_ns(timer.it_value), 20 * to_ns(timer.it_value));
    timerfd_gettime(fd, &timer);
    say("timerfd-disarmed", to_ns(timer.it_value), 0);
}

static void ignore(int signal) { (void)signal; }

/* The remaining time of an interrupted sleep and of a select that ended early, which is nearly all of it. */
static void rests(void)
{
    struct timespec rest = {0, 0}, minute = {60, 0};
    struct itimerval soon = {.it_value = {0, 1000}};
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    bool interrupted = nanosleep(&minute, &rest) == -1 && errno == EINTR;
    say("sleep-left", interrupted ? rest.tv_sec : -1, 59);
    int ends[2];
    fd_set in;
    FD_ZERO(&in);
    struct timeval timeout = {60, 0};
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1)
        exit(3);
    FD_SET(ends[0], &in);
    bool ready = select(ends[0] + 1, &in, NULL, NULL, &timeout) == 1;
    say("select-left", ready ? timeout.tv_sec : -1, 59);
}

/* The time at which a datagram arrived, in both forms, less the time when it was sent. */
static void arrival(int option, const char *name)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
    char byte = 0, control[256];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    setsockopt(fd, SOL_SOCKET, option, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, size) || getsockname(fd, (struct sockaddr *)&address, &size))
        exit(3);
    int64_t before = shown_ns(CLOCK_REALTIME);
    sendto(fd, &byte, 1, 0, (struct sockaddr *)&address, size);
    recvmsg(fd, &message, 0);
    int64_t after = shown_ns(CLOCK_REALTIME), arrived = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL; at = CMSG_NXTHDR(&message, at)) {
        struct timespec exact;
        memcpy(&exact, CMSG_DATA(at), sizeof exact);
        arrived = option == SO_TIMESTAMP ? exact.tv_sec * 1000000000 + exact.tv_nsec * 1000 : to_ns(exact);
    }
    /* Microseconds are rounded down. */
    say(name, arrived >= before - 1000 && arrived <= after, 1);
}

static void clocks(void)
{
    struct timespec by_number;
    struct timeval day;
    int64_t now = shown_ns(CLOCK_REALTIME);
    gettimeofday(&day, NULL);
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &by_number);
    time_t seconds = time(NULL);
    say("gettimeofday", day.tv_sec * 1000000 + day.tv_usec >= now / 1000, 1);
    say("clock-by-number", to_ns(by_number) >= now && to_ns(by_number) - now < 1000000000, 1);
    say("seconds", seconds == now / 1000000000 || seconds == now / 1000000000 + 1, 1);
    struct timespec seen, real;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &seen);
    BELOW(clock_gettime)(CLOCK_PROCESS_CPUTIME_ID, &real);
    say("processor-time", to_ns(real) >= to_ns(seen) && to_ns(real) - to_ns(seen) < 1000000000, 1);
}

int main(void)
{
    options();
    tcp_info();
    timers();
    rests();
    arrival(SO_TIMESTAMP, "arrival");
    arrival(SO_TIMESTAMPNS, "exact-arrival");
    clocks();
    return 0;
}
