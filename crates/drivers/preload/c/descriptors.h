/* The host at the far end of a file descriptor. */
#ifndef SLOTLINE_DESCRIPTORS_H
#define SLOTLINE_DESCRIPTORS_H

/* The value for a descriptor without a counted host. */
#define NO_PEER -1

/* The host at the far end of a TCP connection, or `NO_PEER`. */
int peer_of(int fd);

/* The number may now belong to another file. */
void descriptor_changes(int fd);

/* The descriptor is about to be closed. */
void descriptor_ends(int fd);

#endif
