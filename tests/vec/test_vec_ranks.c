/* test_vec_ranks.c : exact sums of 1 to thousands of ranks on every instruction set equal
 * vec_plain. */
#include "check.h"
#include "hls/arith/philox.h"
#include "vec_inputs.h"

enum { N = 333, RANKS = 258, MAX_RANKS = 17476, LANES = 32, SEED = 28 };

static struct vec_ops tables[VEC_TABLES];
static int n_tables;
static uint8_t codes[RANKS][N], wide[MAX_RANKS][LANES];

/* FEW: few codes are inf or nan. NEAR: few exponents. CANCELS: pairs that cancel, except every
 * seventh. LARGEST: the largest code of one sign, except one of another size. */
enum style { ANY, FEW, FINITE, NEAR, CANCELS, ONE_LARGE, LARGEST, STYLES };

static uint32_t one_code(struct mf_fmt f, enum style style, int rank, size_t i, uint32_t random)
{
    const uint32_t minus = 1u << (f.e + f.m), none = mf_max(f) + 1, sign = random & minus;
    const uint32_t any = random >> 8 & mf_nan(f), finite = any % none;
    switch (style) {
    case ANY:
        return sign | any;
    case FEW:
        return sign | (random % 199 ? finite : any);
    case NEAR:
        return sign | ((uint32_t)i * 5 % none + any % 9) % none;
    case ONE_LARGE:
        return sign | (rank == 0 ? none - 1 - finite % (none / 8 + 1) : finite % (none / 3 + 1));
    case LARGEST:
        return (i % 2 ? minus : 0) | (rank == (int)i ? finite : none - 1);
    default:
        return sign | finite;
    }
}

static uint32_t code_at(const uint8_t *p, unsigned width, size_t i)
{
    if (width == 8)
        return p[i];
    return i % 2 ? p[i / 2] >> 4 : p[i / 2] & 15;
}

static void fill(struct mf_fmt f, enum style style, int n_ranks)
{
    const unsigned width = mf_width(f), minus = 1u << (width - 1);
    const uint64_t key = philox_key(SEED, f.e, f.m, f.flavour, (uint32_t)style);
    for (int r = 0; r < n_ranks; r++)
        for (size_t i = 0; i < N * 8 / width; i++) {
            const uint32_t random = philox_u32(key, (uint64_t)r * 2 * N + i);
            uint32_t code = one_code(f, style, r, i, random);
            if (style == CANCELS && r % 2 && random % 7)
                code = code_at(codes[r - 1], width, i) ^ minus;
            uint8_t *byte = &codes[r][i * width / 8];
            *byte = (uint8_t)(width == 8 || i % 2 == 0 ? code : (*byte & 15u) | code << 4);
        }
}

/* The parts repeat the ranks'. */
static void check_sum(const struct vec_sum *s, int n_ranks, int n_parts, size_t n,
                      struct mf_fmt out, int shift, enum style style)
{
    static const uint8_t *parts[MAX_RANKS];
    static uint8_t want[4 * N], got[4 * N + 2];
    const size_t bytes = vec_bytes(out, n);
    for (int r = 0; r < n_parts; r++)
        parts[r] = codes[r % n_ranks];
    vec_plain.sum(s, parts, n_parts, n, out, shift, want);
    for (int t = 0; t < n_tables; t++) {
        memset(got, 0xa5, sizeof got);
        tables[t].sum(s, parts, n_parts, n, out, shift, got + 1);
        CHECK(memcmp(got + 1, want, bytes) == 0 && got[0] == 0xa5 && got[bytes + 1] == 0xa5,
              "%s: e%um%u fn %u of %d ranks, style %d, n %zu -> e%um%u fn %u shift %d overflow %d",
              tables[t].name, s->in.e, s->in.m, s->in.flavour, n_parts, (int)style, n, out.e, out.m,
              out.flavour, shift, (int)s->overflow);
    }
}

static const struct mf_fmt ins[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1}, {3, 4, 0}, {2, 5, 0},
                                    {1, 6, 0}, {3, 0, 0}, {2, 1, 0}, {1, 2, 0}, {2, 5, 2},
                                    {3, 4, 2}, {4, 3, 2}, {2, 1, 2}, {3, 4, 1}};
static const struct mf_fmt outs[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1}, {7, 0, 0},
                                     {2, 5, 0}, {1, 6, 0}, {3, 0, 0}, {6, 1, 0},
                                     {2, 5, 2}, {2, 1, 2}, {4, 3, 2}};
enum { N_INS = sizeof ins / sizeof ins[0], N_OUTS = sizeof outs / sizeof outs[0] };

static void check_ranks(struct mf_fmt f, int n_ranks)
{
    static int turn;
    for (int style = 0; style < STYLES; style++) {
        fill(f, (enum style)style, n_ranks);
        for (int policy = 0; policy < 2; policy++, turn++) {
            const enum mf_overflow overflow = policy ? MF_INF : MF_SATURATE;
            const struct vec_sum s = {
                .rule = VEC_EXACT, .overflow = overflow, .in = f, .out = f, .n_ranks = n_ranks};
            const struct mf_fmt out = outs[turn % N_OUTS];
            check_sum(&s, n_ranks, n_ranks, N, f, 0, (enum style)style);
            check_sum(&s, n_ranks, n_ranks, N, out, turn % 13 - 4, (enum style)style);
            check_sum(&s, n_ranks, n_ranks, (size_t)(turn % 128), f, 0, (enum style)style);
        }
    }
}

/* Makes codes up to `most` for n_parts ranks whose sum is +-target units. Returns false if more
 * ranks are needed. */
static bool spread(struct mf_fmt f, uint32_t most, int n_parts, uint64_t target, uint32_t sign,
                   size_t i)
{
    uint32_t code = most;
    for (int r = 0; r < n_parts; r++) {
        while (mf_acc_add(f, 0, code) > target)
            code--;
        target -= mf_acc_add(f, 0, code);
        wide[r][i] = (uint8_t)(code != 0 ? code | sign : 0);
    }
    return target == 0;
}

static size_t n_ties;
static void check_ties(struct mf_fmt f, uint32_t most, int n_parts, int t, struct mf_fmt out)
{
    static const uint8_t *parts[MAX_RANKS];
    uint8_t want[LANES], got[LANES];
    const int shift = t + 1 - mf_bias(f) - f.m;
    const struct vec_sum s = {.rule = VEC_EXACT, .in = f, .out = out, .n_ranks = n_parts};
    size_t n = 0;
    for (uint32_t i = 0; i < 3 * LANES && n < LANES; i++) {
        const uint32_t random = philox_u32(philox_key(SEED, f.e, f.m, (uint32_t)n_parts, 1), i);
        const uint64_t tie = (2ull << out.m) + 2 * (random & ((1u << out.m) - 1)) + 1;
        const uint64_t target = (tie << (t - out.m - 1)) + i % 3 - 1;
        n += spread(f, most, n_parts, target, random & 1u << 31 ? 1u << (f.e + f.m) : 0, n);
    }
    n_ties += n;
    for (int r = 0; r < n_parts; r++)
        parts[r] = wide[r];
    vec_plain.sum(&s, parts, n_parts, n, out, shift, want);
    for (int k = 0; k < n_tables; k++) {
        tables[k].sum(&s, parts, n_parts, n, out, shift, got);
        CHECK(memcmp(got, want, n) == 0, "%s: ties of e%um%u fn %u, %d ranks, bit %d -> e%um%u",
              tables[k].name, f.e, f.m, f.flavour, n_parts, t, out.e, out.m);
    }
}

static void check_ties_of(struct mf_fmt f, uint32_t most, int n_parts)
{
    int top = 0;
    while (mf_acc_add(f, 0, most) * (uint64_t)n_parts >> (top + 1) != 0)
        top++;
    for (int t = top; t > top - 3 && t > 7 && mf_width(f) == 8; t--)
        for (int o = 0; o < 5; o += 1 + n_parts % 2)
            check_ties(f, most, n_parts, t, outs[o]);
}

static void check_limits(void)
{
    static const int limits[] = {8,   16,  17,  18,   19,   68,   69,   136,   137,
                                 200, 585, 586, 1000, 1001, 2340, 8738, 17475, 17476};
    for (int i = 0; i < N_INS; i++)
        for (unsigned l = 0; l < sizeof limits / sizeof limits[0]; l++) {
            const struct vec_sum s = {
                .rule = VEC_EXACT, .in = ins[i], .out = ins[i], .n_ranks = limits[l]};
            const enum style style = l % 2 ? LARGEST : FINITE;
            fill(ins[i], style, 5);
            check_sum(&s, 5, limits[l], 6, ins[i], 0, style);
            check_ties_of(ins[i], mf_max(ins[i]), limits[l]);
            if (ins[i].e == 5) /* the upper window is empty, the others are full */
                check_ties_of(ins[i], (19u << ins[i].m) - 1, limits[l]);
        }
}

int main(void)
{
    static const int more[] = {64, 128, RANKS};
    n_tables = vec_tables(tables);
    printf("seed %d\n", SEED);
    for (int i = 0; i < N_INS; i++) {
        for (int p = 1; p <= 17; p++)
            check_ranks(ins[i], p);
        for (int p = 0; p < 3; p++)
            check_ranks(ins[i], more[p]);
        fill(ins[i], FEW, 5);
        for (size_t n = 0; n <= 130; n++) {
            const struct vec_sum s = {.rule = VEC_EXACT, .in = ins[i], .out = ins[i], .n_ranks = 5};
            check_sum(&s, 5, 5, n, ins[i], 0, FEW);
        }
    }
    check_limits();
    CHECK(n_ties > 10000, "only %zu ties", n_ties);
    DONE();
}
