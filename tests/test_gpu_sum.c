/* test_gpu_sum.c : sums of packed codes on the GPU equal vec_plain's, to the last bit: every rule,
 * format and alignment. */
#include "sum_codes.h"
#include "device/dev_vec.h"
#include "gpu_fixture.h"

enum { N_PAIRS = 1 << 16, ROOM = 8 * N_PAIRS };

/* Memory that both sides reach. */
static struct {
    const struct dev_run_ops *run;
    const struct dev_vec_ops *vec;
    struct dev_stream *s;
    uint8_t *parts[MAX_P];
    const uint8_t **list;
    uint8_t *out, *acc, *wide;
} g;

static void open_gpu(void)
{
    const struct dev_library *lib = gpu_fixture();
    g.run = lib->run;
    g.vec = lib->vec;
    bool all = g.run->stream_open(false, &g.s) == 0;
    for (int r = 0; r < MAX_P; r++)
        all = all && (g.parts[r] = g.run->alloc_pinned(2 * N_PAIRS + 64)) != NULL;
    all = all && (g.list = g.run->alloc_pinned(MAX_P * sizeof *g.list)) &&
          (g.out = g.run->alloc_pinned(ROOM)) && (g.acc = g.run->alloc_pinned(ROOM)) &&
          (g.wide = g.run->alloc_pinned(ROOM));
    if (!all)
        exit(1);
}

static void done(int rc)
{
    CHECK(rc == 0, "launch: %d", rc);
    CHECK(g.run->wait(g.s) == 0, "the device");
}

/* Equal, and nothing written before or behind: both hold canaries, `at` bytes in front. */
static void compare(const struct vec_sum *s, const char *what, const uint8_t *want, size_t bytes,
                    int p, size_t n)
{
    for (size_t i = 0; i < bytes + GUARD; i++)
        CHECK(g.out[i] == want[i],
              "%s: rule %d overflow %d e%um%u fn %u -> e%um%u of %d ranks, %zu elements: byte %zu "
              "is %02x, want %02x",
              what, (int)s->rule, (int)s->overflow, s->in.e, s->in.m, s->in.fn, s->out.e, s->out.m,
              p, n, i, g.out[i], want[i]);
}

static uint8_t want_out[ROOM], want_wide[ROOM];
static uint64_t want_acc[ROOM / 8];

/* packed[r] + 1, moved to `skew` bytes behind an aligned one (ranks differ by one when skew is
 * odd). */
static void place(const struct vec_sum *s, int p, size_t n, unsigned skew)
{
    for (int r = 0; r < p; r++) {
        uint8_t *to = g.parts[r] + skew + (skew % 2 ? (unsigned)r % 3 : 0);
        memcpy(to, packed[r] + 1, vec_bytes(s->in, n));
        g.list[r] = to;
    }
}

/* sum, fold + finish, and for exact ones the wide partial sums between them. */
static void check_sum(const struct vec_sum *s, int p, size_t n, int shift, unsigned skew)
{
    const struct mf_fmt out = s->out;
    const size_t bytes = vec_bytes(out, n) + skew;
    place(s, p, n, skew);
    memset(want_out, CANARY, bytes + GUARD);
    memset(want_acc, CANARY, vec_acc_bytes(s, n) + GUARD);
    for (int r = 0; r < p; r++)
        vec_plain.fold(s, want_acc, g.list[r], n, r == 0);
    vec_plain.finish(s, want_acc, n, out, shift, want_out + skew);

    memset(g.out, CANARY, bytes + GUARD);
    done(g.vec->sum(s, g.list, p, n, out, shift, g.out + skew, g.s));
    compare(s, "sum", want_out, bytes, p, n);

    memset(g.acc, CANARY, vec_acc_bytes(s, n) + GUARD);
    for (int r = 0; r < p; r++)
        done(g.vec->fold(s, g.acc, g.list[r], n, r == 0, g.s));
    if (s->rule != VEC_FP32) /* nan of fp32 may have any payload */
        CHECK(memcmp(g.acc, want_acc, vec_acc_bytes(s, n) + GUARD) == 0,
              "fold: rule %d e%um%u of %d ranks, %zu elements", (int)s->rule, s->in.e, s->in.m, p,
              n);
    memset(g.out, CANARY, bytes + GUARD);
    done(g.vec->finish(s, g.acc, n, out, shift, g.out + skew, g.s));
    compare(s, "finish", want_out, bytes, p, n);

    if (mf_width(out) == mf_width(s->in)) { /* in place of the last part */
        uint8_t *last = g.out + skew;
        memset(g.out, CANARY, bytes + GUARD);
        memcpy(last, g.list[p - 1], vec_bytes(out, n));
        g.list[p - 1] = last;
        done(g.vec->sum(s, g.list, p, n, out, shift, last, g.s));
        compare(s, "sum in place", want_out, bytes, p, n);
    }
}

static void check_wide(const struct vec_sum *s, int p, size_t n, unsigned skew)
{
    const size_t bytes = vec_wide_bytes(s, n);
    place(s, p, n, 0);
    for (int r = 0; r < p; r++)
        vec_plain.fold(s, want_acc, g.list[r], n, r == 0);
    memcpy(g.acc, want_acc, 8 * n);
    memset(want_wide, CANARY, bytes + skew + GUARD);
    memset(g.wide, CANARY, bytes + skew + GUARD);
    vec_plain.spill(s, want_acc, n, want_wide + skew);
    done(g.vec->spill(s, g.acc, n, g.wide + skew, g.s));
    CHECK(memcmp(g.wide, want_wide, bytes + skew + GUARD) == 0, "spill of e%um%u, %d ranks",
          s->in.e, s->in.m, p);
    for (int first = 0; first < 2; first++) {
        vec_plain.fold_wide(s, want_acc, want_wide + skew, n, first);
        done(g.vec->fold_wide(s, g.acc, g.wide + skew, n, first, g.s));
        CHECK(memcmp(g.acc, want_acc, 8 * n) == 0, "fold_wide of e%um%u, %d ranks, first %d",
              s->in.e, s->in.m, p, first);
    }
}

/* ---- what is summed ---- */

static const struct mf_fmt outs[] = {{5, 2, 0},  {4, 3, 1}, {4, 3, 0},  {3, 0, 0},
                                     {5, 10, 0}, {8, 7, 0}, {8, 23, 0}, {3, 2, 0},
                                     {1, 2, 0},  {7, 0, 0}, {8, 22, 0}, {2, 5, 0}};
enum { N_OUTS = sizeof outs / sizeof outs[0] };

static void check_exact(struct mf_fmt f, int p, size_t n, int turn)
{
    fill(f, (enum kind)(turn % N_KINDS), p, n);
    const struct vec_sum same = {.rule = VEC_EXACT, .in = f, .out = f, .n_ranks = p};
    check_sum(&same, p, n, 0, (unsigned)turn % 5);
    check_wide(&same, p, n, (unsigned)turn % 3);
    const struct mf_fmt out = outs[turn % N_OUTS];
    struct vec_sum s = {.rule = VEC_EXACT, .in = f, .out = out, .n_ranks = p};
    s.overflow = turn / 2 % 2 ? MF_INF : MF_SATURATE;
    check_sum(&s, p, n, turn % 7, turn % 3 ? 0 : 4);
    if (turn % 16 == 0)
        check_sum(&s, p, n, turn % 32 ? 60 : -60, 0);
}

/* Ties of the out format with something far below them, of either sign: what a float of 24 bits
 * would lose. */
static void check_ties(struct mf_fmt f, struct mf_fmt out, int shift)
{
    const int lowest = 1 - mf_bias(f) - f.m, most = (1 << f.e) - 2 - mf_bias(f);
    const unsigned minus = mf_width(f) - 1;
    for (int policy = 0; policy < 2; policy++) {
        uint32_t codes[3][N];
        size_t n = 0;
        for (int top = lowest + out.m + 1; top <= most && n + 4 <= N; top++)
            for (uint32_t sign = 0; sign < 4; sign++, n++)
                for (int r = 0; r < 3; r++) {
                    const int exp = r == 0 ? top : r == 1 ? top - out.m - 1 : lowest;
                    const uint32_t code =
                        mf_enc(f, (uint32_t)127 << 23, exp, MF_NEAREST, MF_INF, 0);
                    codes[r][n] = code | (r < 2 ? sign & 1 : sign >> 1) << minus;
                }
        for (int r = 0; r < 3; r++)
            pack_write(mf_width(f), codes[r], n, packed[r] + 1);
        const struct vec_sum s = {.rule = VEC_EXACT,
                                  .overflow = policy ? MF_INF : MF_SATURATE,
                                  .in = f,
                                  .out = out,
                                  .n_ranks = 3};
        check_sum(&s, 3, n, shift, 0);
    }
}

/* Aligned parts, whole chunks: any number of parts that leaves a rest, with all that a rank's codes can
 * be, and the largest of one sign beside the smallest of the other. */
static void check_aligned(struct mf_fmt f, int p)
{
    struct vec_sum s = {.rule = VEC_EXACT, .in = f, .out = f, .n_ranks = p};
    const uint32_t largest = mf_max(f), minus = 1u << (mf_width(f) - 1);
    uint32_t codes[MAX_P][N];
    for (int kind = 0; kind < N_KINDS; kind++) {
        fill(f, (enum kind)kind, p, N);
        check_sum(&s, p, N, 0, 0);
    }
    for (int r = 0; r < p; r++)
        for (int i = 0; i < N; i++)
            codes[r][i] = ((i + r) % 3 ? largest - (uint32_t)i % 3 : minus | (uint32_t)(i % 5)) ^
                          (i & 1 ? minus : 0u);
    for (int r = 0; r < p; r++)
        pack_write(mf_width(f), codes[r], N, packed[r] + 1);
    for (int shift = 0; shift < 12; shift += 4)
        check_sum(&s, p, N, shift, 0);
    /* nine times a power of two, a tie of e5m2, and the smallest code of either sign */
    for (int r = 0; r < p; r++)
        for (uint32_t i = 0; i < N; i++)
            codes[r][i] = r < 9    ? i / 2 % (largest >> f.m) << f.m
                          : r == 9 ? 1 | (i & 1 ? minus : 0u)
                                   : 0;
    for (int r = 0; r < p; r++)
        pack_write(mf_width(f), codes[r], N, packed[r] + 1);
    s.out = e5m2;
    check_sum(&s, p, N, 0, 0);
    check_sum(&s, p, N, 3, 0);
}

static void check_all_exact(void)
{
    static const int ranks[] = {1, 3, 8, 64};
    int turn = 0;
    for (uint8_t e = 1; e <= 5; e++)
        for (uint8_t m = e == 1; m <= 10; m++)
            for (int i = 0; i < 4; i++, turn++)
                check_exact((struct mf_fmt){e, m, 0}, ranks[i], i == 3 ? 40 : 77, turn);
    for (int p = 1; p <= MAX_P; p += p < 10 ? 1 : 9, turn++) {
        check_exact(e5m2, p, 100, turn);
        check_exact(e4m3, p, 100, turn);
        check_exact(e4m3fn, p, 100, turn);
        check_exact(half, p, 60, turn);
    }
    for (int out = 0; out < N_OUTS; out++) /* every kind of code, every rounding */
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int policy = 0; policy < 2; policy++) {
                const struct vec_sum s = {.rule = VEC_EXACT,
                                          .overflow = policy ? MF_INF : MF_SATURATE,
                                          .in = e5m2,
                                          .out = outs[out],
                                          .n_ranks = 8};
                fill(e5m2, (enum kind)kind, 8, N);
                check_sum(&s, 8, N, kind, 0);
            }
    for (int out = 0; out < N_OUTS; out++)
        for (uint8_t m = 2; m <= 10; m += 4)
            for (int shift = -8; shift <= 16; shift += 8)
                check_ties((struct mf_fmt){5, m, 0}, outs[out], shift);
    for (int p = 1; p <= MAX_P; p += p < 14 ? 1 : 7) {
        check_aligned(e5m2, p);
        check_aligned(e4m3, p);
        check_aligned(e4m3fn, p);
        check_aligned(half, p);
        check_aligned(e3m0, p);
    }
    for (int p = MAX_P - 1; p <= MAX_P; p++, turn++) { /* more than a kernel's own list holds */
        check_aligned(e5m2, p);
        check_exact(half, p, 100, turn);
    }
    for (size_t n = 0; n <= 50; n++, turn++)
        check_exact(n % 3 ? e5m2 : n % 2 ? e3m0 : half, 3, n, turn);
}

static void check_rule(enum vec_rule rule, struct mf_fmt f, int p, size_t n, int turn)
{
    fill(f, (enum kind)(turn % N_KINDS), p, n);
    struct vec_sum s = {
        .rule = rule, .in = f, .out = turn % 2 ? f : outs[turn / 2 % N_OUTS], .n_ranks = p};
    s.overflow = rule != VEC_TRUNC && turn / 4 % 2 ? MF_INF : MF_SATURATE;
    check_sum(&s, p, n, 0, (unsigned)turn % 5);
}

static void check_other_rules(void)
{
    static const enum vec_rule rules[] = {VEC_FP32, VEC_NEAREST, VEC_KAHAN};
    static const int ranks[] = {1, 2, 5, 9, 64};
    int turn = 0;
    for (int r = 0; r < 3; r++)
        for (uint8_t e = 1; e <= 8; e++)
            for (uint8_t m = e == 1; m <= 23; m++, turn++)
                check_rule(rules[r], (struct mf_fmt){e, m, 0}, ranks[turn % 4], 35, turn);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 8; k++, turn++) {
            for (int r = 0; r < 3; r++) {
                check_rule(rules[r], e5m2, ranks[i], 90, k);
                check_rule(rules[r], e4m3fn, ranks[i], 90, k);
                check_rule(rules[r], half, ranks[i], 40, k);
                check_rule(rules[r], fp32, ranks[i], 40, k);
            }
            check_rule(VEC_TRUNC, e5m2, ranks[i], 90, k);
        }
}

/* ---- partial sums in a format of their own ---- */

/* The first ranks' sum as it travels, and the last one's codes; in place where it goes on. */
static void check_hop(const struct vec_sum *s, int p, size_t n, unsigned skew)
{
    const struct mf_fmt into[] = {s->out, s->acc};
    place(s, p, n, skew);
    for (int to = 0; to < 2; to++) {
        const size_t bytes = vec_bytes(into[to], n) + skew;
        memset(want_out, CANARY, bytes + GUARD);
        vec_plain.sum(s, g.list, p, n, into[to], 0, want_out + skew);
        vec_plain.sum(s, g.list, p - 1, n, s->acc, 0, g.acc + skew);
        memset(g.out, CANARY, bytes + GUARD);
        done(g.vec->hop(s, g.acc + skew, g.list[p - 1], n, into[to], g.out + skew, g.s));
        compare(s, "hop", want_out, bytes, p, n);
    }
    memcpy(g.out + skew, g.acc + skew, vec_bytes(s->acc, n));
    done(g.vec->hop(s, g.out + skew, g.list[p - 1], n, s->acc, g.out + skew, g.s));
    compare(s, "hop in place", want_out, vec_bytes(s->acc, n) + skew, p, n);
}

/* One vector of partial sums, scaled and cast again in place, and the largest of them. */
static void check_again(const struct vec_sum *sum, size_t n, int shift, unsigned skew)
{
    const struct vec_sum s = vec_sum_of_partials(sum);
    const size_t bytes = vec_bytes(s.in, n) + skew;
    uint32_t *largest = (uint32_t *)g.wide;
    memset(g.out, CANARY, bytes + GUARD);
    memcpy(g.out + skew, g.acc + skew, bytes - skew);
    memcpy(want_out, g.out, bytes + GUARD);
    const uint8_t *const one[] = {want_out + skew};
    *largest = 0;
    done(g.vec->peak(s.in, g.out + skew, n, largest, g.s));
    CHECK(*largest == vec_plain.peak(s.in, want_out + skew, n), "e%um%u: the largest of %zu is %x",
          s.in.e, s.in.m, n, *largest);
    vec_plain.sum(&s, one, 1, n, s.in, shift, want_out + skew);
    g.list[0] = g.out + skew;
    done(g.vec->sum(&s, g.list, 1, n, s.in, shift, g.out + skew, g.s));
    compare(&s, "cast again", want_out, bytes, 1, n);
}

static void check_partials(void)
{
    static const struct mf_fmt pairs[][2] = {
        {{5, 2, 0}, {6, 9, 0}},  {{5, 2, 0}, {5, 10, 0}},  {{5, 2, 0}, {8, 23, 0}},
        {{4, 3, 1}, {5, 3, 0}},  {{3, 0, 0}, {5, 2, 0}},   {{3, 0, 0}, {4, 0, 0}},
        {{1, 2, 0}, {2, 11, 0}}, {{5, 10, 0}, {8, 12, 0}}, {{8, 7, 0}, {8, 10, 0}},
        {{7, 0, 0}, {8, 9, 0}},  {{6, 5, 0}, {8, 23, 0}}};
    int turn = 0;
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int p = 2; p <= 9; p += 7)
            for (int kind = 0; kind < N_KINDS; kind++, turn++) {
                struct vec_sum s = {.rule = VEC_NEAREST,
                                    .overflow = turn % 2 ? MF_INF : MF_SATURATE,
                                    .in = pairs[i][0],
                                    .acc = pairs[i][1],
                                    .out = turn % 3 ? pairs[i][0] : half,
                                    .n_ranks = p};
                const size_t n = turn % 5 ? 90 : (size_t)(turn % 37);
                fill(s.in, (enum kind)kind, p, n);
                check_sum(&s, p, n, 0, (unsigned)turn % 4);
                check_hop(&s, p, n, (unsigned)turn % 4);
                check_again(&s, n, turn % 23 - 11, (unsigned)turn % 4);
                s.rule = VEC_KAHAN;
                check_sum(&s, p, n, 0, (unsigned)turn % 4);
            }
}

/* ---- codes += codes ---- */

static void check_add(const struct vec_sum *s, const uint8_t *a, const uint8_t *b, size_t n,
                      unsigned skew)
{
    const size_t bytes = vec_bytes(s->in, n) + skew;
    memset(want_out, CANARY, bytes + GUARD);
    memset(g.out, CANARY, bytes + GUARD);
    memcpy(want_out + skew, a, bytes - skew);
    memcpy(g.out + skew, a, bytes - skew);
    memcpy(g.acc + (skew ^ 1), b, bytes - skew);
    vec_plain.add(s, want_out + skew, b, n);
    done(g.vec->add(s, g.out + skew, g.acc + (skew ^ 1), n, g.s));
    compare(s, "add", want_out, bytes, 2, n);
}

static void check_pairs(struct vec_sum s, unsigned skew)
{
    static uint8_t a[N_PAIRS], b[N_PAIRS];
    for (size_t i = 0; i < N_PAIRS; i++)
        a[i] = (uint8_t)i, b[i] = (uint8_t)(i >> 8);
    s.out = s.in;
    check_add(&s, a, b, N_PAIRS, skew);
    memcpy(g.parts[0], a, N_PAIRS);
    memcpy(g.parts[1], b, N_PAIRS);
    g.list[0] = g.parts[0], g.list[1] = g.parts[1];
    for (int exact = 0; exact < 2; exact++) {
        if (exact)
            s.rule = VEC_EXACT;
        memset(want_out, CANARY, N_PAIRS + GUARD);
        memset(g.out, CANARY, N_PAIRS + GUARD);
        vec_plain.sum(&s, g.list, 2, N_PAIRS, s.in, 0, want_out);
        done(g.vec->sum(&s, g.list, 2, N_PAIRS, s.in, 0, g.out, g.s));
        compare(&s, "sum of all pairs", want_out, N_PAIRS, 2, N_PAIRS);
    }
}

static void check_all_adds(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1}, {2, 5, 0}, {3, 4, 0}};
    int turn = 0;
    for (int f = 0; f < 5; f++)
        for (int policy = 0; policy < 2; policy++)
            check_pairs((struct vec_sum){.overflow = policy ? MF_INF : MF_SATURATE,
                                         .rule = VEC_NEAREST,
                                         .in = formats[f],
                                         .n_ranks = 2},
                        (unsigned)(f + policy) % 3);
    check_pairs((struct vec_sum){.rule = VEC_TRUNC, .in = e5m2, .n_ranks = 2}, 0);
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = e == 1; m <= 23; m++, turn++) {
            const struct vec_sum s = {.rule = VEC_NEAREST,
                                      .overflow = turn % 2 ? MF_INF : MF_SATURATE,
                                      .in = {e, m, 0},
                                      .out = {e, m, 0}};
            const size_t n = (size_t)(turn * 7 % 100);
            fill(s.in, (enum kind)(turn / 2 % N_KINDS), 2, n);
            check_add(&s, packed[0] + 1, packed[1] + 1, n, (unsigned)turn % 5);
        }
}

int main(void)
{
    (void)open_tables; /* for the tests of CPUs */
    printf("seed %d\n", SEED);
    open_gpu();
    check_all_adds();
    check_all_exact();
    check_other_rules();
    check_partials();
    g.run->close();
    DONE();
}
