/* sock.h : whole messages over a stream socket. */
#ifndef SOCK_H
#define SOCK_H
#include <stddef.h>

/* All bytes of buf, or none of it is a success. Return 0, -EPIPE when the other end has closed,
 * else a negative errno; silent: the caller knows whose end it is. No SIGPIPE. */
int sock_send(int fd, const void *buf, size_t bytes);
int sock_recv(int fd, void *buf, size_t bytes);

#endif
