/* progress.c : prints a progress line on stderr. */
#include "base/progress.h"
#include "base/clock.h"
#include "base/err.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 256 };

/* Under Open MPI's mpirun, stderr is a pipe to mpirun's own stderr, where lines can be rewritten if
 * it is a terminal. The caller closes the descriptor. */
static int find_terminal(void)
{
    struct stat st;
    char path[64];
    if (isatty(STDERR_FILENO))
        return dup(STDERR_FILENO);
    if (!getenv("OMPI_COMM_WORLD_RANK") || fstat(STDERR_FILENO, &st) || S_ISREG(st.st_mode))
        return -1;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getppid(), STDERR_FILENO);
    if (stat(path, &st) || !S_ISCHR(st.st_mode))
        return -1;
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || isatty(fd))
        return fd;
    close(fd);
    return -1;
}

void progress_init(struct progress *p, bool on)
{
    *p = (struct progress){.on = on, .terminal = on ? find_terminal() : -1};
    p->next_s = clock_s() + (p->terminal >= 0 ? 0.2 : 5);
}

void progress_close(struct progress *p)
{
    progress_clear(p);
    if (p->on && p->terminal >= 0)
        close(p->terminal);
    *p = (struct progress){.terminal = -1};
}

const char *progress_time(double seconds, char text[PROGRESS_TIME])
{
    const long long s = seconds < 0      ? 0
                        : seconds < 1e15 ? (long long)(seconds + 0.5)
                                         : (long long)1e15;
    if (s < 60)
        snprintf(text, PROGRESS_TIME, "%lld s", s);
    else if (s < 3600)
        snprintf(text, PROGRESS_TIME, "%lld min %02lld s", s / 60, s % 60);
    else
        snprintf(text, PROGRESS_TIME, "%lld h %02lld min", s / 3600, s / 60 % 60);
    return text;
}

bool progress_due(const struct progress *p)
{
    return p->on && clock_s() >= p->next_s;
}

/* A wrapped line could not be rewritten. */
static int room(const struct progress *p)
{
    struct winsize size;
    return p->terminal >= 0 && !ioctl(p->terminal, TIOCGWINSZ, &size) && size.ws_col > 1
               ? size.ws_col - 1
               : LINE_MAX_LEN;
}

void progress_say(struct progress *p, const char *format, ...)
{
    if (!p->on)
        return;
    char line[LINE_MAX_LEN], all[LINE_MAX_LEN + 8];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    snprintf(all, sizeof all, "%.*s%s", room(p), line, p->terminal >= 0 ? "\033[K\r" : "\n");
    err_line(all);
    p->shown = true;
    p->next_s = clock_s() + (p->terminal >= 0 ? 0.2 : 5);
}

void progress_clear(struct progress *p)
{
    if (p->on && p->terminal >= 0 && p->shown)
        err_line("\033[K");
    p->shown = false;
}
