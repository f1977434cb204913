/* progress.c : one line about work in progress, on stderr. */
#include "base/progress.h"
#include "base/clock.h"
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 256 };

void progress_init(struct progress *p, bool on)
{
    *p = (struct progress){.to = on ? stderr : NULL, .terminal = isatty(STDERR_FILENO)};
    p->next_s = clock_s() + (p->terminal ? 0.2 : 5);
}

bool progress_due(const struct progress *p)
{
    return p->to && clock_s() >= p->next_s;
}

/* Characters that fit on a line; a longer one would wrap, and could not be rewritten. */
static int room(const struct progress *p)
{
    struct winsize size;
    return p->terminal && !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 1
               ? size.ws_col - 1
               : LINE_MAX_LEN;
}

void progress_say(struct progress *p, const char *format, ...)
{
    if (!p->to)
        return;
    char line[LINE_MAX_LEN];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    fprintf(p->to, "%.*s%s", room(p), line, p->terminal ? "\033[K\r" : "\n");
    fflush(p->to);
    p->shown = true;
    p->next_s = clock_s() + (p->terminal ? 0.2 : 5);
}

void progress_clear(struct progress *p)
{
    if (p->to && p->terminal && p->shown) {
        fputs("\033[K", p->to);
        fflush(p->to);
    }
    p->shown = false;
}
