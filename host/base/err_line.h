/* err_line.h : writes lines to stderr without blocking on its reader. */
#ifndef ERR_LINE_H
#define ERR_LINE_H
#include <stdint.h>

enum { ERR_LINE_BYTES = 3072 }; /* limit of a text, far below a pipe's capacity */

/* Write text, newlines included. If stderr blocks (a full pipe, a stopped terminal), wait at most a
 * second and then drop the text. No text waits after err_never_wait(), or after a drop until one is
 * written again. The next text that is written says how many were dropped. */
void err_line(const char *text);

/* Never wait again: for servers. */
void err_never_wait(void);

/* Return the number of texts dropped so far. */
uint64_t err_lines_left_out(void);

#endif
