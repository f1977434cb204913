/* conform_sums.c : plays vectors of sums and means to a library: nc_allreduce() of ranks in this
 * process. A vector's codes become the fp32 numbers that they mean. Elements with inf or nan in
 * gradients become 0, as the library skips such a step. */
#include "app/conform/conform_library.h"
#include "base/bits.h"
#include "base/err.h"
#include "codec/codec.h"
#include "hls/arith/rules.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float x[CONFORM_RANKS][CONFORM_N];
static uint32_t words[CONFORM_N];

static float value(struct mf_fmt f, uint32_t code, int shift)
{
    return float_of(mf_dec(f, code, shift));
}

/* Run the step, and compare the n elements from `at` on of every rank, times 2^exponents[of their
 * group], with `wanted`. No group: group 0. */
static int gives_groups(struct conform_play *p, struct conform_job *job, size_t at,
                        const uint32_t *wanted, size_t n, const double *exponents, int group)
{
    const char *call;
    char what[48];
    job->x = x;
    int result = conform_job(p, job, &call);
    if (result)
        return conform_returns(p, call, result, 0);
    for (int r = 0; r < job->n_ranks && result == CONFORM_PASSED; r++) {
        for (size_t i = 0; i < n; i++) {
            const double e = group ? exponents[i / (size_t)group] : VEC_ALL_ZERO;
            words[i] = bits_of(x[r][at + i] * (e == VEC_ALL_ZERO ? 1 : ldexpf(1, (int)e)));
        }
        snprintf(what, sizeof what, "nc_allreduce, rank %d of %d", r, job->n_ranks);
        result = conform_compare(p, what, words, wanted, n, true);
    }
    return result;
}

static int gives(struct conform_play *p, struct conform_job *job, const uint32_t *wanted)
{
    return gives_groups(p, job, 0, wanted, p->n_x ? p->n_x : p->n_codes, NULL, 0);
}

/* Read lists of n codes, one for each rank, to x from `at` on. Returns the number of ranks, or 0
 * for anything else. */
static int read_ranks(const char *list, struct mf_fmt f, int shift, size_t at, size_t n)
{
    int ranks = 0;
    for (const char *one; (one = jsonl_item(&list)); ranks++) {
        if (ranks == CONFORM_RANKS || at + n > CONFORM_N ||
            conform_words(one, words, CONFORM_N) != n)
            return 0;
        for (size_t i = 0; i < n; i++)
            x[ranks][at + i] = value(f, words[i], shift);
    }
    return ranks;
}

/* If element i is inf or nan on a rank, make it 0 on all and return true. */
static bool leaves_out(size_t i, int n_ranks)
{
    int r = 0;
    while (r < n_ranks && isfinite(x[r][i]))
        r++;
    const bool finite = r == n_ranks;
    for (r = 0; r < n_ranks && !finite; r++)
        x[r][i] = 0;
    return !finite;
}

/* The last element is the largest number of rank 0, so that the scale aps-tight has the shift 0. */
int conform_sum(struct conform_play *p)
{
    char in[CONFORM_WORD], acc[CONFORM_WORD], out[CONFORM_WORD];
    struct mf_fmt from, to;
    int shift, c = 0;
    const size_t n = p->n_codes;
    if (!n || !p->options.sum || !conform_text(p, "in", in) || !conform_text(p, "out", out) ||
        !conform_text(p, "acc", acc) || !conform_int(p, "out_shift", &shift))
        return conform_malformed(p->in);
    TRY(codec_format_parse("in", in, &from));
    TRY(codec_format_parse("out", out, &to));
    struct conform_job job = {.n_layers = 1, .n = {n + 1}};
    job.n_ranks = read_ranks(jsonl_in_value(p->in, "addends"), from, 0, 0, n);
    if (!job.n_ranks)
        return conform_malformed(p->in);
    while (1 << c < job.n_ranks)
        c++;
    if (shift && shift != c)
        return conform_leave(p, "no scale of so many ranks has its shift");
    x[0][n] = value(from, mf_max(from), 0);
    for (size_t i = 0; i < n; i++)
        p->codes[i] = leaves_out(i, job.n_ranks) ? 0 : mf_dec(to, p->codes[i], shift);
    p->options.format = in;
    p->options.acc_format =
        strcmp(p->options.sum, "nearest") && strcmp(p->options.sum, "kahan") ? NULL : acc;
    p->options.out_format = out;
    p->options.scale = shift ? "aps-tight" : "none";
    p->options.op = "sum";
    return gives(p, &job, p->codes);
}

/* One rank: its sum is the cast. */
int conform_trunc(struct conform_play *p)
{
    char scale[CONFORM_WORD];
    const size_t n = p->n_x;
    if (!n || p->n_codes != n || !conform_power(p, p->shift, scale))
        return conform_malformed(p->in);
    for (size_t i = 0; i < n; i++) {
        const bool finite = (p->x[i] & 0x7fffffff) < 0x7f800000;
        x[0][i] = finite ? float_of(p->x[i]) : 0;
        p->codes[i] = finite && p->codes[i] & 0x7f ? mf_dec(mf_e5m2(), p->codes[i], -p->shift) : 0;
    }
    p->options.format = "e5m2";
    p->options.sum = "trunc";
    return gives(p, &(struct conform_job){.n_ranks = 1, .n_layers = 1, .n = {n}}, p->codes);
}

/* The result is the code if one rank has its number and the others 0. A number beyond fp32 is
 * spread over 2, 4, ... ranks. */
int conform_mean(struct conform_play *p)
{
    char scale[CONFORM_WORD];
    const struct mf_fmt f = p->format;
    const size_t n = p->n_x;
    int ranks;
    if (!n || p->n_codes != n || !p->options.format || !conform_int(p, "divisor", &ranks) ||
        ranks < 1)
        return conform_malformed(p->in);
    if (ranks > CONFORM_RANKS)
        return conform_leave(p, "it has more than 64 ranks");
    if (!conform_power(p, -p->shift, scale))
        return conform_leave(p, "no scale has its shift");
    for (size_t i = 0; i < n; i++) {
        const double whole = ldexp((double)value(f, p->codes[i], 0), p->shift);
        int parts = 1;
        while (parts < ranks && isinf((float)(whole / parts)))
            parts *= 2;
        const float part = (float)(whole / parts);
        const uint32_t code = mf_enc(f, bits_of(part), -p->shift, MF_ZERO, MF_SATURATE, 0);
        if (isnan(part) || isinf(part) || whole == 0 || parts > ranks ||
            (double)value(f, code, 0) * parts != (double)value(f, p->codes[i], 0))
            p->x[i] = 0; /* no addends have this sum */
        for (int r = 0; r < parts && p->x[i]; r++)
            x[r][i] = part;
    }
    p->options.sum = "fp32";
    p->options.out_format = p->options.format;
    return gives(p, &(struct conform_job){.n_ranks = ranks, .n_layers = 1, .n = {n}}, p->x);
}

static bool read_exponents(const struct conform_play *p, double *to, size_t n, int group)
{
    size_t count;
    return group >= 16 && jsonl_in_list(p->in, "exponents", to, CONFORM_N / 16, &count) &&
           count == (n + (size_t)group - 1) / (size_t)group;
}

/* Rank 0's codes are the sums, in fp32. */
int conform_group(struct conform_play *p)
{
    double exponents[CONFORM_N / 16];
    const size_t n = p->n_x;
    const char *word = p->options.scale ? strchr(p->options.scale, ':') : NULL;
    const int group = word ? (int)strtol(word + 1, NULL, 10) : 0;
    if (!n || p->n_codes != n || !p->options.format || p->ranks < 1 || p->ranks > CONFORM_RANKS ||
        !p->options.round || !read_exponents(p, exponents, n, group))
        return conform_malformed(p->in);
    if (!strcmp(p->options.round, "stochastic"))
        return conform_leave(p, conform_no_random);
    const bool tight = !strncmp(p->options.scale, "aps-tight", 9);
    for (size_t i = 0; i < n; i++) {
        const double e = exponents[i / (size_t)group];
        const float y = value(p->format, p->codes[i], -vec_aps_top(p->format, tight));
        x[0][i] = float_of(p->x[i]);
        p->codes[i] = y == 0 ? 0 : bits_of(y * (e == VEC_ALL_ZERO ? 1 : ldexpf(1, (int)e)));
    }
    p->options.sum = tight ? "exact" : "fp32";
    p->options.out_format = "fp32";
    p->options.op = "sum";
    return gives(p, &(struct conform_job){.n_ranks = p->ranks, .n_layers = 1, .n = {n}}, p->codes);
}

/* A scale of the layer: these addends would not have the exponents of groups, by which the means
 * are multiplied here. */
int conform_block(struct conform_play *p)
{
    char in[CONFORM_WORD], out[CONFORM_WORD], sums[CONFORM_WORD + 16], scale[CONFORM_WORD];
    struct mf_fmt from;
    double exponents[CONFORM_N / 16];
    int block, group;
    const size_t n = conform_words(jsonl_in_value(p->in, "means"), p->x, CONFORM_N);
    if (!n || !conform_text(p, "in", in) || !conform_text(p, "out", out) ||
        !conform_int(p, "block", &block) || !conform_int(p, "group", &group) ||
        !read_exponents(p, exponents, n, group) || !conform_power(p, p->shift, scale))
        return conform_malformed(p->in);
    TRY(codec_format_parse("in", in, &from));
    struct conform_job job = {.n_layers = 1, .n = {n}};
    job.n_ranks = read_ranks(jsonl_in_value(p->in, "addends"), from, -p->shift, 0, n);
    if (!job.n_ranks)
        return conform_malformed(p->in);
    for (size_t i = 0; i < n; i++)
        if (leaves_out(i, job.n_ranks))
            p->x[i] = 0;
    snprintf(sums, sizeof sums, "%s:%d", out, block);
    p->options.format = in;
    p->options.sum = "exact";
    p->options.out_format = sums;
    return gives_groups(p, &job, 0, p->x, n, exponents, group);
}

int conform_settle(struct conform_play *p)
{
    char asked[CONFORM_WORD], acc[CONFORM_WORD];
    int refused;
    const char *call;
    if (!p->options.format || p->ranks < 1 || !conform_int(p, "refused", &refused))
        return conform_malformed(p->in);
    if (!refused)
        return conform_leave(p, "no call of narrowcast.h shows its format of sums");
    if (p->ranks > CONFORM_RANKS)
        return conform_leave(p, "it has more than 64 ranks");
    p->options.out_format = conform_text(p, "asked", asked);
    p->options.acc_format = conform_text(p, "acc", acc);
    struct conform_job job = {.n_ranks = p->ranks, .n_layers = 1, .n = {8}, .only_opens = true};
    const int rc = conform_job(p, &job, &call);
    return rc == -EINVAL ? CONFORM_PASSED : conform_returns(p, call, rc, -EINVAL);
}

/* Numbers of magnitude max, which need no random words, on ranks that do not clip. */
int conform_counts(struct conform_play *p)
{
    uint8_t codes[CONFORM_N];
    uint32_t max;
    const char *list = jsonl_in_value(p->in, "parts");
    if (!p->n_x || conform_words(jsonl_in_value(p->in, "max"), &max, 1) != 1 || p->ranks < 1 ||
        p->ranks > CONFORM_RANKS)
        return conform_malformed(p->in);
    for (int r = 0; r < p->ranks; r++) {
        const char *part = jsonl_item(&list);
        if (!part || conform_bytes(part, codes, sizeof codes) < (int)(p->n_x + 3) / 4)
            return conform_malformed(p->in);
        for (size_t i = 0; i < p->n_x; i++) {
            const int code = codes[i / 4] >> i % 4 * 2;
            x[r][i] = (code & 1 ? float_of(max) : 0) * (code & 2 ? -1.0f : 1.0f);
        }
    }
    p->options.codec = "ternary:clip=1000000";
    return gives(p, &(struct conform_job){.n_ranks = p->ranks, .n_layers = 1, .n = {p->n_x}}, p->x);
}

/* Layers before the vector's have one element, 0. */
int conform_quantile(struct conform_play *p)
{
    static uint32_t bits[CONFORM_N];
    static float weights[CONFORM_N];
    char of[CONFORM_WORD], q[CONFORM_WORD], text[3 * CONFORM_WORD], algo[CONFORM_WORD];
    uint32_t eps;
    int samples, node, step, layer;
    const size_t n = conform_words(jsonl_in_value(p->in, "means"), p->x, CONFORM_N);
    if (!n || !conform_text(p, "of", of) || !conform_text(p, "q", q) ||
        !conform_int(p, "samples", &samples) || !conform_int(p, "node", &node) ||
        !conform_number(jsonl_in_value(p->in, "seed"), &p->options.seed) ||
        !conform_int(p, "step", &step) || !conform_int(p, "layer", &layer) || layer < 0 ||
        layer >= CONFORM_LAYERS)
        return conform_malformed(p->in);
    struct conform_job job = {.n_layers = layer + 1, .step = (uint64_t)step};
    job.n_ranks = read_ranks(jsonl_in_value(p->in, "gradients"), mf_fp32(), 0, (size_t)layer, n);
    const bool divides = !strcmp(of, "weights");
    if (!job.n_ranks ||
        (divides && (conform_words(jsonl_in_value(p->in, "weights"), bits, CONFORM_N) != n ||
                     conform_words(jsonl_in_value(p->in, "eps"), &eps, 1) != 1)))
        return conform_malformed(p->in);
    memcpy(weights, bits, sizeof weights);
    for (int i = 0; i <= layer; i++) {
        job.n[i] = i == layer ? n : 1;
        job.weights[i] = weights;
    }
    if (divides) {
        snprintf(text, sizeof text, "relgrad:eps=%.9g,q=%s,samples=%d", (double)float_of(eps), q,
                 samples);
        p->options.codec = text;
        p->options.format = NULL;
    } else {
        snprintf(text, sizeof text, "quantile:q=%s,samples=%d", q, samples);
        p->options.scale = text;
    }
    snprintf(algo, sizeof algo, "group-scatter:%d", node);
    p->options.algo = node < job.n_ranks ? algo : p->options.algo;
    return gives_groups(p, &job, (size_t)layer, p->x, n, NULL, 0);
}

int conform_step(struct conform_play *p)
{
    char out[CONFORM_WORD];
    struct conform_job job = {.n_ranks = p->ranks};
    uint64_t n, index = 0;
    int step;
    size_t at = 0;
    const char *layer, *layers = jsonl_in_value(p->in, "layers"), *list = layers;
    if (!layers || !p->options.format || !conform_text(p, "out", out) ||
        !conform_int(p, "step", &step))
        return conform_malformed(p->in);
    while ((layer = jsonl_item(&list))) { /* finds the layer n_layers, then begins again */
        if (!conform_number(jsonl_member(layer, "index"), &index) ||
            index != (uint64_t)job.n_layers)
            continue;
        if (job.n_layers == CONFORM_LAYERS || !conform_number(jsonl_member(layer, "n"), &n) ||
            n >= CONFORM_N - at ||
            read_ranks(jsonl_member(layer, "gradients"), mf_fp32(), 0, at, n) != p->ranks ||
            conform_words(jsonl_member(layer, "means"), p->x + at, n) != n)
            return conform_malformed(p->in);
        job.n[job.n_layers++] = n;
        at += n;
        list = layers;
    }
    if (!job.n_layers)
        return conform_malformed(p->in);
    job.step = (uint64_t)step;
    p->options.out_format = out;
    return gives_groups(p, &job, 0, p->x, at, NULL, 0);
}
