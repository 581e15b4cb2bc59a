/* Whether the library is loaded before a program. */
#ifndef SLOTLINE_REACH_H
#define SLOTLINE_REACH_H

/* The reason why the program in this file would run in real time. NULL if it has virtual time, or if the file cannot be
 * judged: the kernel says then what is wrong with it. */
const char *unreachable(const char *path);

#endif
