/* To which host a file descriptor leads. */
#ifndef SLOTLINE_DESCRIPTORS_H
#define SLOTLINE_DESCRIPTORS_H

/* A descriptor that leads to no host that is counted. */
#define NO_PEER -1

/* The host at the far end of a TCP connection, or `NO_PEER`. */
int peer_of(int fd);

/* The number may now be another file's. */
void descriptor_changes(int fd);

/* The descriptor is about to be closed. */
void descriptor_ends(int fd);

#endif
