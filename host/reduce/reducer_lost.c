/* reducer_lost.c : how many elements of a step are sent as 0, or as the largest number. */
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"

int reducer_count_lost(struct reducer *r)
{
    char text[CODEC_TEXT_BYTES];
    struct vec_cast cast;
    if (r->batches)
        return ERR(-EINVAL, "cannot count what casts lose on a GPU: need device cpu");
    if (!codec_cast(&r->codecs[NARROW], &cast))
        return ERR(-EINVAL, "cannot count what casts lose by codec \"%s\": its codes are no casts",
                   codec_describe(&r->codecs[NARROW], text));
    r->counts_lost = true;
    return 0;
}

void reducer_lost(const struct reducing *s, const struct group *g)
{
    const struct reducer *r = s->r;
    const struct codec *codec = &r->codecs[NARROW];
    const double start = clock_s();
    struct vec_cast cast;
    if (!r->counts_lost || r->force_fp32 || !codec_cast(codec, &cast))
        return;
    for (int k = g->first; k < g->first + g->n_layers; k++) {
        const uint32_t i = r->plans[NARROW].placed[k].index;
        if (r->layers[i].fp32)
            continue;
        cast.key = codec_key(codec, s->step, i, (uint32_t)comm_rank(r->comm));
        codec_lost_add(&s->report->lost, &cast, codec_shift(codec, r->exponents[k]), s->grads[i],
                       r->layers[i].n, 0);
    }
    s->report->codec_s += clock_s() - start;
}
