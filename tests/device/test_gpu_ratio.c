/* test_gpu_ratio.c : multiples of a quantile from both GPU tables equal plain C's. */
#include "gpu_lists.h"
#include "vec/list/vec_ratio.h"

static const struct {
    struct mf_fmt fmt;
    enum mf_round round;
    bool trunc;
} casts[] = {{{5, 2, 0}, MF_NEAREST, true},     {{5, 2, 0}, MF_NEAREST, false},
             {{4, 3, 1}, MF_NEAREST, false},    {{4, 3, 0}, MF_STOCHASTIC, false},
             {{3, 0, 0}, MF_NEAREST, false},    {{2, 2, 0}, MF_ZERO, false},
             {{5, 10, 0}, MF_NEAREST, false},   {{8, 7, 0}, MF_NEAREST, false},
             {{6, 9, 0}, MF_STOCHASTIC, false}, {{6, 5, 0}, MF_NEAREST, false},
             {{8, 23, 0}, MF_NEAREST, false}};
enum { N_CASTS = sizeof casts / sizeof *casts };

/* more than a block has tiles for, or reads at once */
enum { MANY = 300 };
static struct place at[MANY];
static int n;
static struct vec_span want[MANY], got[MANY];
static struct relative_part beside[MANY], gpu_beside[MANY];

static const float quantiles[] = {1, 0.37f, 0, 1e-20f, 3e30f};

static void lay_out_many(void)
{
    for (n = 0; n < MANY; n++)
        at[n] = (struct place){
            .x = (size_t)n * 64, .codes = (size_t)n * 256, .n = 1 + (size_t)n % 37, .padded = 40};
}

/* One vector in two has weights, one in five is zero, and two in three need a quantile (in a long
 * list only the first and the last). */
static void make_list(const struct relative_rule *r, size_t turn)
{
    for (int i = 0; i < n; i++) {
        const bool weighs = ((size_t)i + turn) % 2;
        const float q = quantiles[((size_t)i + turn) % 5];
        want[i] = (struct vec_span){.x = host.x + at[i].x,
                                    .codes = host.codes + at[i].codes,
                                    .n = at[i].n,
                                    .padded = at[i].padded,
                                    .at = (size_t)i * 24,
                                    .key = seed + (uint64_t)i,
                                    .absmax = 7};
        got[i] = want[i];
        got[i].x = dev.x + at[i].x;
        got[i].codes = dev.codes + at[i].codes;
        beside[i] =
            (struct relative_part){.w = weighs ? host.was + at[i].x : NULL,
                                   .scale = relative_scale_of(q, 57344),
                                   .rank = i % 3 && (i < LIST || i + LIST > MANY)
                                               ? relative_rank(0.7, relative_looks(r, at[i].n))
                                               : 0};
        gpu_beside[i] = beside[i];
        gpu_beside[i].w = weighs ? dev.was + at[i].x : NULL;
    }
}

static void same_absmax(const char *what, const char *of)
{
    for (int i = 0; i < n; i++)
        CHECK(want[i].absmax == got[i].absmax, "%s: %s of %zu is %08x, want %08x", what, of,
              at[i].n, got[i].absmax, want[i].absmax);
}

static void check_divide(const struct vec_cast *cast, const char *what, int kind)
{
    for (int i = 0; i < n; i++) {
        ratio_lists_each.divide(&vec_plain, cast, host.codes + at[i].codes, at[i].n,
                                (float)(2 + i % LIST));
        dev.ops->ratio_lists->divide(dev.ops, cast, dev.codes + at[i].codes, at[i].n,
                                     (float)(2 + i % LIST));
    }
    same_codes(what, kind);
}

static void check_list(size_t turn, int kind, bool many)
{
    static const uint32_t samples[] = {1024, 100, 1, RELATIVE_SAMPLES_MAX};
    static const float shares[] = {4, 3, 1, 7};
    char what[96];
    const size_t c = turn % N_CASTS;
    const bool scan = turn % 3;
    const struct relative_rule r = {.eps = turn % 2 ? 1e-5f : 0.5f,
                                    .share = shares[turn % 4],
                                    .samples = samples[turn / 2 % 4]};
    const struct vec_cast cast = {
        .fmt = casts[c].fmt, .round = casts[c].round, .trunc = casts[c].trunc};
    struct vec_out outs[MANY], gpu_outs[MANY];
    snprintf(what, sizeof what, "e%um%u fn %u, round %d, trunc %d, share %g", cast.fmt.e,
             cast.fmt.m, cast.fmt.flavour, cast.round, cast.trunc, (double)r.share);
    const size_t unit = 8 * (1 + turn % 5);
    n = many ? 0 : lay_out(unit, unit / 8 * mf_width(cast.fmt), turn % 3 > 0, at);
    if (many)
        lay_out_many();
    make_list(&r, turn);
    fill(kind, turn << 20);
    ratio_lists_each.quantile(&vec_plain, &r, want, beside, n);
    dev.ops->ratio_lists->quantile(dev.ops, &r, got, gpu_beside, n);
    same_absmax(what, "quantile");
    for (int i = 0; i < n; i++)
        want[i].absmax = got[i].absmax = 7;
    clear_codes();
    ratio_lists_each.encode(&vec_plain, &r, &cast, want, beside, n, scan);
    dev.ops->ratio_lists->encode(dev.ops, &r, &cast, got, gpu_beside, n, scan);
    same_absmax(what, "absmax");
    if (kind == 4)
        return; /* codes of nan mean nothing */
    same_codes(what, kind);
    clear_floats(host.y, dev.y);
    for (int i = 0; i < n; i++) {
        const int shift = (int)(turn % 4) * (i % LIST);
        outs[i] = (struct vec_out){
            .x = host.y + at[i].x, .codes = want[i].codes, .n = at[i].n, .shift = shift};
        gpu_outs[i] = (struct vec_out){
            .x = dev.y + at[i].x, .codes = got[i].codes, .n = at[i].n, .shift = shift};
    }
    ratio_lists_each.decode(&vec_plain, &r, cast.fmt, outs, beside, n, (float)(1 + turn % 6));
    dev.ops->ratio_lists->decode(dev.ops, &r, cast.fmt, gpu_outs, gpu_beside, n,
                                 (float)(1 + turn % 6));
    same_floats(host.y, dev.y, what, kind);
    check_divide(&cast, what, kind);
}

/* Checks vectors longer than a block's tile and samples, with more codes than the CPU divides. */
static void check_long(void)
{
    const struct relative_rule r = {.eps = 1e-5f, .share = 8, .samples = RELATIVE_SAMPLES_MAX};
    const struct vec_cast cast = {.fmt = {5, 10, 0}};
    fill(0, 0);
    n = 1;
    at[0] = (struct place){.n = ROOM - 3, .padded = ROOM};
    want[0] = (struct vec_span){
        .x = host.x, .codes = host.codes, .n = at[0].n, .padded = ROOM, .key = seed};
    got[0] = want[0];
    got[0].x = dev.x, got[0].codes = dev.codes;
    beside[0] = (struct relative_part){
        .w = host.was, .rank = relative_rank(0.95, r.samples), .scale = relative_scale_of(2, 1000)};
    gpu_beside[0] = beside[0];
    gpu_beside[0].w = dev.was;
    ratio_lists_each.quantile(&vec_plain, &r, want, beside, 1);
    dev.ops->ratio_lists->quantile(dev.ops, &r, got, gpu_beside, 1);
    same_absmax("a long vector", "quantile");
    clear_codes();
    ratio_lists_each.encode(&vec_plain, &r, &cast, want, beside, 1, true);
    dev.ops->ratio_lists->encode(dev.ops, &r, &cast, got, gpu_beside, 1, true);
    same_codes("a long vector", 0);
    const struct vec_cast wide = {.fmt = {8, 23, 0}};
    CHECK(2 * vec_bytes(wide.fmt, ROOM) >= VEC_CUDA_SUM_MIN, "short");
    for (size_t i = 0; i < ROOM; i++)
        memcpy(host.codes + 4 * i, &host.x[i], 4);
    copy(dev.codes, host.codes, BYTES);
    ratio_lists_each.divide(&vec_plain, &wide, host.codes, ROOM - 5, 3);
    dev.ops->ratio_lists->divide(dev.ops, &wide, dev.codes, ROOM - 5, 3);
    same_codes("a long division", 0);
}

static void check(const struct vec_ops *ops)
{
    for (size_t turn = ops == vec_cuda(); turn < 3 * N_CASTS; turn += 2)
        check_list(turn, (int)(turn / 2 % KINDS), false);
    for (size_t turn = 0; turn < 2; turn++)
        check_list(turn, 0, true);
    check_long();
}

int main(void)
{
    if (lists_on_gpu(check))
        return 1;
    DONE();
}
