/* err_line.h : writes lines to stderr, whether or not anybody reads them. */
#ifndef ERR_LINE_H
#define ERR_LINE_H
#include <stdint.h>

enum { ERR_LINE_BYTES = 3072 }; /* at most, and much less than a pipe takes in one piece */

/* Write text, which ends its lines itself. If its reader stands still (a full pipe, a terminal that was
 * stopped), wait for it a second at most, or not at all after err_never_wait() or while it has not read
 * on since; then leave the text out. The next text that is written says how many were left out. */
void err_line(const char *text);

/* From now on no line is waited for: for a program that serves others. */
void err_never_wait(void);

/* Return how many texts were left out so far. */
uint64_t err_lines_left_out(void);

#endif
