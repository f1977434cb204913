/* opt_nearest.c : finds the word that a mistyped one was meant to be. */
#include "base/opt/opt.h"
#include <ctype.h>
#include <string.h>

enum { NAME_MAX_LEN = 40, GUESS_WORDS = 64 };

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Levenshtein distance, in which a swap of neighbours is one edit. */
static int distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > NAME_MAX_LEN || m > NAME_MAX_LEN)
        return NAME_MAX_LEN;
    int d[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int best = d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *opt_nearest(const char *word, const char *const *names, int n)
{
    const char *nearest = NULL;
    /* allows one edit in a short word, two from four letters on, three from seven on */
    int limit = (int)(strlen(word) + 5) / 3;
    limit = limit > 4 ? 4 : limit;
    for (int i = 0; i < n; i++) {
        int d = distance(word, names[i]);
        if (d < limit) {
            nearest = names[i];
            limit = d;
        }
    }
    return nearest;
}

int opt_names(const struct opt_command *cmd, const char *names[OPT_MAX])
{
    int n = 0;
    for (int i = 0; i < cmd->n_opts; i++)
        if (cmd->opts[i].type != OPT_GROUP)
            names[n++] = cmd->opts[i].name;
    return n;
}

const char *opt_guess(const char *word, const char *list, char to[OPT_GUESS])
{
    static const char between[] = " ,|";
    char words[GUESS_WORDS][OPT_GUESS / 2];
    const char *names[GUESS_WORDS];
    int n = 0;
    for (const char *at = list + strspn(list, between); *at && n < GUESS_WORDS;) {
        snprintf(words[n], sizeof words[n], "%.*s", (int)strcspn(at, " ,|["), at); /* not [:G] */
        names[n] = words[n];
        n += strcmp(words[n], "or") != 0;
        at += strcspn(at, between);
        at += strspn(at, between);
    }
    const char *nearest = *word ? opt_nearest(word, names, n) : NULL;
    *to = 0;
    if (nearest)
        snprintf(to, OPT_GUESS, ": did you mean '%s'?", nearest);
    return to;
}
