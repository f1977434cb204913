/* opt.h : parses command lines by a table that also yields --help, suggestions and range errors.
 *
 * A subcommand consists of a struct of values, a static table of `struct opt` that says where
 * in it each value is, and a struct opt_command around the table. `--name value` and
 * `--name=value` are equivalent, the last one wins, and `--` ends the options. Defaults are
 * text and go through the same parser as user input. */
#ifndef OPT_H
#define OPT_H
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_type {
    OPT_GROUP,  /* not an option: a headline of --help (name) */
    OPT_FLAG,   /* bool, takes no value */
    OPT_INT,    /* int64_t */
    OPT_SIZE,   /* uint64_t; 64k, 4M, 1G are powers of 1024 */
    OPT_REAL,   /* double, finite */
    OPT_TEXT,   /* const char *, into argv; NULL when there is no default */
    OPT_CHOICE, /* const char *, one of the words in metavar */
};

struct opt {
    const char *name; /* without dashes */
    /* "N" in `--epochs N`; OPT_CHOICE: the values "a|b|c"; NULL for a flag */
    const char *metavar;
    const char *fallback; /* default as a user would type it; NULL: zero, false, NULL */
    const char *help;     /* sentences, wrapped by --help */
    enum opt_type type;
    size_t at;       /* offset in the struct of values */
    double min, max; /* OPT_INT, OPT_SIZE, OPT_REAL; no range when both are 0 */
    unsigned mark;   /* bits of the caller, for opt_line() */
};

enum { OPT_MOST = 128 };

struct opt_command {
    const char *name;             /* "train" */
    const char *args;             /* for the usage line: "IN OUT"; "" for none */
    int min_args, max_args;       /* positional arguments */
    const char *about, *examples; /* paragraphs of --help */
    const struct opt *opts;
    int n_opts;             /* at most OPT_MOST */
    void (*more)(FILE *to); /* prints further groups of --help, after the options; NULL: none */
    const char *letter;     /* "o=out": -o is --out; NULL: none */
    bool alone;             /* a program of its own: messages say `name`, not `narrowcast name` */
    const char
        /* command that the first n_shared options belong to; NULL: none are shared */
        *shared;
    int n_shared;
};

struct opt_parsed {
    bool help;            /* --help or -h was given; nothing else was parsed */
    const char *topic;    /* word after it: an option, section or row; NULL: none */
    bool given[OPT_MOST]; /* opts[i] was on the command line */
    char **args;          /* [n_args] positional arguments, at the front of argv */
    int n_args;
};

/* Parse argv[0..argc) (the words after the subcommand) into values; reorders argv.
 * Reports -EINVAL with a correction. */
int opt_parse(const struct opt_command *cmd, int argc, char **argv, void *values,
              struct opt_parsed *out);

/* Return true if the user gave this option. name must be in the table. */
bool opt_given(const struct opt_command *cmd, const struct opt_parsed *parsed, const char *name);

/* Print the help of a subcommand: usage, about, options with defaults by groups, examples. Options
 * shared with another command are omitted. With parsed->topic: only the option, sections or rows
 * of that name, shared ones included. */
void opt_help(const struct opt_command *cmd, const struct opt_parsed *parsed, FILE *to);
/* Return true if the word is an option, a row, a value listed in the help, or a section. */
bool opt_help_has(const struct opt_command *cmd, const char *word);
/* Return 0 if the help covers topic, or report -EINVAL. */
int opt_help_check(const struct opt_command *cmd, const char *topic);

/* Print text that shows commands as typed in the source tree ("build/narrowcast", after
 * "host/ranks.sh N"). An installed program prints them as typed where it is installed. */
void opt_print(FILE *to, const char *text);

/* For `more`: print a row like those of options. */
void opt_help_row(FILE *to, const char *word, const char *help);

/* Parse one value into values. Reports -EINVAL. */
int opt_set(const struct opt *o, const char *text, void *values);

/* Return the value as text that opt_set() reads back to the same value ("yes"/"no" for flags, ""
 * for NULL): the stored string, or number, filled in. */
enum { OPT_NUMBER = 32 };
const char *opt_get(const struct opt *o, const void *values, char number[OPT_NUMBER]);

/* Return the option's name as a JSON key, with '_' between its words. */
enum { OPT_KEY = 32 };
const char *opt_key(const struct opt *o, char key[OPT_KEY]);

/* Append values as lines "name=value\n": those of options whose mark shares
 * a bit with `mark` (0: all). */
void opt_lines(const struct opt_command *cmd, const void *values, unsigned mark, struct text *to);

/* A line of opt_lines() in which two runs differ. Long parts are cut; a missing value is "". */
struct opt_difference {
    char name[64], mine[100], theirs[100];
};

/* Compare two opt_lines(), one of which may be untrusted bytes. Fills *first if it returns true. */
bool opt_lines_differ(const char *mine, const char *theirs, struct opt_difference *first);

/* Suggest the word of `list` (separated by blanks, commas, bars or "or") nearest to `word`,
 * ignoring case: ": did you mean 'e4m3'?", or "". Returns to. */
enum { OPT_GUESS = 64 };
const char *opt_guess(const char *word, const char *list, char to[OPT_GUESS]);

/* Return the nearest of n names, or NULL if none is near enough. */
const char *opt_nearest(const char *word, const char *const *names, int n);

#endif
