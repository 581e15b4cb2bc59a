/* Declarations that all files of the library share. */
#ifndef SLOTLINE_COMMON_H
#define SLOTLINE_COMMON_H

#include <stdbool.h>
#include <stddef.h>

/* Marks a function that replaces one of the C library. All other functions are hidden. */
#define EXPORT __attribute__((visibility("default")))

/* Maps the file that an environment variable names. Returns NULL if the variable is not set. Ends the process
 * with a message if the file cannot be mapped, because a program with the wrong time gives wrong results. */
void *map_named_file(const char *variable, bool writable, size_t *size);

/* Writes to standard error. */
void say(const char *text);

/* Ends the process with a message on standard error. */
_Noreturn void refuse(const char *variable, const char *why);

#endif
