/* err.h : prints one line per failure, by the first function that knows its cause.
 *
 * Comments say that a function "reports" an error if it prints such a line. Unless its comment says
 * otherwise, a function that returns int returns 0, or a negative errno that it has reported. */
#ifndef ERR_H
#define ERR_H
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Print one line ("narrowcast: " + message + newline, on stderr) and return code:
 *
 *     return ERR(-EINVAL, "cannot open ring of %d ranks: need at least 2", n_ranks);
 *
 *   code      negative errno
 *   message   lower case, no full stop, subject in quotes, then the reason
 *
 * A blocked stderr delays a line by at most a second (err_line.h). */
#define ERR(code, ...) err_say((code), __VA_ARGS__)

/* Return the code of `call` if it is negative, since that failure was already reported. Use it only
 * where nothing has to be released. */
#define TRY(call)             \
    do {                      \
        int try_rc_ = (call); \
        if (try_rc_ < 0)      \
            return try_rc_;   \
    } while (0)

int err_say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append text to the held error, if there is one: advice that only a caller further up can give. An
 * error that was not held has already been printed. */
void err_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a line that is not a failure ("narrowcast: warning: ..."). It is held like an error. */
void err_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a warning at once, even while lines are held. For one rank that reports and continues. */
void err_news(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a line unchanged, without "narrowcast: ", even while lines are held. For a command's report
 * of its work. */
void err_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Warn about a stranger, such as an unknown host that connects to a port, and return code. There
 * may be any number of strangers, so at most ERR_STRANGERS of these lines are printed in
 * ERR_STRANGERS_S seconds. The others are counted. The next line, or err_strangers_end() when a
 * server ends, prints the count. */
enum { ERR_STRANGERS = 10, ERR_STRANGERS_S = 10 };
int err_stranger(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void err_strangers_end(void);
#define ERR_STRANGER(code, ...) err_stranger((code), __VA_ARGS__)

/* Return the number of omitted lines: lines about strangers, and lines dropped because
 * stderr was blocked. */
uint64_t err_left_out(void);

/* Between err_hold() and err_release(), keep lines instead of printing them. The first error wins.
 * All ranks hold lines where each may find the same mistake. comm_agree() then releases one rank's
 * line, so that N equal lines become one. */
void err_hold(void);
void err_release(bool print);

/* Held lines. Errors precede warnings, and the first line wins. If all fields are zero, nothing is
 * held, and lines go to stderr. */
struct err_lines {
    bool held, full, full_of_error;
    char line[512];
    /* Receives a line, without "narrowcast: " and newline, instead of stderr. NULL selects stderr.
     * It may be called from any thread of the caller, with no lock held. */
    void (*to)(void *arg, bool error, const char *line);
    void *arg;
    /* First error since the caller emptied this text, printed or not. */
    char first[512];
};

/* Make this thread print to and hold lines in `lines` from now on. NULL selects the process's own
 * lines, which its threads share. For several callers in one process that hold their own lines, in
 * turns or each in its own thread. Returns the previous lines. */
struct err_lines *err_turn(struct err_lines *lines);

#endif
