/* err.h : prints one line per failure, by the first function that knows its cause.
 *
 * In comments, "reports" means: prints such a line. Unless stated otherwise, a function that
 * returns int returns 0, or a negative errno that it has reported. */
#ifndef ERR_H
#define ERR_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Print one line ("narrowcast: " + message + newline, on stderr) and return code:
 *
 *     return ERR(-EINVAL, "cannot open ring of %d ranks: need at least 2", n_ranks);
 *
 *   code      negative errno, or main()'s exit status
 *   message   lower case, no full stop, subject in quotes, then the reason
 *
 * A blocked stderr delays a line by at most a second (err_line()). */
#define ERR(code, ...) err_say((code), __VA_ARGS__)

/* Return the negative code that `call` has reported. Only where nothing must be released. */
#define TRY(call)             \
    do {                      \
        int try_rc_ = (call); \
        if (try_rc_ < 0)      \
            return try_rc_;   \
    } while (0)

int err_say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append a caller's advice to a held error. Errors that were not held have been printed. */
void err_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a line that is not a failure ("narrowcast: warning: ..."). It is held like an error. */
void err_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print one rank's warning at once, even while lines are held. */
void err_news(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a line of a command's report without "narrowcast: ", even while lines are held. */
void err_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Warn about a stranger, such as an unknown host that connects to a port, and return code. At most
 * ERR_STRANGERS of these lines are printed in ERR_STRANGERS_S seconds. The next line, or
 * err_strangers_end() when a server ends, prints the number of omitted ones. */
enum { ERR_STRANGERS = 10, ERR_STRANGERS_S = 10 };
int err_stranger(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void err_strangers_end(void);

/* Return the number of omitted lines: about strangers, or dropped because stderr was blocked. */
uint64_t err_left_out(void);

/* Keep lines between these calls instead of printing them; the first error wins. All ranks hold
 * lines where each may find the same mistake; comm_agree() then releases one rank's. */
void err_hold(void);
void err_release(bool print);

/* Return false if lines are held and no error is among them. */
bool err_has_reason(void);

/* Return true after an error, printed or held, of this process or of err_turn()'s lines. */
bool err_had_error(void);

/* Held lines. Errors precede warnings, and the first line wins. All zero: nothing is held, and
 * lines go to stderr. */
struct err_lines {
    bool held, full, full_of_error;
    char line[512];
    /* Receives a line, without "narrowcast: " and newline, instead of stderr (NULL). Called from
     * any thread of the caller, with no lock held. */
    void (*to)(void *arg, bool error, const char *line);
    void *arg;
    /* first error since the caller emptied this text, printed or not */
    char first[512];
};

/* Copy the first error of `lines`, which another thread may use, to text [size]. Returns false if
 * there is none; text is then "". */
bool err_first(const struct err_lines *lines, char *text, size_t size);

/* From now on print this thread's lines to, or hold them in, `lines` (NULL: the process's own,
 * which its threads share), for several callers in one process. Returns the previous lines. */
struct err_lines *err_turn(struct err_lines *lines);

/* Write text to stderr, newlines included. If stderr blocks (a full pipe, a stopped terminal), wait
 * at most a second, then drop the text. Later texts do not wait; the first that stderr accepts says
 * how many were dropped. */
enum { ERR_LINE_BYTES = 3072 }; /* limit of a text, far below a pipe's size */
void err_line(const char *text);

/* err_line() never waits again, for servers. */
void err_never_wait(void);

#endif
