/* Files that the environment names. */
#include "common.h"

#include "real.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void say(const char *text)
{
    if (REAL(write)(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

_Noreturn void refuse(const char *variable, const char *why)
{
    say("slotline: ");
    say(variable);
    say(" ");
    say(why);
    say("\n");
    _exit(126);
}

static void *map_open_file(int fd, bool writable, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return MAP_FAILED;
    *size = (size_t)status.st_size;
    return mmap(NULL, *size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
}

void *map_named_file(const char *variable, bool writable, size_t *size)
{
    const char *path = getenv(variable);
    if (path == NULL || *path == '\0')
        return NULL;
    int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        refuse(variable, "names a file that cannot be opened");
    void *file = map_open_file(fd, writable, size);
    REAL(close)(fd);
    if (file == MAP_FAILED)
        refuse(variable, "names a file that cannot be mapped");
    return file;
}
