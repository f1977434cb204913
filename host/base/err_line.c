/* err_line.c : writes lines to stderr, whether or not anybody reads them. The only state: how many are
 * missing, and how long one may be waited for. */
#include "base/err_line.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The lock is not held while a line is written: a child forked in that second needs it. */
static struct {
    pthread_mutex_t lock;
    int patience_ms;
    uint64_t left_out, missing; /* ever; since the last one that was written */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .patience_ms = 1000};

/* Open stderr's pipe or terminal a second time, as one that never blocks; other processes share
 * descriptor 2 itself, so its flags stay. Return it, or -1 if that cannot be. */
static int open_again(mode_t mode)
{
    return S_ISFIFO(mode) || S_ISCHR(mode)
               ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
               : -1;
}

/* Write all of text within wait_ms, or return false. */
static bool write_soon(const char *text, int wait_ms)
{
    const size_t n = strlen(text);
    struct stat is;
    ssize_t wrote = -1;
    if (fstat(2, &is))
        return false;
    const int again = open_again(is.st_mode);
    if (again < 0 && S_ISFIFO(is.st_mode) && errno == ENXIO)
        return false; /* nobody has the other end */
    struct pollfd p = {.fd = again < 0 ? 2 : again, .events = POLLOUT};
    if (poll(&p, 1, wait_ms) > 0 && p.revents == POLLOUT)
        wrote = S_ISSOCK(is.st_mode) ? send(p.fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL)
                                     : write(p.fd, text, n);
    if (again >= 0)
        close(again);
    return wrote == (ssize_t)n;
}

void err_line(const char *text)
{
    char all[ERR_LINE_BYTES] = "";
    pthread_mutex_lock(&state.lock);
    const uint64_t missing = state.missing;
    const int wait_ms = missing ? 0 : state.patience_ms;
    state.missing = 0;
    pthread_mutex_unlock(&state.lock);
    if (missing)
        snprintf(all, sizeof all,
                 "narrowcast: warning: %llu line%s missing here: nobody read stderr\n",
                 (unsigned long long)missing, missing == 1 ? " is" : "s are");
    const size_t n = strlen(all);
    snprintf(all + n, sizeof all - n, "%s", text);
    if (write_soon(all, wait_ms))
        return;
    pthread_mutex_lock(&state.lock);
    state.missing += missing + 1;
    state.left_out++;
    pthread_mutex_unlock(&state.lock);
}

void err_never_wait(void)
{
    pthread_mutex_lock(&state.lock);
    state.patience_ms = 0;
    pthread_mutex_unlock(&state.lock);
}

uint64_t err_lines_left_out(void)
{
    pthread_mutex_lock(&state.lock);
    const uint64_t n = state.left_out;
    pthread_mutex_unlock(&state.lock);
    return n;
}
