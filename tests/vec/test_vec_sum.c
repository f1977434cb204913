/* test_vec_sum.c : sums on every instruction set have vec_plain's bits. `few`: a third of the
 * cases, for slow machines. */
#include "sum_tables.h"
#include "vec/fp_mode.h"
#include "vec_inputs.h"

static const struct mf_fmt outs[] = {
    {5, 2, 0}, {4, 3, 0}, {4, 3, 1},  {3, 0, 0}, {5, 10, 0}, {8, 7, 0}, {8, 23, 0}, {3, 2, 0},
    {1, 2, 0}, {7, 0, 0}, {8, 22, 0}, {2, 5, 0}, {2, 5, 2},  {2, 1, 2}, {3, 2, 2},  {5, 2, 2}};
enum { N_OUTS = sizeof outs / sizeof outs[0] };
static bool few;

static bool left_out(int turn)
{
    return few && philox_u32(SEED, 1000000 + (uint64_t)turn) % 3;
}

static void check_exact(struct mf_fmt f, int p, int turn)
{
    if (left_out(turn))
        return;
    fill(f, (enum kind)(turn % N_KINDS), p, N);
    for (int o = 0; o < N_OUTS; o += 1 + turn % 3) {
        const struct vec_sum s = {.rule = VEC_EXACT,
                                  .overflow = (turn + o) % 2 ? MF_INF : MF_SATURATE,
                                  .in = f,
                                  .out = outs[o],
                                  .n_ranks = p};
        check_tables(&s, p, N, outs[o], (turn + o) % 10);
    }
    const struct vec_sum same = {.rule = VEC_EXACT, .in = f, .out = f, .n_ranks = p};
    check_tables(&same, p, N, f, 0);
}

static void check_all_exact(void)
{
    static const int ranks[] = {1, 2, 3, 8, 17, 64};
    int turn = 0;
    for (uint8_t e = 1; e <= 5; e++)
        for (uint8_t m = 0; m <= 23; m = (uint8_t)(m + (m < 11 ? 1 : 4)))
            for (int i = e + m < 2 ? 6 : 0; i < 6; i++)
                check_exact((struct mf_fmt){e, m, 0}, ranks[i], turn++);
    for (int p = 2; p <= MAX_P; p++, turn++) {
        check_exact(e5m2, p, turn);
        check_exact(e4m3, p, turn);
        check_exact(e4m3fn, p, turn);
        check_exact(e3m0, p, turn);
        const uint8_t e = (uint8_t)(1 + p % 5);
        check_exact((struct mf_fmt){e, (uint8_t)(7 - e), MF_NUMBERS}, p, turn);
        if (p % 4 == 0)
            check_exact(half, p, turn);
    }
    for (size_t n = 0; n <= 130; n++)
        for (int o = 0; o < N_OUTS; o += 3) {
            const struct vec_sum s = {.rule = VEC_EXACT,
                                      .in = (const struct mf_fmt[]){e4m3, e5m2, half, e3m0}[n % 4],
                                      .out = outs[o],
                                      .n_ranks = 3};
            fill(s.in, FINITE, 3, n);
            check_tables(&s, 3, n, outs[o], 2);
        }
}

/* n_big + 2 ranks add up to one smallest unit above a tie: too wide for shortcuts. */
static void check_capacity(struct mf_fmt f, float big, int n_big, float small, float smaller,
                           struct mf_fmt out)
{
    enum { MAX_N = 16500 };
    static uint8_t codes[2 * MAX_N];
    static const uint8_t *parts[MAX_N];
    static float x[MAX_N];
    uint8_t want[2], got[2];
    const struct vec_sum s = {.rule = VEC_EXACT, .in = f, .out = out, .n_ranks = n_big + 2};
    for (int r = 0; r < n_big + 2; r++) {
        x[r] = r < n_big ? big : r == n_big ? small : smaller;
        parts[r] = codes + r * (int)mf_width(f) / 8;
    }
    vec_plain.encode(&(struct vec_cast){.fmt = f}, x, (size_t)n_big + 2, 0, 0, codes);
    vec_plain.sum(&s, parts, n_big + 2, 1, out, 0, want);
    for (int i = 0; i < n_tables; i++) {
        tables[i].sum(&s, parts, n_big + 2, 1, out, 0, got);
        CHECK(memcmp(want, got, sizeof want) == 0,
              "%s: e%um%u of %d ranks: %02x%02x, want %02x%02x", tables[i].name, f.e, f.m,
              n_big + 2, got[1], got[0], want[1], want[0]);
    }
}

static void check_words(struct mf_fmt f)
{
    for (int o = 0; o < N_OUTS; o++)
        for (int shift = 0; shift < 40; shift += 13) {
            const struct vec_sum s = {.rule = VEC_EXACT,
                                      .overflow = o % 2 ? MF_INF : MF_SATURATE,
                                      .in = f,
                                      .out = outs[o],
                                      .n_ranks = 2};
            for (size_t i = 0; i < N; i++) {
                const uint64_t any =
                    (uint64_t)philox_u32(SEED, 2 * i) << 32 | philox_u32(SEED, 2 * i + 1);
                const unsigned top = 61 - (unsigned)(any % 36);
                const uint64_t tie =
                    1ull << (top - 1) | 1ull << (top - 2 - outs[o].m) | (any >> 40 & 1);
                acc_want[i] = i % 8 == 0 ? any
                              : i % 2    ? any >> (1 + any % 61) & MF_ACC_SUM
                                         : tie & MF_ACC_SUM;
            }
            memset(box_want, CANARY, sizeof box_want);
            vec_plain.finish(&s, acc_want, N, outs[o], shift, box_want + 1);
            for (int i = 0; i < n_tables; i++) {
                memset(box_got, CANARY, sizeof box_got);
                tables[i].finish(&s, acc_want, N, outs[o], shift, box_got + 1);
                compare(&tables[i], &s, "finish of any word", 2, N, outs[o], shift);
            }
        }
}

/* An odd code, 1 + 2^-m, plus 2^-(2m+2) less than half a unit stays, unless float makes a tie. */
static void check_rounded_twice(uint8_t e, uint8_t m)
{
    const struct mf_fmt f = {e, m, 0};
    const struct vec_sum s = {.rule = VEC_NEAREST, .in = f, .out = f};
    const float x = 1 + ldexpf(1, -m), y = ldexpf(1, -m - 1) - ldexpf(1, -2 * m - 2);
    for (int i = 0; i < n_tables; i++) {
        uint8_t a[4] = {0}, b[4] = {0}, want[4];
        vec_plain.encode(&(struct vec_cast){.fmt = f}, &x, 1, 0, 0, a);
        vec_plain.encode(&(struct vec_cast){.fmt = f}, &y, 1, 0, 0, b);
        memcpy(want, a, sizeof want);
        tables[i].add(&s, a, b, 1);
        CHECK(memcmp(want, a, sizeof want) == 0, "%s: e%um%u is rounded twice", tables[i].name, e,
              m);
    }
}

static void check_other_rules(void)
{
    static const struct mf_fmt ins[] = {
        {5, 2, 0},  {4, 3, 0},  {4, 3, 1}, {3, 0, 0}, {2, 1, 0}, {1, 1, 0},  {3, 2, 0}, {5, 10, 0},
        {8, 7, 0},  {8, 23, 0}, {6, 9, 0}, {8, 1, 0}, {7, 0, 0}, {4, 11, 0}, {8, 0, 0}, {8, 10, 0},
        {8, 11, 0}, {2, 5, 2},  {2, 1, 2}, {3, 2, 2}, {4, 3, 2}, {5, 2, 1},  {7, 0, 2}};
    int turn = 0;
    for (uint8_t m = 1; m <= 22; m++)
        check_rounded_twice(8, m), check_rounded_twice(7, m);
    for (unsigned f = 0; f < sizeof ins / sizeof ins[0]; f++)
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int p = 1; p <= 9; p += 2) {
                fill(ins[f], (enum kind)kind, p, N);
                for (int rule = VEC_FP32; rule < VEC_RULES; rule++, turn++) {
                    const struct mf_fmt out = turn % 2 ? ins[f] : outs[turn / 2 % N_OUTS];
                    const int shift = rule == VEC_NEAREST ? turn % 7 - 3 : 0;
                    const struct vec_sum s = {
                        .rule = (enum vec_rule)rule,
                        .overflow = turn % 3 && rule != VEC_TRUNC ? MF_INF : MF_SATURATE,
                        .in = ins[f],
                        .out = out,
                        .n_ranks = p};
                    if ((rule != VEC_TRUNC || f == 0) && !left_out(turn))
                        check_tables(&s, p, turn % 5 ? N : (size_t)(turn % 131), out, shift);
                }
            }
}

/* parts: n_nodes vectors of wide words of `s`, whose sum rounds to `want`. Only some formats have
 * fast loops. */
static int n_fast;
static void check_fast_wide(const struct vec_ops *t, const struct vec_sum *s, struct mf_fmt out,
                            int shift, int n_nodes, size_t n)
{
    static uint8_t nodes[MAX_P][8 * N + GUARD], want[4 * N + GUARD], got[8 * N + GUARD];
    const uint8_t *parts[MAX_P], *wides[MAX_P];
    const int k = s->n_ranks;
    uint64_t all[N + 1];
    for (int j = 0; j < n_nodes; j++) {
        for (int r = 0; r < k; r++) {
            parts[r] = packed[j * k + r] + 1;
            vec_plain.accumulate(s, acc_got, parts[r], n, r == 0);
            vec_plain.accumulate(s, all, parts[r], n, j == 0 && r == 0);
        }
        memset(nodes[j], CANARY, sizeof nodes[j]);
        memset(got, CANARY, sizeof got);
        vec_plain.spill(s, acc_got, n, nodes[j] + 1);
        wides[j] = nodes[j] + 1;
        if (t->sum_to_wide && t->sum_to_wide(s, parts, k, n, got + 1)) {
            CHECK(memcmp(got, nodes[j], sizeof got) == 0, "%s: e%um%u of %d to wide, n %zu",
                  t->name, s->in.e, s->in.m, k, n);
            n_fast++;
        }
    }
    memset(want, CANARY, sizeof want);
    memset(got, CANARY, sizeof got);
    vec_plain.finish(s, all, n, out, shift, want + 1);
    if (t->sum_of_wide && t->sum_of_wide(s, wides, n_nodes, n, out, shift, got + 1)) {
        CHECK(memcmp(got, want, sizeof want) == 0,
              "%s: %d nodes of %d, e%um%u of wide to e%um%u%s, n %zu", t->name, n_nodes, k, s->in.e,
              s->in.m, out.e, out.m, mf_suffix(out), n);
        n_fast++;
    }
}

static void check_wide(struct mf_fmt f, int p, size_t n)
{
    static uint8_t want[8 * N + GUARD], got[8 * N + GUARD];
    const struct vec_sum s = {.rule = VEC_EXACT, .in = f, .out = f, .n_ranks = p};
    fill(f, p % 2 ? ANY : LARGE, p, n);
    for (int r = 0; r < p; r++)
        vec_plain.accumulate(&s, acc_want, packed[r] + 1, n, r == 0);
    memset(want, CANARY, sizeof want);
    vec_plain.spill(&s, acc_want, n, want + 1);
    for (int i = 0; i < n_tables; i++) {
        const struct vec_ops *t = &tables[i];
        memset(got, CANARY, sizeof got);
        t->spill(&s, acc_want, n, got + 1);
        CHECK(memcmp(want, got, sizeof got) == 0, "%s: spill e%um%u of %d ranks, n %zu", t->name,
              f.e, f.m, p, n);
        uint64_t twice[N + 1];
        memset(acc_got, CANARY, sizeof acc_got);
        memset(twice, CANARY, sizeof twice);
        for (int again = 0; again < 2; again++) {
            vec_plain.accumulate_wide(&s, twice, want + 1, n, again == 0);
            t->accumulate_wide(&s, acc_got, got + 1, n, again == 0);
            CHECK(memcmp(twice, acc_got, sizeof twice) == 0,
                  "%s: accumulate_wide e%um%u of %d ranks, n %zu", t->name, f.e, f.m, p, n);
        }
    }
}

static void check_all_wide(void)
{
    const struct mf_fmt ins[] = {e5m2, e4m3, e4m3fn, e3m0, half, {1, 1, 0}, {2, 0, 0}};
    for (unsigned f = 0; f < sizeof ins / sizeof ins[0]; f++)
        for (int p = 1; p <= MAX_P; p++)
            check_wide(ins[f], p, (size_t)p * 2);
    for (size_t n = 0; n <= 130; n++)
        check_wide(e5m2, 5, n);
    const struct mf_fmt fast[] = {e4m3,      e4m3fn,    e3m0,      {3, 4, 0}, {2, 5, 0},
                                  {1, 2, 0}, {2, 1, 0}, {2, 5, 2}, e5m2};
    static const int shapes[][2] = {{1, 1}, {1, 4}, {2, 3}, {4, 4}, {8, 2}, {3, 1}, {66, 1}};
    int turn = 0;
    for (unsigned f = 0; f < sizeof fast / sizeof fast[0]; f++)
        for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            for (size_t n = i == 3 ? 0 : N - 32; n <= (i == 3 ? 130 : N); n++, turn++) {
                if (left_out(turn))
                    continue;
                struct vec_sum s = {.rule = VEC_EXACT,
                                    .overflow = turn % 2 ? MF_INF : MF_SATURATE,
                                    .in = fast[f],
                                    .n_ranks = shapes[i][0]};
                s.out = turn % 3 ? outs[turn % N_OUTS] : s.in;
                fill(s.in, (enum kind)(turn % N_KINDS), s.n_ranks * shapes[i][1], n);
                for (int t = 0; t < n_tables; t++)
                    check_fast_wide(&tables[t], &s, s.out, turn % 4, shapes[i][1], n);
            }
    CHECK(n_fast > 0 || n_tables == 1, "no table has a fast sum of wide words");
}

/* Word of node j of n_nodes. Half of the elements are all largest or all smallest words, and sums
 * of 5 or 9 words that lie one unit beside a tie. specials: one of 64 other words is inf or nan;
 * sums with those are made in another way. */
static uint64_t any_word(int bits, int j, int n_nodes, size_t i, bool specials, uint32_t key)
{
    static const uint64_t ties[2][2] = {{9, 17}, {11, 19}}; /* for m = 2, m = 3 */
    const uint64_t lowest = 1ull << (bits - 1), at = (uint64_t)j * N + i,
                   r = (uint64_t)philox_u32(key, 2 * at) << 32 | philox_u32(key, 2 * at + 1);
    uint64_t word = (uint64_t)((int64_t)r >> (64 - bits + (int)(i % 4)));
    if (i % 8 < 2)
        word = i % 8 ? lowest + 2 : lowest - 2;
    else if (i % 8 < 4 && bits > 8)
        word = j + 1 < n_nodes ? ties[i / 16 % 2][i % 8 - 2] << (bits < 33 ? bits - 7 : 26)
                               : (r % 2 ? 1u : -1u);
    else if (specials && r % 64 == 0)
        word = lowest - 1 + (r >> 32) % 3;
    return word & (2 * lowest - 1);
}

enum { MAX_NODES = 2 * MAX_P + 3 };

/* Sums vectors of random words, each up to three times, in a mode that rounds toward zero. */
static void check_any_words(struct mf_fmt f, int n_ranks, int n_nodes, size_t n, bool specials,
                            int turn)
{
    static uint8_t nodes[MAX_P][8 * N + GUARD], want[N + GUARD], got[N + GUARD];
    const struct mf_fmt to[] = {e5m2, e4m3, e3m0, {2, 5, 2}, {1, 2, 0}}, out = to[turn % 5];
    const struct vec_sum s = {.rule = VEC_EXACT,
                              .overflow = turn % 2 ? MF_INF : MF_SATURATE,
                              .in = f,
                              .out = out,
                              .n_ranks = n_ranks};
    const int bits = mf_wide_bits(f, (unsigned)n_ranks), shift = turn % 4;
    const uint8_t *wides[MAX_NODES];
    uint64_t sums[N + 1];
    for (int j = 0; j < n_nodes && j < MAX_P; j++) {
        for (size_t i = 0; i < n; i++)
            sums[i] = mf_wide_acc(any_word(bits, j, n_nodes, i, specials, (uint32_t)turn), bits);
        vec_plain.spill(&s, sums, n, nodes[j] + 1);
    }
    for (int j = 0; j < n_nodes; j++) {
        wides[j] = nodes[j % MAX_P] + 1;
        vec_plain.accumulate_wide(&s, sums, wides[j], n, j == 0);
    }
    memset(want, CANARY, sizeof want);
    vec_plain.finish(&s, sums, n, out, shift, want + 1);
    for (int t = 0; t < n_tables; t++) {
        memset(got, CANARY, sizeof got);
        const uint64_t was = fp_mode_ieee();
#if defined(VEC_X86) || defined(VEC_ARM)
        fp_mode_to_zero();
#endif
        const bool made = tables[t].sum_of_wide &&
                          tables[t].sum_of_wide(&s, wides, n_nodes, n, out, shift, got + 1);
        fp_mode_back(was);
        CHECK(!made || memcmp(got, want, sizeof want) == 0,
              "%s: %d x %d bits of e%um%u to e%um%u%s, n %zu", tables[t].name, n_nodes, bits, f.e,
              f.m, out.e, out.m, mf_suffix(out), n);
    }
}

/* accumulators have 62 bits */
static bool fits(struct mf_fmt f, int n_terms)
{
    return mf_acc_bits(f, (unsigned)n_terms) <= 62;
}

static void check_all_words(void)
{
    const struct mf_fmt ins[] = {e3m0, {2, 1, 0}, {3, 4, 0}, e4m3, e4m3fn, e5m2, half, {3, 2, 2}};
    const int n_nodes[] = {1, 2, 3, 5, 9, MAX_NODES};
    int turn = 0;
    for (unsigned f = 0; f < sizeof ins / sizeof ins[0]; f++)
        for (int n_ranks = 1; n_ranks <= 1 << 20; n_ranks *= 8)
            for (unsigned j = 0; j < sizeof n_nodes / sizeof n_nodes[0]; j++)
                for (int i = 0; i < 10 && fits(ins[f], n_ranks * n_nodes[j]); i++, turn++)
                    if (!left_out(turn))
                        check_any_words(ins[f], n_ranks, n_nodes[j],
                                        philox_u32(SEED, (uint64_t)turn) % 90, i >= 5, turn);
}

static void check_ends(struct mf_fmt f, size_t n)
{
    const struct vec_sum s = {.rule = VEC_EXACT, .in = f, .out = f, .n_ranks = 2},
                         one = {.rule = VEC_NEAREST, .in = f};
    const size_t bytes = vec_bytes(f, n), wide_bytes = vec_wide_bytes(&s, n);
    uint8_t *a = page_end(0, bytes), *b = page_end(1, bytes), *out = page_end(2, bytes),
            *wide = page_end(3, wide_bytes);
    uint64_t *acc = (uint64_t *)page_end(4, n * sizeof *acc);
    fill(f, ANY, 2, n);
    for (int i = 0; i < n_tables; i++) {
        const struct vec_ops *t = &tables[i];
        memcpy(a, packed[0] + 1, bytes);
        memcpy(b, packed[1] + 1, bytes);
        t->add(&one, a, b, n);
        t->sum(&s, (const uint8_t *const[]){a, b}, 2, n, f, 0, out);
        t->accumulate(&s, acc, a, n, true);
        t->spill(&s, acc, n, wide);
        t->accumulate_wide(&s, acc, wide, n, true);
        t->finish(&s, acc, n, f, 0, a);
        if (t->sum_to_wide)
            t->sum_to_wide(&s, (const uint8_t *const[]){a, b}, 2, n, wide);
        if (t->sum_of_wide)
            t->sum_of_wide(&s, (const uint8_t *const[]){wide, wide}, 2, n, f, 0, a);
    }
}

/* Adds three parts with every slot that a floating-point mode may change, one result after the
 * other. Returns their bytes. */
static size_t add_each_way(const struct vec_ops *t, const struct vec_sum *s,
                           const uint8_t *const *parts, int shift, uint8_t *to)
{
    static uint64_t acc[N];
    static uint8_t partial[N * 4];
    const size_t bytes = vec_bytes(s->out, N);
    t->sum(s, parts, 3, N, s->out, shift, to);
    for (int r = 0; r < 3; r++)
        t->accumulate(s, acc, parts[r], N, r == 0);
    t->finish(s, acc, N, s->out, shift, to + bytes);
    if (s->rule != VEC_NEAREST)
        return 2 * bytes;
    if (s->acc.e) {
        t->sum(s, parts, 2, N, s->acc, 0, partial);
        t->hop(s, partial, parts[2], N, s->out, to + 2 * bytes);
    } else {
        memcpy(to + 2 * bytes, parts[0], bytes);
        t->add(s, to + 2 * bytes, parts[1], N);
    }
    return 3 * bytes;
}

static void check_callers_mode(void)
{
#if defined(VEC_X86)
    const uint64_t odd = 0xe040; /* FTZ, DAZ, rounding toward zero */
#elif defined(VEC_ARM)
    const uint64_t odd = 0x5c00000; /* FZ, rounding toward zero, halves without inf and nan */
#else
    const uint64_t odd = 0;
#endif
    const struct mf_fmt ins[] = {e5m2, e4m3, e3m0, half, bf16, fp32, {8, 1, 0}, {6, 9, 0}},
                        accs[] = {{0, 0, 0}, fp32, {8, 10, 0}, half};
    static uint8_t want[3 * N * 4], got[3 * N * 4];
    for (unsigned f = 0; f < sizeof ins / sizeof ins[0]; f++)
        for (int i = 0; i < n_tables; i++)
            for (int turn = 0; turn < 4 * VEC_TRUNC; turn++) {
                const int rule = turn / 4;
                /* some results are subnormal */
                const struct mf_fmt out = rule == VEC_EXACT ? e4m3 : ins[f], acc = accs[turn % 4];
                const int shift = rule == VEC_EXACT ? 6 : 0;
                const struct vec_sum s = {.rule = (enum vec_rule)rule,
                                          .in = ins[f],
                                          .acc = acc,
                                          .out = out,
                                          .n_ranks = 3};
                const uint8_t *parts[] = {packed[0] + 1, packed[1] + 1, packed[2] + 1};
                if ((rule == VEC_EXACT && ins[f].e > 5) ||
                    (acc.e && rule != VEC_NEAREST && rule != VEC_KAHAN))
                    continue;
                fill(ins[f], rule == VEC_EXACT ? FINITE : SMALL, 3, N);
                const size_t bytes = add_each_way(&vec_plain, &s, parts, shift, want);
                const uint64_t was = fp_mode_ieee();
                fp_mode_back(was | odd);
                const uint64_t mode = fp_mode_ieee() & odd; /* valgrind does not flush */
                fp_mode_back(was | odd);
                add_each_way(&tables[i], &s, parts, shift, got);
                const uint64_t left = fp_mode_ieee();
                fp_mode_back(was);
                CHECK(memcmp(want, got, bytes) == 0,
                      "%s: rule %d e%um%u in e%um%u in the caller's mode", tables[i].name, rule,
                      ins[f].e, ins[f].m, acc.e, acc.m);
                CHECK((left & odd) == mode, "%s: the caller's mode is lost", tables[i].name);
            }
}

int main(int argc, char **argv)
{
    few = argc > 1 && !strcmp(argv[1], "few");
    open_tables();
    check_all_exact();
    check_capacity(e4m3, 128, 256, 16, 0x1p-9f, half);
    check_capacity(e5m2, 0x1p15f, 257, 2.5f, -2, bf16);
    check_capacity(half, 0x1p15f, (1 << 14) + (1 << 6), 0x1p-24f, 0, bf16); /* 54 bits */
    check_words(e5m2);
    check_words(half);
    check_other_rules();
    check_all_wide();
    check_all_words();
    for (size_t n = 0; n <= 130; n++) {
        check_ends(e5m2, n);
        check_ends(e4m3, n);
        check_ends(e3m0, n);
        check_ends(half, n);
        check_ends((struct mf_fmt){3, 2, 0}, n);
    }
    check_callers_mode();
    DONE();
}
