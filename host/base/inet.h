/* inet.h : "HOST:PORT" and IPv4 addresses as text; TCP sockets that listen and connect there. */
#ifndef INET_H
#define INET_H
#include "base/deadline.h"
#include <stddef.h>
#include <stdint.h>

enum { INET_HOST_BYTES = 256, INET_WHY_BYTES = 192 };

/* HOST: a name or four numbers; PORT: 0..65535. 127.0.0.1 is 0x7f000001. Returns 0, or -EINVAL with
 * a line. */
int inet_parse(const char *text, uint32_t *ip, uint16_t *port);

/* The two steps of inet_parse(), which print nothing. inet_split() cuts the text and asks nobody:
 * it returns 0 or -EINVAL. inet_find() resolves the host: it returns 0, or with why -ENXIO (there
 * is no such host) or -EHOSTUNREACH (the name service does not answer). */
int inet_split(const char *text, char host[INET_HOST_BYTES], uint16_t *port);
int inet_find(const char *host, uint32_t *ip, char why[INET_WHY_BYTES]);

/* Return "IPv6 is not supported, " if the text looks like an IPv6 address (in brackets or not, with
 * or without a port), else "". An error message has it before "need ...". */
const char *inet_hint(const char *text);

/* "127.0.0.1:4711" into to, which is returned. */
enum { INET_TEXT = 24 };
const char *inet_text(uint32_t ip, uint16_t port, char to[INET_TEXT]);

/* ---- TCP. All return a negative errno and print nothing: the caller knows whose socket it is.
 * Sockets do not block, and are closed on exec. ---- */

/* Listen on ip:*port, with a queue of `most` who are not yet accepted. If *port is 0, the system
 * chooses one, which is written to it. Return the socket. */
int inet_listen(uint32_t ip, uint16_t *port, int most);

/* Connect to ip:port, and wait for it until the deadline. Return the socket, or -ETIMEDOUT. */
int inet_connect(uint32_t ip, uint16_t port, struct deadline *d);

/* The two parts of inet_connect(). inet_call() begins, and returns the socket at once.
 * inet_called() waits for wait_ms at most, and returns 1 if the socket is connected, 0 if not yet.
 * After a failure the caller closes the socket. */
int inet_call(uint32_t ip, uint16_t port);
int inet_called(int fd, int wait_ms);

/* ---- whole messages over a stream socket ---- */

/* All bytes of buf, or none of it is a success. Return 0, -EPIPE when the other end has closed,
 * else a negative errno; silent: the caller knows whose end it is. No SIGPIPE. */
int sock_send(int fd, const void *buf, size_t bytes);
int sock_recv(int fd, void *buf, size_t bytes);

#endif
