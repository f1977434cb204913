/* test_gpu_sum_exact.c : exact sums and nodes' partial sums have the plain table's bits, for
 * every format and number of parts. */
#include "gpu_sums.h"

static uint8_t want_wide[ROOM];

static void check_wide(const struct vec_sum *s, int p, size_t n, unsigned skew)
{
    const size_t bytes = vec_wide_bytes(s, n);
    place(s, p, n, 0);
    for (int r = 0; r < p; r++)
        vec_plain.accumulate(s, want_acc, g.list[r], n, r == 0);
    memcpy(g.acc, want_acc, 8 * n);
    memset(want_wide, CANARY, bytes + skew + GUARD);
    memset(g.wide, CANARY, bytes + skew + GUARD);
    vec_plain.spill(s, want_acc, n, want_wide + skew);
    done(g.vec->spill(s, g.acc, n, g.wide + skew, g.s));
    CHECK(memcmp(g.wide, want_wide, bytes + skew + GUARD) == 0, "spill of e%um%u, %d ranks",
          s->in.e, s->in.m, p);
    for (int first = 0; first < 2; first++) {
        vec_plain.accumulate_wide(s, want_acc, want_wide + skew, n, first);
        done(g.vec->accumulate_wide(s, g.acc, g.wide + skew, n, first, g.s));
        CHECK(memcmp(g.acc, want_acc, 8 * n) == 0, "accumulate_wide of e%um%u, %d ranks, first %d",
              s->in.e, s->in.m, p, first);
    }
}

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

/* Ties plus a bit so far below that 24 bits of float would lose it. */
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

/* Whole chunks and remainders; the largest codes of one sign beside the smallest of the other. */
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
        for (uint8_t m = e == 1; m <= 23; m = (uint8_t)(m + (m < 11 ? 1 : 4)))
            for (int i = 0; i < 4; i++, turn++)
                for (uint8_t flavour = MF_IEEE; flavour <= (m > 0 ? MF_NUMBERS : 0); flavour++)
                    check_exact((struct mf_fmt){e, m, flavour}, ranks[i], i == 3 ? 40 : 77, turn);
    for (int p = 1; p <= MAX_P; p += p < 10 ? 1 : 9, turn++) {
        check_exact(e5m2, p, 100, turn);
        check_exact(e4m3, p, 100, turn);
        check_exact(e4m3fn, p, 100, turn);
        check_exact(half, p, 60, turn);
    }
    for (int out = 0; out < N_OUTS; out++)
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
    for (int p = MAX_P - 1; p <= MAX_P; p++, turn++) { /* more than a kernel's list holds */
        check_aligned(e5m2, p);
        check_exact(half, p, 100, turn);
    }
    for (size_t n = 0; n <= 50; n++, turn++)
        check_exact(n % 3 ? e5m2 : n % 2 ? e3m0 : half, 3, n, turn);
}

int main(void)
{
    (void)open_tables; /* used by the CPU tests */
    printf("seed %d\n", SEED);
    open_gpu();
    check_all_exact();
    g.run->close();
    DONE();
}
