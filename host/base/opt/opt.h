/* opt.h : parses command lines with a table that also yields --help, suggestions and range errors.
 *
 * A subcommand is a struct of values, and a struct opt_command with a table of `struct opt`, whose
 * rows have the offsets of values. `--name value` and `--name=value` are equivalent. A repeated
 * option overrides earlier ones. `--` ends the options. Defaults are parsed like user input. */
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
    OPT_TEXT,   /* const char *, into argv; NULL without default */
    OPT_CHOICE, /* const char *, a word of metavar */
};

struct opt {
    const char *name; /* without dashes */
    /* name of the value, such as "N" in `--epochs N`; for OPT_CHOICE the values, as "a|b|c"; NULL
     * for a flag */
    const char *metavar;
    /* default as a user would type it; NULL: zero, false or NULL */
    const char *fallback;
    const char *help; /* sentences, which --help wraps */
    enum opt_type type;
    size_t at;       /* offset in the struct of values */
    double min, max; /* of numbers; both 0: no range */
    unsigned mark;   /* the caller's bits, for opt_lines() */
};

/* Ends of rows without a mark, from `type` on. AT(field): the field's offset. */
#define TEXT_AT(field)           OPT_TEXT, AT(field), 0, 0, 0
#define FLAG_AT(field)           OPT_FLAG, AT(field), 0, 0, 0
#define CHOICE_AT(field)         OPT_CHOICE, AT(field), 0, 0, 0
#define INT_AT(field, min, max)  OPT_INT, AT(field), min, max, 0
#define SIZE_AT(field, min, max) OPT_SIZE, AT(field), min, max, 0
#define REAL_AT(field, min, max) OPT_REAL, AT(field), min, max, 0

enum { OPT_MAX = 128 };

struct opt_command {
    const char *name;             /* "train" */
    const char *args;             /* for the usage line: "IN OUT", or "" */
    int min_args, max_args;       /* positional arguments */
    const char *about, *examples; /* paragraphs of --help */
    const struct opt *opts;
    int n_opts; /* at most OPT_MAX */
    /* prints further groups of --help after the options; NULL: none */
    void (*more)(FILE *to);
    /* "o=out" if -o means --out, or NULL */
    const char *letter;
    /* a program of its own: messages say `name`, not `narrowcast name` */
    bool alone;
    /* command to which the first n_shared options belong, or NULL */
    const char *shared;
    int n_shared;
};

struct opt_parsed {
    /* --help or -h was given; nothing else was parsed */
    bool help;
    /* word after the help option: an option, a section or a row; NULL: none */
    const char *topic;
    bool given[OPT_MAX]; /* opts[i] was on the command line */
    char **args;         /* [n_args] positional arguments, at the front of argv */
    int n_args;
};

/* Parse the argc words after the subcommand into values. Reorders argv. Reports -EINVAL with a
 * correction. */
int opt_parse(const struct opt_command *cmd, int argc, char **argv, void *values,
              struct opt_parsed *out);

/* Return whether the user gave this option, which must be in the table. */
bool opt_given(const struct opt_command *cmd, const struct opt_parsed *parsed, const char *name);

/* Print the help of a subcommand: usage, about, options with defaults by groups, examples. Omits
 * options shared with another command. parsed->topic: print only the option, sections or rows of
 * that name, including shared ones. */
void opt_help(const struct opt_command *cmd, const struct opt_parsed *parsed, FILE *to);
/* Return true for an option, a row, a value listed in the help, or a section. */
bool opt_help_has(const struct opt_command *cmd, const char *word);
/* Report -EINVAL if the help lacks topic. */
int opt_help_check(const struct opt_command *cmd, const char *topic);

/* Print text with commands as typed in the source tree ("build/narrowcast", after "host/ranks.sh
 * N"); an installed program prints them as typed after installation. */
void opt_print(FILE *to, const char *text);

/* For `more`: print a row like an option's. */
void opt_help_row(FILE *to, const char *word, const char *help);

/* Return the index of the option name[n] in cmd->opts, or -1. */
int opt_find(const struct opt_command *cmd, const char *name, size_t n);

/* Set names to the options' names. Returns their number. */
int opt_names(const struct opt_command *cmd, const char *names[OPT_MAX]);

/* Parse one value. Reports -EINVAL. */
int opt_set(const struct opt *o, const char *text, void *values);

/* Return the value as text that opt_set() reads back ("yes" or "no" for flags, "" for NULL): the
 * stored string, or `number`, into which it is written. */
enum { OPT_NUMBER = 32 };
const char *opt_get(const struct opt *o, const void *values, char number[OPT_NUMBER]);

/* Return the option's name as a JSON key, with '_' between words. */
enum { OPT_KEY = 32 };
const char *opt_key(const struct opt *o, char key[OPT_KEY]);

/* Append lines "name=value\n" of options whose mark shares a bit with `mark`; of all if mark is
 * 0. */
void opt_lines(const struct opt_command *cmd, const void *values, unsigned mark, struct text *to);

/* A line in which two runs differ. Long parts are cut; a missing value is "". */
struct opt_difference {
    char name[64], mine[100], theirs[100];
};

/* Compare two results of opt_lines(), one of which may be untrusted bytes. If they differ, return
 * true and fill *first. */
bool opt_lines_differ(const char *mine, const char *theirs, struct opt_difference *first);

/* Suggest the word of `list` (separated by blanks, commas, bars or "or") that is nearest to `word`,
 * ignoring case, as ": did you mean 'e4m3'?", or "". Returns to. */
enum { OPT_GUESS = 64 };
const char *opt_guess(const char *word, const char *list, char to[OPT_GUESS]);

/* Return the nearest of n names, or NULL if none is near enough. */
const char *opt_nearest(const char *word, const char *const *names, int n);

#endif
