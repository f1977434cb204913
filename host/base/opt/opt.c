/* opt.c : finds the table row of each option on a command line. */
#include "base/opt/opt.h"
#include "base/err.h"
#include <assert.h>
#include <string.h>

enum { NAME_MAX_LEN = 40 };

static const char *before(const struct opt_command *cmd)
{
    return cmd->alone ? "" : "narrowcast ";
}

int opt_find(const struct opt_command *cmd, const char *name, size_t n)
{
    for (int i = 0; i < cmd->n_opts; i++)
        if (cmd->opts[i].type != OPT_GROUP && strlen(cmd->opts[i].name) == n &&
            !memcmp(cmd->opts[i].name, name, n))
            return i;
    return -1;
}

static int unknown(const struct opt_command *cmd, const char *word)
{
    char name[NAME_MAX_LEN + 1];
    const char *names[1 + OPT_MAX] = {"help"};
    const int n = 1 + opt_names(cmd, names + 1);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *bare = name + strspn(name, "-"), *nearest = opt_nearest(bare, names, n);
    if (nearest)
        return ERR(-EINVAL, "unknown option '%s': did you mean '--%s'?", name, nearest);
    return ERR(-EINVAL, "unknown option '%s': see '%s%s --help'", name, before(cmd), cmd->name);
}

static int parse_option(const struct opt_command *cmd, int argc, char **argv, int *i, void *values,
                        bool *given)
{
    const char *word = argv[*i];
    size_t n = strcspn(word, "=");
    int row = word[1] == '-' ? opt_find(cmd, word + 2, n - 2) : -1;
    if (cmd->letter && word[1] == cmd->letter[0] && n == 2)
        row = opt_find(cmd, cmd->letter + 2, strlen(cmd->letter + 2));
    if (row < 0)
        return unknown(cmd, word);
    const struct opt *o = &cmd->opts[row];
    given[row] = true;
    if (word[n])
        return opt_set(o, word + n + 1, values);
    if (o->type == OPT_FLAG)
        return opt_set(o, "yes", values);
    if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2))
        return ERR(-EINVAL, "--%s needs a value: --%s %s", o->name, o->name, o->metavar);
    return opt_set(o, argv[++*i], values);
}

/* The help option may be anywhere. An option after it is a topic only as the last word. */
static bool asks_help(int n, char **words, const char **topic)
{
    const bool is = !strncmp(words[0], "--help=", 7);
    if (!is && strcmp(words[0], "--help") != 0 && strcmp(words[0], "-h") != 0)
        return false;
    *topic = is ? words[0] + 7 : n == 2 || (n > 2 && words[1][0] != '-') ? words[1] : NULL;
    return true;
}

static int check_topic(const struct opt_command *cmd, int argc, char **argv, const char *topic)
{
    for (int i = 0; i + 1 < argc; i++)
        if (argv[i] == topic && argv[i + 1][0] != '-')
            return ERR(-EINVAL, "--help '%s' '%s': takes one word: an option, a section or a row",
                       topic, argv[i + 1]);
    return opt_help_check(cmd, topic);
}

int opt_parse(const struct opt_command *cmd, int argc, char **argv, void *values,
              struct opt_parsed *out)
{
    struct opt_parsed parsed = {.args = argv};
    assert(cmd->n_opts <= OPT_MAX);
    for (int i = 0; i < argc && strcmp(argv[i], "--") && !parsed.help; i++)
        parsed.help = asks_help(argc - i, argv + i, &parsed.topic);
    if (parsed.topic)
        TRY(check_topic(cmd, argc, argv, parsed.topic));
    for (int i = 0; i < cmd->n_opts; i++)
        if (cmd->opts[i].type != OPT_GROUP && cmd->opts[i].fallback)
            TRY(opt_set(&cmd->opts[i], cmd->opts[i].fallback, values));
    bool options_end = false;
    for (int i = 0; i < argc && !parsed.help; i++) {
        if (!options_end && !strcmp(argv[i], "--"))
            options_end = true;
        else if (!options_end && argv[i][0] == '-' && argv[i][1])
            TRY(parse_option(cmd, argc, argv, &i, values, parsed.given));
        else
            argv[parsed.n_args++] = argv[i];
    }
    if (!parsed.help && parsed.n_args > 0 && cmd->max_args == 0)
        return ERR(-EINVAL, "'%s' is not an option: see '%s%s --help'", argv[0], before(cmd),
                   cmd->name);
    if (!parsed.help && parsed.n_args > cmd->max_args)
        return ERR(-EINVAL, "'%s' is one argument too many: usage: %s%s [options] %s",
                   argv[cmd->max_args], before(cmd), cmd->name, cmd->args);
    if (!parsed.help && parsed.n_args < cmd->min_args)
        return ERR(-EINVAL, "too few arguments: usage: %s%s [options] %s", before(cmd), cmd->name,
                   cmd->args);
    *out = parsed;
    return 0;
}

bool opt_given(const struct opt_command *cmd, const struct opt_parsed *parsed, const char *name)
{
    int row = opt_find(cmd, name, strlen(name));
    assert(row >= 0);
    return row >= 0 && parsed->given[row];
}
