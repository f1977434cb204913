/* inet.h : "HOST:PORT" and IPv4 addresses as text. */
#ifndef INET_H
#define INET_H
#include <stdint.h>

/* HOST: a name or four numbers; PORT: 0..65535. 127.0.0.1 is 0x7f000001. Returns 0, or -EINVAL with
 * a line. */
int inet_parse(const char *text, uint32_t *ip, uint16_t *port);

/* "127.0.0.1:4711" into to, which is returned. */
enum { INET_TEXT = 24 };
const char *inet_text(uint32_t ip, uint16_t port, char to[INET_TEXT]);

#endif
