/* conv_pick.cu : runs cuDNN's plans for a pass on blank tensors and keeps the fastest.
 *
 * A later plan must beat the best by a margin, so that noise does not change the choice. Uses
 * cuDNN's first guess if the stream is being captured at first use, or memory lacks room for a
 * second copy of the tensors.
 *
 * Plans add in different orders, and times vary, so only NARROWCAST_CONV=first gives the same bits
 * in a repeated run. `any` also tries engines that conv_graph.cu leaves out. */
#include "device/nn/conv.cuh"
#include <stdlib.h>
#include <string.h>

enum { TIMED_RUNS = 3 };
/* share of the best time that a later plan must stay below */
static const float margin = 0.95f;
/* multiple of the best time above which a plan is not run again */
static const float hopeless = 3;

int conv_failed(const struct dev_nn *d, const struct conv_key *key, cudnnStatus_t status)
{
    static const char *passes[] = {"", ", data gradient", ", data gradient added",
                                   ", weight gradient"};
    const struct nn_window *g = &key->g;
    return cu_say(
        -EIO, "gpu: conv %dx%d %d->%d %dx%d stride %d dilation %d batch %d %s%s: cuDNN says %s",
        g->k, g->k, g->in.c, g->out.c, g->in.h, g->in.w, g->stride, window_dilation(*g), key->batch,
        nn_math_word(d->math), passes[key->pass], cudnnGetErrorString(status));
}

struct blank {
    void *x, *w, *y, *scratch;
    cudaEvent_t from, to;
};

static void blank_close(struct blank *b)
{
    cudaFree(b->x);
    cudaFree(b->w);
    cudaFree(b->y);
    cudaFree(b->scratch);
    if (b->from)
        cudaEventDestroy(b->from);
    if (b->to)
        cudaEventDestroy(b->to);
}

/* Fills the tensor with bytes that are about 1/100 or 1 in every type. */
static bool blank_tensor(void **out, size_t bytes, cudaStream_t s)
{
    return cudaMalloc(out, bytes) == cudaSuccess &&
           cudaMemsetAsync(*out, 0x3c, bytes, s) == cudaSuccess;
}

static bool blank_open(const struct dev_nn *d, const struct conv_key *key, size_t scratch_bytes,
                       struct blank *b)
{
    cudaStream_t s = cu_stream(d->s);
    memset(b, 0, sizeof *b);
    if (blank_tensor(&b->x, conv_elements(key->g.in, key->batch) * nn_bytes(d), s) &&
        blank_tensor(&b->w, conv_weights(&key->g) * nn_bytes(d), s) &&
        blank_tensor(&b->y, conv_elements(key->g.out, key->batch) * nn_bytes(d), s) &&
        blank_tensor(&b->scratch, scratch_bytes, s) && cudaEventCreate(&b->from) == cudaSuccess &&
        cudaEventCreate(&b->to) == cudaSuccess)
        return true;
    (void)cudaGetLastError(); /* without memory, plans are not measured */
    blank_close(b);
    return false;
}

/* Returns a run's milliseconds, negative if the plan fails. */
static float time_of(struct dev_nn *d, struct conv_plan *p, const struct blank *b, int runs)
{
    const struct conv_tensors t = {b->x, b->w, b->y};
    cudaStream_t s = cu_stream(d->s);
    float ms = -1;
    bool ok = cudaEventRecord(b->from, s) == cudaSuccess;
    for (int i = 0; ok && i < runs; i++)
        ok = conv_execute(d, p, &t, b->scratch) == CUDNN_STATUS_SUCCESS;
    ok = ok && cudaEventRecord(b->to, s) == cudaSuccess &&
         cudaEventSynchronize(b->to) == cudaSuccess &&
         cudaEventElapsedTime(&ms, b->from, b->to) == cudaSuccess;
    return ok ? ms / (float)runs : -1;
}

static int fastest(struct dev_nn *d, struct conv_plan *plans, int n, const struct blank *b)
{
    int best = -1;
    float best_ms = 0;
    for (int i = 0; i < n; i++) {
        float first = time_of(d, &plans[i], b, 1); /* loads its kernels */
        first = first < 0 ? first : time_of(d, &plans[i], b, 1);
        if (first < 0 || (best >= 0 && first > hopeless * best_ms))
            continue;
        const float ms = time_of(d, &plans[i], b, TIMED_RUNS);
        if (ms >= 0 && (best < 0 || ms < margin * best_ms)) {
            best = i;
            best_ms = ms;
        }
    }
    return best;
}

static int choose(struct dev_nn *d, struct conv_plan *plans, int n)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    struct blank b;
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        const size_t bytes = plans[i].result_bytes + plans[i].workspace_bytes;
        most = bytes > most ? bytes : most;
    }
    (void)cudaStreamIsCapturing(cu_stream(d->s), &capture);
    if (n == 1 || !d->conv->is_timed || capture != cudaStreamCaptureStatusNone ||
        !blank_open(d, &plans[0].key, most + 256, &b))
        return 0;
    const int best = fastest(d, plans, n, &b);
    blank_close(&b);
    return best;
}

int conv_pick(struct dev_nn *d, const struct conv_key *key, size_t scratch_most,
              struct conv_plan **out)
{
    for (struct conv_plan *p = d->conv->plans; p; p = p->next)
        if (!memcmp(&p->key, key, sizeof *key)) {
            *out = p;
            return 0;
        }
    struct conv_plan plans[CONV_PLANS], *kept = NULL;
    cudnnStatus_t why;
    const int n = conv_candidates(d, key, scratch_most, plans, &why);
    const bool has_fallback = key->pass == CONV_DATA_ADD;
    if (n == 0)
        return has_fallback ? -ENOSYS : conv_failed(d, key, why);
    const int best = choose(d, plans, n);
    if (best >= 0)
        kept = (struct conv_plan *)malloc(sizeof *kept);
    for (int i = 0; i < n; i++)
        if (i != best || !kept)
            conv_plan_close(&plans[i]);
    if (best < 0)
        return has_fallback ? -ENOSYS : conv_failed(d, key, CUDNN_STATUS_EXECUTION_FAILED);
    if (!kept)
        return cu_say(-ENOMEM, "gpu: no memory for the plan of a convolution");
    *kept = plans[best];
    kept->next = d->conv->plans;
    d->conv->plans = kept;
    *out = kept;
    return 0;
}
