/* test_gpu_sum.c : sums of codes have vec_plain's bits, in every format and alignment. */
#include "gpu_sums.h"

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
        {{7, 0, 0}, {8, 9, 0}},  {{6, 5, 0}, {8, 23, 0}},  {{2, 5, 2}, {3, 6, 0}},
        {{5, 2, 1}, {7, 7, 0}}};
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
    static const struct mf_fmt formats[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1}, {2, 5, 0},
                                            {3, 4, 0}, {2, 5, 2}, {2, 1, 2}, {3, 4, 1}};
    int turn = 0;
    for (int f = 0; f < (int)(sizeof formats / sizeof *formats); f++)
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
    (void)open_tables; /* used by the CPU tests */
    printf("seed %d\n", SEED);
    open_gpu();
    check_all_adds();
    check_other_rules();
    check_partials();
    g.run->close();
    DONE();
}
