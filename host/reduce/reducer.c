/* reducer.c : opens and closes a reducer, and implements the caller's side of a step. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_packed.h"
#include "reduce/reducer_shard.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct reducer_layer *layer)
{
    return layer->name ? layer->name : "?";
}

/* The layers' names follow the list in the same allocation. */
static int copy_layers(struct reducer *r, const struct reducer_layer *layers)
{
    const size_t n = (size_t)r->n_layers;
    size_t names = 0, n_exponents = 0;
    for (size_t i = 0; i < n; i++) {
        names += strlen(name_of(&layers[i])) + 1;
        n_exponents += codec_n_exponents(&r->codecs[NARROW], layers[i].n);
    }
    r->layers = buf_alloc(n * sizeof *r->layers + names);
    r->exponents = buf_alloc(n_exponents);
    r->own_exponents = buf_alloc(n_exponents);
    r->own_maxima = buf_alloc(n * sizeof *r->own_maxima);
    r->maxima = buf_alloc(n * sizeof *r->maxima);
    r->max_bytes = buf_alloc(n);
    r->guesses = buf_alloc(n * sizeof *r->guesses);
    r->failed = buf_alloc(reducer_vote_words(r->n_layers) * sizeof *r->failed);
    r->spans = buf_alloc(n * sizeof *r->spans);
    r->outs = buf_alloc((n + SHARD_OUTS) * sizeof *r->outs);
    r->parts = buf_alloc((n + SHARD_OUTS) * sizeof *r->parts);
    if (!r->layers || !r->exponents || !r->own_exponents || !r->own_maxima || !r->maxima ||
        !r->max_bytes || !r->guesses || !r->failed || !r->spans || !r->outs || !r->parts)
        return -ENOMEM;
    char *name = (char *)(r->layers + n);
    for (size_t i = 0; i < n; i++) {
        if (layers[i].n == 0)
            return ERR(-EINVAL, "cannot reduce layer \"%s\": it has no elements",
                       name_of(&layers[i]));
        r->layers[i] = layers[i];
        r->layers[i].name = strcpy(name, name_of(&layers[i]));
        name += strlen(name) + 1;
        r->fp32_bytes += 4 * (uint64_t)layers[i].n;
        r->guesses[i] = codec_guess(&r->codecs[layers[i].fp32]);
    }
    return 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void size_buffers(struct reducer *r)
{
    size_t codes = r->releases ? 0 : (size_t)r->plans[NARROW].code_bytes, result = 0, scratch = 0;
    for (int p = 0; p < 2; p++) {
        for (int i = 0; i < r->plans[p].n_buckets; i++) {
            const struct bucket *b = &r->plans[p].buckets[i];
            const struct reduce_op *f = &b->op;
            codes = larger(codes, f->ops->in_bytes(f, b->n));
            const size_t longest = r->shard ? shard_longest(r, p == FP32, i) : b->n;
            result = larger(result, f->ops->out_bytes(f, longest));
            scratch = larger(scratch,
                             r->algo->scratch_bytes(f, longest, comm_n_ranks(r->comm), r->group));
        }
    }
    scratch = r->low ? reducer_low_bytes(r) : scratch;
    r->buffers = (struct algo_buffers){
        .codes_bytes = codes, .result_bytes = result, .scratch_bytes = scratch};
}

/* The backend and MPI must be able to access the buffers. */
static int make_buffers(struct reducer *r)
{
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    r->buffers.codes = r->codes = ops->alloc(r->buffers.codes_bytes);
    r->buffers.result = r->result = ops->alloc(r->buffers.result_bytes);
    r->scratch = ops->alloc(r->buffers.scratch_bytes);
    r->buffers.scratch = r->scratch;
    return r->codes && r->result && r->scratch ? 0 : -ENOMEM;
}

static int plan(struct reducer *r, const struct reducer_spec *spec, bool owns)
{
    const int n_ranks = comm_n_ranks(r->comm);
    if (r->n_layers < 1 || spec->bucket_bytes == 0)
        return ERR(-EINVAL,
                   "cannot reduce %d layers in buckets of %zu bytes: need at least 1 of each",
                   r->n_layers, spec->bucket_bytes);
    if (r->codecs[NARROW].n_ranks != n_ranks)
        return ERR(-EINVAL, "cannot reduce over %d ranks: the codec was set up for %d", n_ranks,
                   r->codecs[NARROW].n_ranks);
    for (int i = 0; i < 2 && r->algo->check; i++)
        TRY(r->algo->check(&r->codecs[i], n_ranks, r->group));
    TRY(copy_layers(r, spec->layers));
    TRY(spec->range ? shard_open(r, spec->range) : 0);
    TRY(reducer_make_plan(r, false, spec->bucket_bytes));
    TRY(reducer_make_plan(r, true, spec->bucket_bytes));
    TRY(r->shard ? shard_cut(r, owns) : 0);
    reducer_state_size(r);
    size_buffers(r);
    return 0;
}

/* Only computes sizes unless `owns`. */
static int open(const struct reducer_spec *spec, bool owns, struct reducer **out)
{
    const struct codec *codec = spec->codec;
    struct reducer *r = buf_alloc(sizeof *r);
    if (!r)
        return -ENOMEM;
    r->comm = spec->comm;
    r->codecs[NARROW] = *codec;
    const struct codec_adder by = algo_adder(spec->algo, spec->group);
    r->codecs[FP32] = codec_fp32(codec, &by);
    r->tag = codec_tag(codec);
    r->algo = spec->algo;
    r->group = spec->group;
    r->releases = spec->releases;
    r->low = spec->low;
    r->n_layers = spec->n_layers;
    r->batches = codec->ops->encode_all != vec_encode_each;
    int rc = plan(r, spec, owns);
    if (rc == 0 && r->low)
        rc = reducer_low_check(r);
    if (rc == 0 && owns)
        rc = reducer_state_open(r);
    if (rc == 0 && owns)
        rc = reducer_open_streams(r);
    if (rc == 0 && owns && (!r->low || comm_rank(r->comm) == 0))
        rc = make_buffers(r);
    if (rc == 0 && owns)
        rc = reducer_message_bytes(r) ? packed_all_open(r) : 0;
    if (rc < 0) {
        reducer_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

int reducer_open(const struct reducer_spec *spec, struct reducer **out)
{
    return open(spec, true, out);
}

int reducer_measure(const struct reducer_spec *spec, struct reducer_bytes *out)
{
    struct reducer *r;
    TRY(open(spec, false, &r));
    const size_t codes = r->buffers.codes_bytes + r->buffers.result_bytes +
                         r->buffers.scratch_bytes +
                         (reducer_message_bytes(r) ? packed_all_bytes(r) : 0);
    out->codes = r->low ? 0 : codes;
    out->common = r->low ? codes : 0;
    out->state = 2 * r->state_bytes;
    out->sent = r->plans[NARROW].code_bytes;
    reducer_close(r);
    return 0;
}

void reducer_close(struct reducer *r)
{
    if (!r)
        return;
    overlap_close(r->overlap);
    reducer_close_streams(r);
    /* messages posted by a failed step may still write into these buffers */
    (void)comm_wait(r->comm);
    algo_leave(r->algo, r->comm, &r->buffers);
    for (int i = 0; i < 2; i++) {
        free(r->plans[i].buckets);
        free(r->plans[i].places);
        free(r->plans[i].placed);
        free(r->plans[i].bucket_of);
        free(r->plans[i].rank_of);
        free(r->plans[i].rescaled);
        free(r->plans[i].exponent_at);
    }
    free(r->layers);
    free(r->exponents);
    free(r->own_exponents);
    free(r->own_maxima);
    free(r->maxima);
    free(r->max_bytes);
    free(r->guesses);
    free(r->failed);
    free(r->spans);
    free(r->outs);
    free(r->parts);
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    if (!r->low || comm_rank(r->comm) == 0) {
        ops->free(r->codes);
        ops->free(r->result);
        ops->free(r->scratch);
    }
    packed_all_close(r->packed);
    gather_close(r);
    shard_close(r);
    reducer_state_close(r);
    free(r);
}

const struct codec *reducer_codec(const struct reducer *r, int layer)
{
    return &r->codecs[r->force_fp32 || r->layers[layer].fp32 ? FP32 : NARROW];
}

void reducer_force_fp32(struct reducer *r, bool on)
{
    r->force_fp32 = on;
}

void reducer_set_node_sum(struct reducer *r, struct algo_node_sum *node)
{
    r->node = node;
}

void reducer_set_means(struct reducer *r, float *const *means)
{
    r->means = means;
}

void reducer_set_once(struct reducer *r)
{
    r->once = true;
}

void reducer_watch(struct reducer *r, reducer_seen *seen, void *ctx)
{
    r->seen = seen;
    r->seen_ctx = ctx;
}

void reducer_set_trace(struct reducer *r, struct trace *trace)
{
    r->trace = trace;
}

/* All ranks must send the same messages, so a rank whose MPI allows no second thread turns overlap
 * off for all. */
int reducer_set_overlap(struct reducer *r, bool on)
{
    int8_t refused = on && !comm_threads(r->comm);
    overlap_close(r->overlap);
    r->overlap = NULL;
    TRY(comm_max_i8(r->comm, &refused, 1));
    if (refused && comm_rank(r->comm) == 0)
        err_warn("gradients are sent after the backward pass, not during it: %s only one thread",
                 comm_is_mpi(r->comm) ? "this MPI allows" : "the transport connects ranks from");
    if (!on || refused)
        return 0;
    struct overlap *o;
    TRY(overlap_open(r, &o));
    r->overlap = o;
    return 0;
}

bool reducer_overlaps(const struct reducer *r)
{
    return r->overlap;
}

int reducer_failed(const struct reducer *r)
{
    return atomic_load(&r->failed_in_thread);
}

void reducer_wake(struct reducer *r)
{
    overlap_wake(r->overlap);
}

size_t reducer_held(const struct reducer *r)
{
    const struct plan *p = &r->plans[NARROW];
    return r->releases && r->overlap ? bucket_most_of_two(p->buckets, p->n_buckets)
                                     : (size_t)r->fp32_bytes / sizeof(float);
}

static void begin(struct reducer *r, uint64_t step, float *const *grads, bool gathers)
{
    assert(!r->begun);
    r->gathers = gathers;
    r->begun = true;
    r->ran = false;
    r->waited_s = 0;
    r->step = step;
    r->grads = grads;
    if (r->overlap)
        overlap_begin(r->overlap);
}

void reducer_begin(struct reducer *r, uint64_t step, float *const *grads)
{
    begin(r, step, grads, false);
}

void reducer_begin_gather(struct reducer *r, float *const *weights)
{
    assert(r->gather);
    begin(r, r->step, weights, true);
}

void reducer_ready(struct reducer *r, int first, int n)
{
    assert(r->begun && first >= 0 && n >= 0 && first + n <= r->n_layers);
    if (!r->overlap)
        return;
    const double start = clock_s();
    overlap_ready(r->overlap, first, n);
    if (r->releases)
        r->waited_s += clock_s() - start;
}

int reducer_ready_on(struct reducer *r, int first, int n, void *stream)
{
    if (n > 0)
        TRY(reducer_note_stream(r, first, n, stream));
    reducer_ready(r, first, n);
    return 0;
}

static int run_once(struct reducer *r)
{
    if (!r->ran)
        r->rc = reducer_step_all(r);
    r->ran = true;
    return r->rc;
}

bool reducer_next(struct reducer *r, int *first, int *n)
{
    assert(r->begun);
    const double start = clock_s();
    bool some;
    if (r->overlap) {
        some = overlap_next(r->overlap, first, n);
    } else {
        some = !r->ran && run_once(r) == 0 && !r->done.skipped;
        *first = 0;
        *n = r->n_layers;
    }
    r->waited_s += clock_s() - start;
    return some;
}

bool reducer_is_done(struct reducer *r)
{
    return r->overlap ? overlap_is_done(r->overlap) : r->ran;
}

int reducer_finish(struct reducer *r, struct reducer_step *report)
{
    assert(r->begun);
    const double start = clock_s();
    TRY(r->overlap ? overlap_finish(r->overlap) : run_once(r));
    r->begun = false;
    r->done.waited_s = r->waited_s + clock_s() - start;
    if (!r->overlap)
        r->done.exposed_s = r->done.waited_s - r->max_s;
    *report = r->done;
    return 0;
}

int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report)
{
    reducer_begin(r, step, grads);
    return reducer_finish(r, report);
}

static int run_here(struct reducer *r, uint64_t step, float *const *grads, bool gathers,
                    struct reducer_step *report)
{
    struct overlap *asleep = r->overlap;
    r->overlap = NULL;
    begin(r, step, grads, gathers);
    const int rc = reducer_finish(r, report);
    r->overlap = asleep;
    return rc;
}

int reducer_run_here(struct reducer *r, uint64_t step, float *const *grads,
                     struct reducer_step *report)
{
    return run_here(r, step, grads, false, report);
}

int reducer_gather_here(struct reducer *r, float *const *weights, struct reducer_step *report)
{
    return run_here(r, r->step, weights, true, report);
}
