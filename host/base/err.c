/* err.c : prints one line per failure, from any thread. */
#include "base/err.h"
#include "base/clock.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err_lines err_own;
static _Thread_local struct err_lines *err_mine; /* NULL: err_own */
static pthread_mutex_t err_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    double since_s;
    int said;
    uint64_t unsaid, ever_unsaid;
} strangers;

static struct err_lines *lines(void)
{
    return err_mine ? err_mine : &err_own;
}

/* Call it without locks: err->to may be slow. */
static void put(const struct err_lines *err, bool error, const char *text)
{
    char line[ERR_LINE_BYTES / 2 + 64];
    if (err->to) {
        err->to(err->arg, error, text);
        return;
    }
    snprintf(line, sizeof line, "narrowcast: %s%s\n", error ? "" : "warning: ", text);
    err_line(line);
}

enum { TEXT_BYTES = 448 };

/* Replaces the middle of a text that is too long (a quoted path) by "...": the reason is at its
 * end. Quoted untrusted text must not move a cursor or end the line. */
static void write_line(char *text, size_t bytes, const char *format, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(text, bytes, format, ap);
    char *whole = n < 0 || (size_t)n < bytes ? NULL : malloc((size_t)n + 1);
    if (whole) {
        const size_t end = bytes / 2, begin = bytes - end - strlen("...");
        vsnprintf(whole, (size_t)n + 1, format, again);
        snprintf(text + begin, bytes - begin, "...%s", whole + n + 1 - end);
        free(whole);
    }
    va_end(again);
    text_clean(text);
}

static void say(bool error, const char *format, va_list ap)
{
    struct err_lines *err = lines();
    char text[TEXT_BYTES];
    write_line(text, sizeof text, format, ap);
    pthread_mutex_lock(&err_lock);
    const bool held = err->held;
    if (held && (!err->full || (error && !err->full_of_error))) {
        snprintf(err->line, sizeof err->line, "%s", text);
        err->full = true;
        err->full_of_error = error;
    }
    if (error && !err->first[0])
        snprintf(err->first, sizeof err->first, "%s", text);
    pthread_mutex_unlock(&err_lock);
    if (!held)
        put(err, error, text);
}

int err_say(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(true, format, ap);
    va_end(ap);
    return code;
}

void err_add(const char *format, ...)
{
    struct err_lines *err = lines();
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, format);
    write_line(text, sizeof text, format, ap);
    va_end(ap);
    pthread_mutex_lock(&err_lock);
    if (err->held && err->full_of_error) {
        const bool is_first = strcmp(err->first, err->line) == 0;
        const size_t n = strlen(err->line);
        snprintf(err->line + n, sizeof err->line - n, "%s", text);
        if (is_first)
            memcpy(err->first, err->line, sizeof err->first);
    }
    pthread_mutex_unlock(&err_lock);
}

void err_warn(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(false, format, ap);
    va_end(ap);
}

void err_news(const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, format);
    write_line(text, sizeof text, format, ap);
    va_end(ap);
    put(lines(), false, text);
}

void err_note(const char *format, ...)
{
    char text[ERR_LINE_BYTES - 128];
    va_list ap;
    va_start(ap, format);
    write_line(text, sizeof text - 1, format, ap);
    va_end(ap);
    strcat(text, "\n");
    err_line(text);
}

static bool may_say(uint64_t *unsaid)
{
    const double now = clock_s();
    pthread_mutex_lock(&err_lock);
    if (!strangers.said || now - strangers.since_s >= ERR_STRANGERS_S) {
        strangers.said = 0;
        strangers.since_s = now;
    }
    const bool may = strangers.said < ERR_STRANGERS;
    *unsaid = may ? strangers.unsaid : 0;
    if (may) {
        strangers.said++;
        strangers.unsaid = 0;
    } else {
        strangers.unsaid++;
        strangers.ever_unsaid++;
    }
    pthread_mutex_unlock(&err_lock);
    return may;
}

static void say_unsaid(uint64_t n)
{
    if (n)
        err_warn("%llu more lines like these were omitted", (unsigned long long)n);
}

int err_stranger(int code, const char *format, ...)
{
    uint64_t unsaid;
    va_list ap;
    if (!may_say(&unsaid))
        return code;
    say_unsaid(unsaid);
    va_start(ap, format);
    say(false, format, ap);
    va_end(ap);
    return code;
}

void err_strangers_end(void)
{
    pthread_mutex_lock(&err_lock);
    const uint64_t unsaid = strangers.unsaid;
    strangers.unsaid = 0;
    pthread_mutex_unlock(&err_lock);
    say_unsaid(unsaid);
}

void err_hold(void)
{
    struct err_lines *err = lines();
    pthread_mutex_lock(&err_lock);
    err->held = true;
    pthread_mutex_unlock(&err_lock);
}

void err_release(bool print)
{
    struct err_lines *err = lines();
    char text[sizeof err->line];
    pthread_mutex_lock(&err_lock);
    const bool full = print && err->full, error = err->full_of_error;
    if (full)
        memcpy(text, err->line, sizeof text);
    err->held = err->full = err->full_of_error = false;
    pthread_mutex_unlock(&err_lock);
    if (full)
        put(err, error, text);
}

bool err_has_reason(void)
{
    const struct err_lines *err = lines();
    pthread_mutex_lock(&err_lock);
    const bool has = !err->held || err->full_of_error;
    pthread_mutex_unlock(&err_lock);
    return has;
}

bool err_had_error(void)
{
    const struct err_lines *err = lines();
    pthread_mutex_lock(&err_lock);
    const bool had = err->first[0];
    pthread_mutex_unlock(&err_lock);
    return had;
}

bool err_first(const struct err_lines *err, char *text, size_t size)
{
    pthread_mutex_lock(&err_lock);
    snprintf(text, size, "%s", err->first);
    pthread_mutex_unlock(&err_lock);
    return text[0];
}

struct err_lines *err_turn(struct err_lines *mine)
{
    struct err_lines *before = err_mine;
    err_mine = mine;
    return before;
}

/* ---- stderr whose reader may stop: wait for a limited time, then drop and count lines ---- */

/* The lock is free while a line is written, for children forked meanwhile. */
static struct {
    pthread_mutex_t lock;
    int patience_ms;
    uint64_t left_out, missing; /* in total; since the last line was written */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .patience_ms = 1000};

/* Open stderr's pipe or terminal again, because other processes share descriptor 2's flags. */
static int open_again(mode_t mode)
{
    return S_ISFIFO(mode) || S_ISCHR(mode)
               ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
               : -1;
}

static bool write_soon(const char *text, int wait_ms)
{
    const size_t n = strlen(text);
    struct stat is;
    ssize_t wrote = -1;
    if (fstat(2, &is))
        return false;
    const int again = open_again(is.st_mode);
    if (again < 0 && S_ISFIFO(is.st_mode) && errno == ENXIO)
        return false; /* the reading end is closed */
    struct pollfd p = {.fd = again < 0 ? 2 : again, .events = POLLOUT};
    const double until = clock_s() + wait_ms * 1e-3;
    int found;
    do /* a signal ends poll() */
        found = poll(&p, 1, (int)fmax(ceil((until - clock_s()) * 1e3), 0));
    while (found < 0 && errno == EINTR);
    if (found > 0 && p.revents == POLLOUT)
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
                 "narrowcast: warning: %llu line%s missing here, because stderr was not read\n",
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

uint64_t err_left_out(void)
{
    pthread_mutex_lock(&err_lock);
    const uint64_t n = strangers.ever_unsaid;
    pthread_mutex_unlock(&err_lock);
    pthread_mutex_lock(&state.lock);
    const uint64_t lines_left_out = state.left_out;
    pthread_mutex_unlock(&state.lock);
    return n + lines_left_out;
}
