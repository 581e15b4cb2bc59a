/* The time that the library adds to a call, in nanoseconds: the median over blocks of calls, alternately with and
 * without it.
 * Nothing is sent, so that the kernel's part is small and constant. */
#define _GNU_SOURCE
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCKS 301
#define CALLS 1000

static int fd;
static char byte;

static int listener_and_connection(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1)
        || getsockname(listener, (struct sockaddr *)&address, &size)
        || connect(client, (struct sockaddr *)&address, size))
        exit(3);
    return client;
}

static int by_number(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static double median(double *values)
{
    qsort(values, BLOCKS, sizeof *values, by_number);
    return values[BLOCKS / 2];
}

/* The call is a macro, so that both kinds are called in the same way: by a pointer. */
#define COMPARE(name, ...)                                                                                             \
    static void compare_##name(void)                                                                                   \
    {                                                                                                                  \
        __typeof__(&name) kinds[2] = {BELOW(name), name};                                                              \
        static double spans[2][BLOCKS];                                                                                \
        for (int block = 0; block < BLOCKS; block++)                                                                   \
            for (int kind = 0; kind < 2; kind++) {                                                                     \
                int64_t begin = real_ns();                                                                             \
                for (int n = 0; n < CALLS; n++)                                                                        \
                    kinds[kind](__VA_ARGS__);                                                                          \
                spans[kind][block] = (double)(real_ns() - begin) / CALLS;                                              \
            }                                                                                                          \
        double without = median(spans[0]), with = median(spans[1]);                                                    \
        printf("%s %.1f %.1f\n", #name, without, with);                                                                \
    }

static struct timespec now;
static struct iovec part = {&byte, 0};
static struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

COMPARE(send, fd, &byte, 0, 0)
COMPARE(write, fd, &byte, 0)
COMPARE(writev, fd, &part, 1)
COMPARE(sendmsg, fd, &message, 0)
COMPARE(clock_gettime, CLOCK_MONOTONIC, &now)

int main(void)
{
    fd = listener_and_connection();
    compare_send();
    compare_write();
    compare_writev();
    compare_sendmsg();
    compare_clock_gettime();
    return 0;
}
