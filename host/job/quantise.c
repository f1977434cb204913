/* quantise.c : lets the smallest layers travel in fp32 (--quantise). Source: paper 3 of README.md,
 * section 3. */
#include "base/buf.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "codec/codec_kind.h"
#include "job/job.h"
#include <stdlib.h>
#include <string.h>

enum { SHARE = 100 };

int quantise_parse(const char *word, const struct codec *codec, bool *leaves_small)
{
    if (!word || !strcmp(word, "auto"))
        *leaves_small = codec->kind->leaves_small;
    else if (!strcmp(word, "large") || !strcmp(word, "all"))
        *leaves_small = !strcmp(word, "large");
    else
        return ERR(-EINVAL, "unknown --quantise \"%s\": need auto, large or all%s", word,
                   opt_guess(word, "auto large all", (char[OPT_GUESS]){0}));
    return 0;
}

/* Equal layers keep their order. */
static int by_size(const void *a, const void *b)
{
    const struct reducer_layer *x = *(struct reducer_layer *const *)a,
                               *y = *(struct reducer_layer *const *)b;
    return x->n != y->n ? (x->n > y->n) - (x->n < y->n) : (x > y) - (x < y);
}

int quantise_leave_small(struct reducer_layer *layers, int n_layers)
{
    size_t all = 0, left = 0;
    struct reducer_layer **sorted = buf_alloc((size_t)n_layers * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    for (int i = 0; i < n_layers; i++) {
        sorted[i] = &layers[i];
        all += layers[i].n;
    }
    qsort(sorted, (size_t)n_layers, sizeof *sorted, by_size);
    for (int i = 0; i < n_layers; i++) {
        left += sorted[i]->fp32 ? 0 : sorted[i]->n;
        if (left >= (all + SHARE - 1) / SHARE)
            break;
        sorted[i]->fp32 = true;
    }
    free(sorted);
    return 0;
}
