/* codec_kind.c : implements helpers that kinds of codec share. */
#include "codec/codec_kind.h"
#include "base/err.h"

int codec_no_format(const struct codec_spec *w, const char *name)
{
    const char *const words[][2] = {{"format", w->format},
                                    {"scale", w->scale},
                                    {"sum", w->sum},
                                    {"acc-format", w->acc_format},
                                    {"out-format", w->out_format},
                                    {"overflow", w->overflow},
                                    {"round", w->round}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i][1])
            return ERR(-EINVAL, "--%s %s has no effect with --codec %s: leave it out", words[i][0],
                       words[i][1], name);
    if (w->rescale)
        return ERR(-EINVAL, "--rescale has no effect with --codec %s: leave it out", name);
    return 0;
}

int codec_on_cpu(const struct codec *c)
{
    return c->ops->levels ? 0
                          : ERR(-EINVAL, "codec \"%s\" has no kernels for GPUs: need --device cpu",
                                c->kind->name);
}

struct codec_piece codec_piece_at(const struct codec_call *call, size_t at, size_t end)
{
    const struct codec_layer *l = call->layers, *last = l + call->n_layers - 1;
    while (l < last && at >= l[1].at)
        l++;
    const size_t from = at - l->at, to = (l < last && l[1].at < end ? l[1].at : end) - l->at,
                 own = to < l->n ? to : l->n;
    return (struct codec_piece){
        .layer = l, .at = from, .n = own > from ? own - from : 0, .padded = to - from};
}

bool codec_always(const struct codec *c)
{
    (void)c;
    return true;
}

size_t codec_no_bytes(const struct reduce_op *f, size_t n)
{
    (void)f, (void)n;
    return 0;
}
