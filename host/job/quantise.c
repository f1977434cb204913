/* quantise.c : leaves the smallest layers in fp32. Source: the 1-bit study, section 3. */
#include "job/quantise.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "codec/codec_kind.h"
#include <string.h>

enum { SHARE = 100 }; /* one in so many elements may stay */

int quantise_parse(const char *word, const struct codec *codec, bool *leaves_small)
{
    if (!word || !strcmp(word, "auto"))
        *leaves_small = codec->kind->leaves_small;
    else if (!strcmp(word, "large") || !strcmp(word, "all"))
        *leaves_small = !strcmp(word, "large");
    else
        return ERR(-EINVAL, "unknown --quantise \"%s\": want auto, large or all%s", word,
                   opt_guess(word, "auto large all", (char[OPT_GUESS]){0}));
    return 0;
}

/* The smallest that is not marked, the first of equals; -1: all are. */
static int smallest(const struct reducer_layer *layers, int n_layers)
{
    int found = -1;
    for (int i = 0; i < n_layers; i++)
        if (!layers[i].fp32 && (found < 0 || layers[i].n < layers[found].n))
            found = i;
    return found;
}

void quantise_leave_small(struct reducer_layer *layers, int n_layers)
{
    size_t all = 0, left = 0;
    for (int i = 0; i < n_layers; i++)
        all += layers[i].n;
    for (int i; (i = smallest(layers, n_layers)) >= 0;) {
        left += layers[i].n;
        if (left >= (all + SHARE - 1) / SHARE)
            break;
        layers[i].fp32 = true;
    }
}
