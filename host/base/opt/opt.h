/* opt.h : command lines from one table: parsing, --help, "did you mean" and range errors all read
 * the same rows.
 *
 * A subcommand is a struct of values, a static table of `struct opt` that says where in that struct
 * each value lies, and a struct opt_command around the table. `--name value` and `--name=value` are
 * the same; the last one given counts; `--` ends the options. Defaults are text and go through the
 * same parser as the user's words. */
#ifndef OPT_H
#define OPT_H
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_type {
    OPT_GROUP,  /* no option: a headline in --help (name) */
    OPT_FLAG,   /* bool, takes no value */
    OPT_INT,    /* int64_t */
    OPT_SIZE,   /* uint64_t; 64k, 4M, 1G are powers of 1024 */
    OPT_REAL,   /* double, finite */
    OPT_TEXT,   /* const char *, into argv; NULL when there is no default */
    OPT_CHOICE, /* const char *, one of the words in metavar */
};

struct opt {
    const char *name; /* without its dashes */
    /* "N" in `--epochs N`; OPT_CHOICE: "a|b|c", the words themselves; NULL for a flag */
    const char *metavar;
    const char *fallback; /* the default as a user would write it; NULL: zero, false, NULL */
    const char *help;     /* one or more sentences, wrapped by --help */
    enum opt_type type;
    size_t at;       /* offset of the value in the struct of values */
    double min, max; /* OPT_INT, OPT_SIZE, OPT_REAL; no range when both are 0 */
    unsigned mark;   /* the caller's own bits, for opt_line() */
};

enum { OPT_MOST = 128 };

struct opt_command {
    const char *name;             /* "train" */
    const char *args;             /* "IN OUT" for the usage line; "" for none */
    int min_args, max_args;       /* positional arguments */
    const char *about, *examples; /* paragraphs of --help */
    const struct opt *opts;
    int n_opts;             /* OPT_MOST at most */
    void (*more)(FILE *to); /* further groups of --help, below the options; NULL: none */
    const char *letter;     /* "o=out": -o is --out; NULL: there is none */
    bool alone;             /* a program of its own: messages say `name`, not `narrowcast name` */
    const char
        *shared; /* the command whose options the first n_shared are; NULL: all are its own */
    int n_shared;
};

struct opt_parsed {
    bool help;            /* --help or -h stood there; nothing else was looked at */
    const char *topic;    /* the word after it: an option, a section, a row; NULL: none */
    bool given[OPT_MOST]; /* opts[i] stood on the command line */
    char **args;          /* [n_args] positional arguments, the front of argv */
    int n_args;
};

/* Reads argv[0..argc) (the words after the subcommand) into values; reorders argv.
 * Returns 0 or -EINVAL with a line that says what would be right. */
int opt_parse(const struct opt_command *cmd, int argc, char **argv, void *values,
              struct opt_parsed *out);

/* Did the user give this option? name must be in the table. */
bool opt_given(const struct opt_command *cmd, const struct opt_parsed *parsed, const char *name);

/* Print the help of a subcommand: usage, about, every option with its default by groups, examples.
 * Options that are shared with another command are left out. With parsed->topic: only the option, the
 * sections or the rows of that name, shared ones included. */
void opt_help(const struct opt_command *cmd, const struct opt_parsed *parsed, FILE *to);
/* Is the word an option, a row, a value that the help lists, or a section? */
bool opt_help_has(const struct opt_command *cmd, const char *word);
/* Return 0 if the help has something of that name, else -EINVAL after an error. */
int opt_help_check(const struct opt_command *cmd, const char *topic);

/* Print text in which commands stand as they are typed in the source tree ("build/narrowcast", after
 * "host/ranks.sh N"). An installed program prints them as they are typed where it is installed. */
void opt_print(FILE *to, const char *text);

/* For `more`: a row as those of options are. */
void opt_help_row(FILE *to, const char *word, const char *help);

/* Parses one value into values. Returns 0 or -EINVAL with a line. */
int opt_set(const struct opt *o, const char *text, void *values);

/* The value as text that opt_set() reads back to the same value ("yes"/"no" for flags, "" for
 * NULL): the option's own words, or number filled. */
enum { OPT_NUMBER = 32 };
const char *opt_get(const struct opt *o, const void *values, char number[OPT_NUMBER]);

/* The option's name as a key of JSON lines, whose words have '_' between them. */
enum { OPT_KEY = 32 };
const char *opt_key(const struct opt *o, char key[OPT_KEY]);

/* Adds all values as lines "name=value\n", options whose mark shares a bit with `mark` alone (0:
 * all). */
void opt_lines(const struct opt_command *cmd, const void *values, unsigned mark, struct text *to);

/* One line of opt_lines() in which two runs differ: parts that are too long are cut; a value that
 * is not there is "". */
struct opt_difference {
    char name[64], mine[100], theirs[100];
};

/* Holds two opt_lines() against each other, one of which may be anybody's bytes. first: filled when
 * true. */
bool opt_lines_differ(const char *mine, const char *theirs, struct opt_difference *first);

/* " did you mean 'e4m3'?" with a colon before it, for the word of `list` (blanks, commas, bars or "or"
 * between them) that is nearest to `word` in any case of letters, else "". Returns to. */
enum { OPT_GUESS = 64 };
const char *opt_guess(const char *word, const char *list, char to[OPT_GUESS]);

/* The name nearest to word among n names, or NULL when none is near enough to be meant. */
const char *opt_nearest(const char *word, const char *const *names, int n);

#endif
