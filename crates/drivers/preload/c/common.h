/* What all files of the library share. */
#ifndef SLOTLINE_COMMON_H
#define SLOTLINE_COMMON_H

#include <stdbool.h>
#include <stddef.h>

/* A function that takes the place of the C library's. Everything else is hidden. */
#define EXPORT __attribute__((visibility("default")))

/* Maps the file that an environment variable names. Returns NULL where the variable is not set. Ends the process
 * with a message where the file cannot be mapped: a program that runs in the wrong time gives wrong results. */
void *map_named_file(const char *variable, bool writable, size_t *size);

/* Ends the process with a message on standard error. */
_Noreturn void refuse(const char *variable, const char *why);

#endif
