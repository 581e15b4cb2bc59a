/* Declarations of the test programs: the C library's own functions, below the preloaded ones, and real time. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *below(const char *name)
{
    void *function = dlsym(dlopen("libc.so.6", RTLD_LAZY), name);
    if (function == NULL) {
        fprintf(stderr, "no %s\n", name);
        exit(2);
    }
    return function;
}

#define BELOW(name) ((__typeof__(&name))below(#name))

static inline int64_t to_ns(struct timespec time)
{
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static inline int64_t real_ns(void)
{
    struct timespec now;
    BELOW(clock_gettime)(CLOCK_MONOTONIC, &now);
    return to_ns(now);
}

static inline int64_t shown_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return to_ns(now);
}
