/* opt.h : parses command lines with a table that also yields --help, suggestions and range errors.
 *
 * A subcommand consists of a struct of values, a static table of `struct opt`, and a struct
 * opt_command that contains the table. Each row of the table names the place of its value in the
 * struct. `--name value` and `--name=value` are equivalent. If an option is repeated, the last one
 * wins. `--` ends the options. Defaults are text and go through the same parser as user input. */
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
    OPT_TEXT,   /* const char *, into argv; NULL without a default */
    OPT_CHOICE, /* const char *, one of the words in metavar */
};

struct opt {
    const char *name; /* without dashes */
    /* Name of the value, such as "N" in `--epochs N`. For OPT_CHOICE: the values, as "a|b|c". NULL
     * for a flag. */
    const char *metavar;
    /* Default as a user would type it. NULL selects zero, false or NULL. */
    const char *fallback;
    const char *help; /* sentences, which --help wraps */
    enum opt_type type;
    size_t at;       /* offset in the struct of values */
    double min, max; /* range of numbers; no range if both are 0 */
    unsigned mark;   /* bits of the caller, for opt_lines() */
};

enum { OPT_MAX = 128 };

struct opt_command {
    const char *name;             /* "train" */
    const char *args;             /* for the usage line: "IN OUT", or "" */
    int min_args, max_args;       /* positional arguments */
    const char *about, *examples; /* paragraphs of --help */
    const struct opt *opts;
    int n_opts; /* at most OPT_MAX */
    /* Prints further groups of --help after the options, or NULL. */
    void (*more)(FILE *to);
    /* "o=out" if -o means --out, or NULL. */
    const char *letter;
    /* This is a program of its own: messages say `name`, not `narrowcast name`. */
    bool alone;
    const char
        /* Command to which the first n_shared options belong, or NULL if none are shared. */
        *shared;
    int n_shared;
};

struct opt_parsed {
    /* --help or -h was given. Nothing else was parsed. */
    bool help;
    /* Word after the help option: an option, a section or a row. NULL if there is none. */
    const char *topic;
    bool given[OPT_MAX]; /* opts[i] was on the command line */
    char **args;         /* [n_args] positional arguments, at the front of argv */
    int n_args;
};

/* Parse argv[0] to argv[argc - 1], the words after the subcommand, into values. Reorders argv.
 * Reports -EINVAL with a correction. */
int opt_parse(const struct opt_command *cmd, int argc, char **argv, void *values,
              struct opt_parsed *out);

/* Return true if the user gave this option. name must be in the table. */
bool opt_given(const struct opt_command *cmd, const struct opt_parsed *parsed, const char *name);

/* Print the help of a subcommand: usage, about, options with defaults by groups, examples. Options
 * shared with another command are omitted. If parsed->topic is set, print only the option, sections
 * or rows of that name, including shared ones. */
void opt_help(const struct opt_command *cmd, const struct opt_parsed *parsed, FILE *to);
/* Return true if the word is an option, a row, a value listed in the help, or a section. */
bool opt_help_has(const struct opt_command *cmd, const char *word);
/* Return 0 if the help covers topic, or report -EINVAL. */
int opt_help_check(const struct opt_command *cmd, const char *topic);

/* Print text that contains commands as typed in the source tree ("build/narrowcast", after
 * "host/ranks.sh N"). An installed program prints the commands as typed after the installation. */
void opt_print(FILE *to, const char *text);

/* For `more`: print a row in the style of an option's row. */
void opt_help_row(FILE *to, const char *word, const char *help);

/* Return today's name of a command (command: "") or of an option of a command, for a name of the
 * previous release. Return NULL if the word was never such a name. Old names are accepted, but not
 * listed. */
const char *opt_renamed(const char *command, const char *word, size_t n);

/* Return the index of the option name[n] in cmd->opts, or -1. */
int opt_find(const struct opt_command *cmd, const char *name, size_t n);

/* Parse one value into values. Reports -EINVAL. */
int opt_set(const struct opt *o, const char *text, void *values);

/* Return the value as text, which opt_set() reads back to the same value ("yes" or "no" for flags,
 * "" for NULL). The result is the stored string, or `number` after it was filled in. */
enum { OPT_NUMBER = 32 };
const char *opt_get(const struct opt *o, const void *values, char number[OPT_NUMBER]);

/* Return the option's name as a JSON key, with '_' between its words. */
enum { OPT_KEY = 32 };
const char *opt_key(const struct opt *o, char key[OPT_KEY]);

/* Append values as lines "name=value\n": those of options whose mark shares a bit with `mark`, or
 * of all options if mark is 0. */
void opt_lines(const struct opt_command *cmd, const void *values, unsigned mark, struct text *to);

/* A line of opt_lines() in which two runs differ. Long parts are cut, and a missing value is "". */
struct opt_difference {
    char name[64], mine[100], theirs[100];
};

/* Compare two results of opt_lines(), one of which may be untrusted bytes. Returns true if they
 * differ, and fills *first. */
bool opt_lines_differ(const char *mine, const char *theirs, struct opt_difference *first);

/* Suggest the word of `list` (separated by blanks, commas, bars or "or") that is nearest to `word`,
 * ignoring case. The result is ": did you mean 'e4m3'?", for example, or "". Returns to. */
enum { OPT_GUESS = 64 };
const char *opt_guess(const char *word, const char *list, char to[OPT_GUESS]);

/* Return the nearest of n names, or NULL if none of them is near enough. */
const char *opt_nearest(const char *word, const char *const *names, int n);

#endif
