/* Finds the C library's functions. Functions of this library may be called before its constructor, by constructors
 * of other libraries, so the first call finds all of them. */
#include "real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static struct real_functions table;
static atomic_bool ready;

/* On x86-64 this function has an older version with another layout of the variable. */
static void *find(const char *name)
{
    void *found = NULL;
    if (strcmp(name, "pthread_cond_timedwait") == 0)
        found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found != NULL ? found : dlsym(RTLD_NEXT, name);
}

/* Threads that do this at the same time write the same values. */
static void find_all(void)
{
    struct real_functions found;
#define FIND(name) found.name = (__typeof__(&name))find(#name);
    REAL_FUNCTIONS(FIND)
#undef FIND
    dlerror();
    memcpy(&table, &found, sizeof table);
    atomic_store_explicit(&ready, true, memory_order_release);
}

const struct real_functions *real_functions(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire))
        find_all();
    return &table;
}
