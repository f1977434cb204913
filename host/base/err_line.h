/* err_line.h : writes lines to stderr without blocking on its reader. */
#ifndef ERR_LINE_H
#define ERR_LINE_H
#include <stdint.h>

enum { ERR_LINE_BYTES = 3072 }; /* limit of a text, far below a pipe's size */

/* Write text, newlines included. If stderr blocks (a full pipe, a stopped terminal), wait at most a
 * second and then drop the text. After a drop, further texts are dropped without waiting until
 * stderr accepts one again, and the next one written says how many were dropped. After
 * err_never_wait() there is never a wait. */
void err_line(const char *text);

/* Make err_line() never wait again, for servers. */
void err_never_wait(void);

/* Return the number of texts dropped so far. */
uint64_t err_lines_left_out(void);

#endif
