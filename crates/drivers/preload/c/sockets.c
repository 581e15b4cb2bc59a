/* Times and rates of sockets: options, TCP_INFO, and times of arrival. */
#include "common.h"
#include "real.h"
#include "virtual.h"

#include <limits.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

/* The kernel's limit for intervals of keep-alive packets, in seconds. */
#define LONGEST_KEEP_ALIVE 32767

enum kind { PLAIN, TIMEVAL, MILLISECONDS, SECONDS, KEEP_ALIVE, LINGER, BYTE_RATE };

static enum kind kind_at_socket_level(int name)
{
    switch (name) {
    case SO_RCVTIMEO_OLD:
    case SO_RCVTIMEO_NEW:
    case SO_SNDTIMEO_OLD:
    case SO_SNDTIMEO_NEW:
        return TIMEVAL;
    case SO_LINGER:
        return LINGER;
    case SO_MAX_PACING_RATE:
        return BYTE_RATE;
    default:
        return PLAIN;
    }
}

static enum kind kind_of_option(int level, int name)
{
    if (level == SOL_SOCKET)
        return kind_at_socket_level(name);
    if (level != IPPROTO_TCP)
        return PLAIN;
    switch (name) {
    case TCP_USER_TIMEOUT:
        return MILLISECONDS;
    case TCP_LINGER2:
    case TCP_DEFER_ACCEPT:
        return SECONDS;
    case TCP_KEEPIDLE:
    case TCP_KEEPINTVL:
        return KEEP_ALIVE;
    default:
        return PLAIN;
    }
}

union value {
    struct timeval time;
    struct linger linger;
    uint64_t rate;
    uint32_t short_rate;
    int number;
};

static size_t size_of_kind(enum kind kind, socklen_t size)
{
    switch (kind) {
    case TIMEVAL:
        return sizeof(struct timeval);
    case LINGER:
        return sizeof(struct linger);
    case BYTE_RATE:
        return size >= sizeof(uint64_t) ? sizeof(uint64_t) : sizeof(uint32_t);
    default:
        return sizeof(int);
    }
}

static int stretch_number(int number, int limit)
{
    wide real = stretch(number);
    return real > limit ? limit : (int)real;
}

/* The greatest rate of either size means that there is no limit. */
static void slow_down(union value *value, size_t size)
{
    if (size == sizeof value->rate)
        value->rate = value->rate == UINT64_MAX ? UINT64_MAX : slower(value->rate);
    else
        value->short_rate = value->short_rate == UINT32_MAX ? UINT32_MAX : (uint32_t)slower(value->short_rate);
}

static void speed_up(union value *value, size_t size)
{
    if (size == sizeof value->rate) {
        value->rate = value->rate == UINT64_MAX ? UINT64_MAX : faster(value->rate);
    } else {
        uint64_t rate = faster(value->short_rate);
        value->short_rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
    }
}

static void to_kernel(enum kind kind, union value *value, size_t size)
{
    switch (kind) {
    case TIMEVAL:
        stretch_timeval(&value->time);
        break;
    case LINGER:
        value->linger.l_linger = stretch_number(value->linger.l_linger, INT_MAX);
        break;
    case BYTE_RATE:
        slow_down(value, size);
        break;
    case KEEP_ALIVE:
        value->number = stretch_number(value->number, LONGEST_KEEP_ALIVE);
        break;
    default:
        value->number = stretch_number(value->number, INT_MAX);
    }
}

static void from_kernel(enum kind kind, union value *value, size_t size)
{
    switch (kind) {
    case TIMEVAL:
        shrink_timeval(&value->time);
        break;
    case LINGER:
        value->linger.l_linger = (int)shrink(value->linger.l_linger);
        break;
    case BYTE_RATE:
        speed_up(value, size);
        break;
    default:
        value->number = (int)shrink(value->number);
    }
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    enum kind kind = kind_of_option(level, name);
    size_t needed = size_of_kind(kind, size);
    if (kind == PLAIN || !dilated() || value == NULL || size < needed)
        return REAL(setsockopt)(fd, level, name, value, size);
    union value real;
    memcpy(&real, value, needed);
    to_kernel(kind, &real, needed);
    return REAL(setsockopt)(fd, level, name, &real, (socklen_t)needed);
}

#define AT(field) offsetof(struct tcp_info, field)
static const size_t times_of_32_bits[] = {
    AT(tcpi_rto),           AT(tcpi_ato),    AT(tcpi_last_data_sent), AT(tcpi_last_ack_sent), AT(tcpi_last_data_recv),
    AT(tcpi_last_ack_recv), AT(tcpi_rtt),    AT(tcpi_rttvar),         AT(tcpi_rcv_rtt),       AT(tcpi_min_rtt),
};
static const size_t times_of_64_bits[] = {AT(tcpi_busy_time), AT(tcpi_rwnd_limited), AT(tcpi_sndbuf_limited)};
static const size_t rates[] = {AT(tcpi_pacing_rate), AT(tcpi_max_pacing_rate), AT(tcpi_delivery_rate)};
#undef AT
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void shrink_word(char *word)
{
    uint32_t time;
    memcpy(&time, word, sizeof time);
    time = (uint32_t)shrink(time);
    memcpy(word, &time, sizeof time);
}

static void shrink_long_word(char *word)
{
    uint64_t time;
    memcpy(&time, word, sizeof time);
    time = (uint64_t)shrink((wide)time);
    memcpy(word, &time, sizeof time);
}

static void speed_up_word(char *word)
{
    union value value;
    memcpy(&value.rate, word, sizeof value.rate);
    speed_up(&value, sizeof value.rate);
    memcpy(word, &value.rate, sizeof value.rate);
}

/* The kernel fills the part of the structure that it knows and for which the caller has room. */
static void make_tcp_info_virtual(char *info, size_t size)
{
    for (size_t n = 0; n < COUNT(times_of_32_bits); n++)
        if (times_of_32_bits[n] + sizeof(uint32_t) <= size)
            shrink_word(info + times_of_32_bits[n]);
    for (size_t n = 0; n < COUNT(times_of_64_bits); n++)
        if (times_of_64_bits[n] + sizeof(uint64_t) <= size)
            shrink_long_word(info + times_of_64_bits[n]);
    for (size_t n = 0; n < COUNT(rates); n++)
        if (rates[n] + sizeof(uint64_t) <= size)
            speed_up_word(info + rates[n]);
}

EXPORT int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict size)
{
    int result = REAL(getsockopt)(fd, level, name, value, size);
    if (result != 0 || !dilated())
        return result;
    enum kind kind = kind_of_option(level, name);
    size_t needed = size_of_kind(kind, *size);
    if (level == IPPROTO_TCP && name == TCP_INFO)
        make_tcp_info_virtual(value, *size);
    if (kind == PLAIN || *size < needed)
        return result;
    union value found;
    memcpy(&found, value, needed);
    from_kernel(kind, &found, needed);
    memcpy(value, &found, needed);
    return result;
}

/* A time of zero means that there is none. */
static void make_arrival_virtual(struct timespec *arrival)
{
    if (arrival->tv_sec != 0 || arrival->tv_nsec != 0)
        make_virtual(CLOCK_REALTIME, arrival);
}

static void make_bytes_virtual(void *bytes)
{
    struct timespec arrival;
    memcpy(&arrival, bytes, sizeof arrival);
    make_arrival_virtual(&arrival);
    memcpy(bytes, &arrival, sizeof arrival);
}

static void make_short_bytes_virtual(void *bytes)
{
    struct timeval arrival;
    memcpy(&arrival, bytes, sizeof arrival);
    struct timespec exact = {arrival.tv_sec, arrival.tv_usec * 1000};
    make_arrival_virtual(&exact);
    arrival = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    memcpy(bytes, &arrival, sizeof arrival);
}

/* SCM_TIMESTAMPING has three times. The last one is that of the network card's clock and stays as it is. */
static void make_arrivals_virtual(struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET)
            continue;
        size_t size = part->cmsg_len - CMSG_LEN(0);
        if ((part->cmsg_type == SO_TIMESTAMP_OLD || part->cmsg_type == SO_TIMESTAMP_NEW)
            && size >= sizeof(struct timeval))
            make_short_bytes_virtual(CMSG_DATA(part));
        if ((part->cmsg_type == SO_TIMESTAMPNS_OLD || part->cmsg_type == SO_TIMESTAMPNS_NEW
             || part->cmsg_type == SO_TIMESTAMPING_OLD || part->cmsg_type == SO_TIMESTAMPING_NEW)
            && size >= sizeof(struct timespec))
            make_bytes_virtual(CMSG_DATA(part));
    }
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t result = REAL(recvmsg)(fd, message, flags);
    if (result >= 0 && message->msg_controllen > 0 && dilated())
        make_arrivals_virtual(message);
    return result;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    if (!dilated())
        return REAL(recvmmsg)(fd, messages, count, flags, timeout);
    if (timeout != NULL)
        stretch_timespec(timeout);
    int result = REAL(recvmmsg)(fd, messages, count, flags, timeout);
    if (timeout != NULL)
        shrink_timespec(timeout);
    for (int n = 0; n < result; n++)
        if (messages[n].msg_hdr.msg_controllen > 0)
            make_arrivals_virtual(&messages[n].msg_hdr);
    return result;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int result = REAL(ioctl)(fd, request, argument);
    if (result != 0 || !dilated())
        return result;
    if (request == SIOCGSTAMP_OLD || request == SIOCGSTAMP_NEW)
        make_short_bytes_virtual(argument);
    if (request == SIOCGSTAMPNS_OLD || request == SIOCGSTAMPNS_NEW)
        make_bytes_virtual(argument);
    return result;
}
