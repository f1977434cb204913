/* err_line.h : writes lines to stderr without blocking on its reader. */
#ifndef ERR_LINE_H
#define ERR_LINE_H
#include <stdint.h>

enum { ERR_LINE_BYTES = 3072 }; /* limit of a text, far below a pipe's size */

/* Write text, newlines included. If stderr blocks (a full pipe, a stopped terminal), wait at most a
 * second, then drop the text. Later texts do not wait; the first that stderr accepts says how many
 * were dropped. */
void err_line(const char *text);

/* err_line() never waits again, for servers. */
void err_never_wait(void);

/* Return the number of texts dropped so far. */
uint64_t err_lines_left_out(void);

#endif
