/* err.h : one line for every failure, printed once, by the first function that knows the cause. */
#ifndef ERR_H
#define ERR_H
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Says one line ("narrowcast: " + message + newline, on stderr) and returns code, so that a caller
 * can write
 *     return ERR(-EINVAL, "cannot open ring of %d ranks: need at least 2", n_ranks);
 * code      negative errno, handed back unchanged
 * message   lower case, no full stop, subject in quotes, then why
 * A stderr that nobody reads delays a line by a second at most (err_line.h). */
#define ERR(code, ...) err_say((code), __VA_ARGS__)

/* Passes a failure up in silence: its cause has been said already. Only where nothing is held. */
#define TRY(call)             \
    do {                      \
        int try_rc_ = (call); \
        if (try_rc_ < 0)      \
            return try_rc_;   \
    } while (0)

int err_say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to the error that is held, if there is one: what a caller further up knows, who alone can say what
 * would help. One that is not held has been said. */
void err_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says one line that is no failure ("narrowcast: warning: ..."). Held like errors are. */
void err_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same at once, even while lines are held: for what one rank alone says, of a job that goes
 * on. */
void err_news(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write a line as it is, without "narrowcast: ", held or not: what a command reports of its work. */
void err_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Warns about a stranger: somebody whom nobody here has asked, such as one who calls a port. Any number
 * of them may come, so only ERR_STRANGERS of these lines are said in ERR_STRANGERS_S seconds. The
 * others are counted, and the count is said with the next line or by err_strangers_end(), which a
 * server calls last. Returns code. */
enum { ERR_STRANGERS = 10, ERR_STRANGERS_S = 10 };
int err_stranger(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void err_strangers_end(void);
#define ERR_STRANGER(code, ...) err_stranger((code), __VA_ARGS__)

/* How many lines have not been said so far: those about strangers, and those that nobody read. */
uint64_t err_left_out(void);

/* While held, lines are kept instead of printed: the first error wins. N ranks hold while each of
 * them may find the same mistake; comm_agree() then lets one of them speak, and N equal lines
 * become one. */
void err_hold(void);
void err_release(bool print);

/* What is held: the line, errors before warnings, the first before later ones. All zero: nothing,
 * and lines go to stderr. */
struct err_lines {
    bool held, full, full_of_error;
    char line[512];
    /* Takes a line, without "narrowcast: " and newline, in place of stderr; NULL: none does. Any of
     * the caller's threads calls it, with no lock held. */
    void (*to)(void *arg, bool error, const char *line);
    void *arg;
    char first[512]; /* the first error since the caller emptied it, said or not */
};

/* Several callers in one process, each of whom holds what it has to say, in turns or each in a thread
 * of its own: from now on it is these lines that this thread holds, says or forgets. NULL: the
 * process's own, which threads share. Returns those before. */
struct err_lines *err_turn(struct err_lines *lines);

#endif
