/* predict_measure.c : measures how fast one core of this machine casts and adds, for
 * `narrowcast model` without --rates.
 *
 *     formats x algorithms x ranks -> tasks, each once -> CPU seconds a byte -> rows, as of a file
 *
 * All times are CPU time of this thread, so other work on the machine counts little. */
#include "app/predict/predict.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

/* Floats and sums go through arrays that are larger than a core's caches, in chunks, so that a slow
 * cast keeps to its time. Codes of a chunk stay in the cache, as those of a segment do. */
enum { FLOATS = 4 << 20, CHUNK = 1 << 18, PARTS = 8 };
enum { LARGEST = 12 }; /* values are less than 2^(1 - LARGEST) */

struct task {
    enum predict_kind kind;
    struct mf_fmt fmt;
    struct vec_sum sum;
    const struct vec_ops *ops;
    int shift;
};

struct tasks {
    struct task of[PREDICT_RATES];
    int n;
};

/* What all tasks work on. */
struct ground {
    float *x, *y;   /* [FLOATS] */
    uint8_t *codes; /* [4 FLOATS] */
    uint8_t *out;   /* [4 CHUNK] */
    size_t at;      /* of the next chunk, a float */
};

/* ---- which tasks ---- */

static void want(struct tasks *t, const struct codec *codec, enum predict_kind kind,
                 struct mf_fmt fmt)
{
    for (int i = 0; i < t->n; i++)
        if (t->of[i].kind == kind && mf_same(t->of[i].fmt, fmt))
            return;
    if (t->n == PREDICT_RATES)
        return;
    struct task *task = &t->of[t->n++];
    *task = (struct task){kind, fmt, *codec_sum(codec), codec->ops, 0};
    if (task->sum.n_ranks < PARTS)
        task->sum.n_ranks = PARTS;
    if (fmt.e < 8) /* the largest of fill()'s values becomes 1 */
        task->shift = LARGEST;
}

static void want_type(struct tasks *t, const struct predict *p, const char *type)
{
    struct predict_way way;
    for (int i = 0; i < p->algos.n; i++)
        for (int r = 0; r < p->n_ranks; r++) {
            err_hold();
            const int rc = predict_settle(p->o, p->algos.word[i], type, p->ranks[r], &way);
            err_release(false);
            if (rc < 0)
                continue;
            const struct vec_sum *sum = codec_sum(&way.codecs[0]);
            want(t, &way.codecs[0], PREDICT_ENCODE, sum->in);
            want(t, &way.codecs[0], predict_adds(sum), sum->in);
            want(t, &way.codecs[0], PREDICT_DECODE, sum->out);
        }
}

/* ---- a task ---- */

/* Values over 16 powers of two, as gradients have. */
static void fill(struct ground *g)
{
    for (size_t i = 0; i < FLOATS; i++) {
        const uint32_t r = (uint32_t)(i * 0x9e3779b9u) ^ (uint32_t)(i >> 7) * 0x85ebca6bu;
        const uint32_t bits = (r & 0x807fffffu) | (127u - LARGEST - (r >> 23 & 15u)) << 23;
        memcpy(&g->x[i], &bits, sizeof bits);
    }
    memset(g->y, 0xff, FLOATS * sizeof *g->y);
    memset(g->out, 0xff, CHUNK * sizeof *g->x);
}

/* Codes of a chunk of x, again and again; the rest at the array's end stays as it is. */
static void fill_codes(struct ground *g, const struct task *t)
{
    const struct vec_cast cast = {.fmt = t->fmt};
    const size_t bytes = vec_bytes(t->fmt, CHUNK), n = FLOATS * sizeof *g->x / bytes;
    t->ops->encode(&cast, g->x, CHUNK, 0, t->shift, g->codes);
    for (size_t i = 1; i < n; i++)
        memcpy(g->codes + i * bytes, g->codes, bytes);
}

/* Add up the codes of a chunk's bytes, in as many parts as there are addends. Return their bytes. */
static size_t add_chunk(struct ground *g, const struct task *t, size_t at)
{
    const bool in_place = t->kind == PREDICT_ADD && !t->sum.acc.e;
    const size_t n_parts = in_place ? 2 : PARTS, part = CHUNK * sizeof *g->x / n_parts;
    const size_t n = part / mf_width(t->fmt) * 8; /* whole bytes */
    uint8_t *const codes = g->codes + at * sizeof *g->x;
    const uint8_t *parts[PARTS];
    for (size_t i = 0; i < n_parts; i++)
        parts[i] = codes + i * part;
    if (in_place)
        t->ops->add(&t->sum, codes, parts[1], n);
    else
        t->ops->sum(&t->sum, parts, PARTS, n, t->sum.out, t->sum.out_shift, g->out);
    return n_parts * vec_bytes(t->fmt, n);
}

/* Do a chunk of the task once. Return the bytes that count, as predict_rates has them. */
static size_t do_chunk(struct ground *g, const struct task *t)
{
    const struct vec_cast cast = {.fmt = t->fmt};
    const size_t at = g->at;
    g->at = (at + CHUNK) % FLOATS;
    if (t->kind == PREDICT_ENCODE)
        (void)t->ops->scan_encode(&cast, g->x + at, CHUNK, 0, t->shift, g->out);
    else if (t->kind == PREDICT_DECODE)
        t->ops->decode(t->fmt, g->codes, CHUNK, -t->shift, PARTS, g->y + at);
    else
        return add_chunk(g, t, at);
    return CHUNK * sizeof *g->x;
}

static double seconds_a_byte(struct ground *g, const struct task *t, double slice_s)
{
    size_t bytes = 0;
    double took;
    fill_codes(g, t);
    (void)do_chunk(g, t);
    const double start = clock_cpu_s();
    do
        bytes += do_chunk(g, t);
    while ((took = clock_cpu_s() - start) < slice_s);
    return took / (double)bytes;
}

static int open_ground(struct ground *g)
{
    const size_t bytes = FLOATS * sizeof *g->x;
    *g = (struct ground){.x = buf_alloc(bytes),
                         .y = buf_alloc(bytes),
                         .codes = buf_alloc(bytes),
                         .out = buf_alloc(CHUNK * sizeof *g->x)};
    return g->x && g->y && g->codes && g->out ? 0 : -ENOMEM;
}

static void close_ground(struct ground *g)
{
    free(g->x);
    free(g->y);
    free(g->codes);
    free(g->out);
}

int predict_measure(const struct predict *p, double budget_s, struct predict_rates *out)
{
    struct tasks tasks = {.n = 0};
    struct ground g;
    const int rc = open_ground(&g);
    for (int f = 0; f < p->formats.n; f++)
        want_type(&tasks, p, p->formats.word[f]);
    want_type(&tasks, p, "fp32");
    if (rc == 0)
        fill(&g);
    for (int i = 0; i < tasks.n && rc == 0; i++) {
        const struct task *t = &tasks.of[i];
        out->rows[out->n_rows++] = (struct predict_rate_row){
            t->kind, t->fmt, seconds_a_byte(&g, t, budget_s / tasks.n), 1};
    }
    close_ground(&g);
    return rc;
}
