/* Starting other programs. In virtual time, a program that the library does not reach is refused. */
#include "common.h"
#include "reach.h"
#include "real.h"
#include "virtual.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Whether the program in a file is refused. If so, says why, and sets `errno`. */
static bool refused(const char *path)
{
    const char *why = path != NULL && dilated() ? unreachable(path) : NULL;
    if (why == NULL)
        return false;
    say("slotline: ");
    say(path);
    say(": ");
    say(why);
    say("\n");
    errno = EPERM;
    return true;
}

/* Writes `folder/file` into `room`. Returns whether it is a program. */
static bool is_program_in(const char *folder, size_t length, const char *file, char *room)
{
    if (length + strlen(file) + 2 > PATH_MAX)
        return false;
    memcpy(room, folder, length);
    room[length] = '/';
    strcpy(room + length + 1, file);
    return access(length == 0 ? room + 1 : room, X_OK) == 0;
}

/* The same for a program that is looked for in the folders of PATH. One that is not found is not refused. */
static bool refused_on_path(const char *file)
{
    char room[PATH_MAX];
    if (file == NULL || strchr(file, '/') != NULL)
        return refused(file);
    const char *folder = getenv("PATH");
    while (folder != NULL && dilated()) {
        size_t length = strcspn(folder, ":");
        if (is_program_in(folder, length, file, room))
            return refused(length == 0 ? file : room);
        folder = folder[length] == ':' ? folder + length + 1 : NULL;
    }
    return false;
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return refused(path) ? -1 : REAL(execve)(path, arguments, environment);
}

EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return refused_on_path(file) ? -1 : REAL(execvpe)(file, arguments, environment);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return refused(path) ? -1 : REAL(fexecve)(fd, arguments, environment);
}

EXPORT int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    if (refused(path))
        return EPERM;
    return REAL(posix_spawn)(process, path, actions, attributes, arguments, environment);
}

EXPORT int posix_spawnp(pid_t *process, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    if (refused_on_path(file))
        return EPERM;
    return REAL(posix_spawnp)(process, file, actions, attributes, arguments, environment);
}

/* The number of arguments up to NULL. */
static size_t count_arguments(const char *first, va_list rest)
{
    size_t count = 0;
    for (const char *next = first; next != NULL; next = va_arg(rest, const char *))
        count++;
    return count;
}

/* Fills `arguments`, and leaves `rest` behind the NULL. */
#define LIST_ARGUMENTS(arguments, first, rest)                                                                         \
    va_start(rest, first);                                                                                             \
    size_t count = count_arguments(first, rest);                                                                       \
    va_end(rest);                                                                                                      \
    char *arguments[count + 1];                                                                                        \
    arguments[0] = (char *)first;                                                                                      \
    va_start(rest, first);                                                                                             \
    for (size_t at = 1; at <= count; at++)                                                                             \
        arguments[at] = va_arg(rest, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
    va_list rest;
    LIST_ARGUMENTS(arguments, first, rest);
    va_end(rest);
    return execve(path, arguments, environ);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list rest;
    LIST_ARGUMENTS(arguments, first, rest);
    va_end(rest);
    return execvpe(file, arguments, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    va_list rest;
    LIST_ARGUMENTS(arguments, first, rest);
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, arguments, environment);
}
