/* test_vec_acc.c : tests sums whose partial sums have a format of their own: vec_plain against
 * long doubles, every instruction set against vec_plain. */
#include "mf_slow.h"
#include "sum_tables.h"
#include "vec_inputs.h"

static const struct pair {
    struct mf_fmt in, acc;
} pairs[] = {{{5, 2, 0}, {6, 9, 0}},
             {{5, 2, 0}, {5, 10, 0}},
             {{5, 2, 0}, {8, 23, 0}},
             {{5, 2, 0}, {5, 3, 0}},
             {{4, 3, 0}, {5, 10, 0}},
             {{4, 3, 0}, {4, 4, 0}},
             {{4, 3, 1}, {5, 3, 0}},
             {{4, 3, 1}, {8, 7, 0}},
             {{3, 0, 0}, {5, 2, 0}},
             {{3, 0, 0}, {4, 0, 0}},
             {{2, 1, 0}, {6, 11, 0}},
             {{1, 2, 0}, {2, 3, 0}},
             {{1, 1, 0}, {7, 10, 0}},
             {{5, 10, 0}, {8, 12, 0}},
             {{8, 7, 0}, {8, 10, 0}},
             {{8, 1, 0}, {8, 23, 0}},
             {{6, 9, 0}, {6, 13, 0}},
             {{3, 3, 0}, {3, 9, 0}},
             {{2, 5, 2}, {3, 7, 0}},
             {{2, 1, 2}, {5, 10, 0}},
             {{3, 4, 1}, {8, 7, 0}},
             /* narrower than the addends */
             {{8, 23, 0}, {5, 2, 0}},
             {{8, 23, 0}, {4, 3, 0}},
             {{5, 10, 0}, {4, 3, 1}},
             {{8, 7, 0}, {3, 2, 0}},
             {{5, 2, 0}, {4, 3, 0}},
             {{2, 5, 2}, {3, 0, 0}}};
enum { N_PAIRS = sizeof pairs / sizeof pairs[0] };

/* a + b has 64 bits; its second rounding is harmless (sum_lanes.h). A nan has no sign, and is
 * inf where m = 0. */
static long double slow_add(struct slow *s, const struct vec_sum *sum, long double a, long double b)
{
    return slow_dec(s->f,
                    isnan(a + b) ? mf_nan(s->f) : slow_enc(s, a + b, MF_NEAREST, sum->overflow, 0));
}

static uint32_t slow_sum(struct slow *acc, struct slow *out, const struct vec_sum *sum,
                         const uint32_t *codes, int p)
{
    long double s = 0, too_much = 0;
    for (int r = 0; r < p; r++) {
        const long double x = slow_dec(sum->in, codes[r]);
        if (sum->rule == VEC_NEAREST) {
            s = slow_add(acc, sum, s, x);
            continue;
        }
        const long double y = slow_add(acc, sum, x, -too_much), t = slow_add(acc, sum, s, y);
        too_much = slow_add(acc, sum, slow_add(acc, sum, t, -s), -y);
        s = t;
    }
    if (isnan(s))
        return mf_nan(out->f);
    const uint32_t code = slow_enc(out, s, MF_NEAREST, sum->overflow, 0);
    return (code & mf_nan(out->f)) != 0 ? code : 0;
}

static uint32_t got[N];

static void check_plain(const struct vec_sum *sum, int p)
{
    static uint32_t codes[MAX_P][N];
    const uint8_t *parts[MAX_P];
    struct slow acc = slow_open(sum->acc), out = slow_open(sum->out);
    for (int r = 0; r < p; r++) {
        parts[r] = packed[r] + 1;
        pack_read(mf_width(sum->in), parts[r], N, codes[r]);
    }
    vec_plain.sum(sum, parts, p, N, sum->out, 0, box_got);
    pack_read(mf_width(sum->out), box_got, N, got);
    for (size_t i = 0; i < N; i++) {
        uint32_t column[MAX_P];
        for (int r = 0; r < p; r++)
            column[r] = codes[r][i];
        const uint32_t want = slow_sum(&acc, &out, sum, column, p);
        CHECK(got[i] == want,
              "rule %d e%um%u in e%um%u -> e%um%u overflow %d of %d ranks: %zu is %x, want %x",
              (int)sum->rule, sum->in.e, sum->in.m, sum->acc.e, sum->acc.m, sum->out.e, sum->out.m,
              (int)sum->overflow, p, i, got[i], want);
    }
    slow_close(&acc), slow_close(&out);
}

static void check_hop(const struct vec_ops *t, const struct vec_sum *s, const uint8_t *const *parts,
                      int p, size_t n, struct mf_fmt out)
{
    static uint8_t partial[N * 4 + GUARD];
    memset(box_want, CANARY, sizeof box_want);
    memset(box_got, CANARY, sizeof box_got);
    vec_plain.sum(s, parts, p, n, out, 0, box_want + 1);
    vec_plain.sum(s, parts, p - 1, n, s->acc, 0, partial + 3);
    t->hop(s, partial + 3, parts[p - 1], n, out, box_got + 1);
    compare(t, s, "hop", p, n, out, 0);
    if (mf_same(out, s->acc)) {
        memcpy(box_got + 1, partial + 3, vec_bytes(out, n));
        t->hop(s, box_got + 1, parts[p - 1], n, out, box_got + 1);
        compare(t, s, "hop in place", p, n, out, 0);
    }
}

static void check_sum(const struct vec_sum *s, int p, size_t n, struct mf_fmt out)
{
    const uint8_t *const *parts = check_tables(s, p, n, out, 0);
    for (int i = 0; i < n_tables && s->rule == VEC_NEAREST && p > 1; i++)
        check_hop(&tables[i], s, parts, p, n, out);
}

static void check_all(void)
{
    static const struct mf_fmt outs[] = {{5, 2, 0}, {8, 23, 0}, {4, 3, 1},
                                         {3, 0, 0}, {5, 10, 0}, {2, 5, 2}};
    int turn = 0;
    for (int i = 0; i < N_PAIRS; i++)
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int p = 1; p <= 9; p += 2 + 2 * (p > 2)) {
                fill(pairs[i].in, (enum kind)kind, p, N);
                for (int rule = VEC_NEAREST; rule <= VEC_KAHAN; rule++, turn++) {
                    const struct vec_sum s = {.rule = (enum vec_rule)rule,
                                              .overflow = turn % 2 ? MF_INF : MF_SATURATE,
                                              .in = pairs[i].in,
                                              .acc = pairs[i].acc,
                                              .out = outs[turn / 2 % 6]};
                    check_plain(&s, p);
                    check_sum(&s, p, N, s.out);
                    check_sum(&s, p, (size_t)(turn % 131), s.acc);
                }
            }
}

static void check_all_codes(struct mf_fmt in, struct mf_fmt acc, enum mf_overflow overflow,
                            uint32_t step)
{
    enum { MAX_N = 1 << 16 };
    static uint8_t partial[4 * MAX_N], addends[4 * MAX_N], want[4 * MAX_N], sums[4 * MAX_N];
    static uint32_t a[MAX_N], b[MAX_N];
    const struct vec_sum s = {
        .rule = VEC_NEAREST, .overflow = overflow, .in = in, .acc = acc, .out = in};
    const size_t n = (size_t)1 << mf_width(acc);
    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i;
    pack_write(mf_width(acc), a, n, partial);
    for (uint32_t code = 0; code < 1u << mf_width(in); code += step) {
        for (size_t i = 0; i < n; i++)
            b[i] = code;
        pack_write(mf_width(in), b, n, addends);
        vec_plain.hop(&s, partial, addends, n, acc, want);
        for (int t = 0; t < n_tables; t++) {
            tables[t].hop(&s, partial, addends, n, acc, sums);
            CHECK(memcmp(want, sums, vec_bytes(acc, n)) == 0, "%s: e%um%u + e%um%u fn %u %x",
                  tables[t].name, acc.e, acc.m, in.e, in.m, in.flavour, code);
        }
    }
}

static void check_exhaustively(bool all)
{
    for (int policy = 0; policy < 2; policy++) {
        const enum mf_overflow overflow = policy ? MF_INF : MF_SATURATE;
        check_all_codes(e5m2, (struct mf_fmt){5, 3, 0}, overflow, 1);
        check_all_codes(e5m2, (struct mf_fmt){6, 2, 0}, overflow, 1);
        check_all_codes(e4m3, (struct mf_fmt){5, 4, 0}, overflow, 1);
        check_all_codes(e4m3, (struct mf_fmt){4, 4, 0}, overflow, 1);
        check_all_codes(e4m3fn, (struct mf_fmt){5, 3, 0}, overflow, 1);
        check_all_codes(e3m0, (struct mf_fmt){5, 5, 0}, overflow, 1);
        check_all_codes((struct mf_fmt){3, 4, 0}, (struct mf_fmt){5, 5, 0}, overflow, 1);
        check_all_codes(e5m2, (struct mf_fmt){6, 9, 0}, overflow, all ? 1 : 19);
        check_all_codes(e5m2, half, overflow, all ? 1 : 19);
    }
}

/* Partial sums in fp32 equal the rule fp32, those in the addends' format the sum without `acc`. As
 * the rule fp32 saturates only at the end, codes are finite and overflow gives inf. */
static void check_same(struct mf_fmt in, enum vec_rule rule, struct mf_fmt acc,
                       enum vec_rule as_rule, enum kind kind, int p)
{
    const uint8_t *parts[MAX_P];
    const struct vec_sum s = {.rule = rule, .overflow = MF_INF, .in = in, .acc = acc},
                         as = {.rule = as_rule, .overflow = MF_INF, .in = in};
    fill(in, kind, p, N);
    for (int r = 0; r < p; r++)
        parts[r] = packed[r] + 1;
    for (int i = 0; i < n_tables; i++) {
        memset(box_want, CANARY, sizeof box_want);
        memset(box_got, CANARY, sizeof box_got);
        tables[i].sum(&s, parts, p, N, in, 0, box_got);
        tables[i].sum(&as, parts, p, N, in, 0, box_want);
        CHECK(memcmp(box_want, box_got, sizeof box_got) == 0,
              "%s: rule %d e%um%u in e%um%u of %d ranks is not rule %d", tables[i].name, (int)rule,
              in.e, in.m, acc.e, acc.m, p, (int)as_rule);
    }
}

static void check_equals(void)
{
    static const struct mf_fmt ins[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1}, {3, 0, 0}, {5, 10, 0},
                                        {8, 7, 0}, {6, 1, 0}, {2, 5, 2}, {2, 1, 2}};
    for (unsigned f = 0; f < sizeof ins / sizeof ins[0]; f++)
        for (int kind = FINITE; kind < N_KINDS; kind++)
            for (int p = 1; p <= 33; p += 4) {
                check_same(ins[f], VEC_NEAREST, fp32, VEC_FP32, (enum kind)kind, p);
                check_same(ins[f], VEC_NEAREST, ins[f], VEC_NEAREST, (enum kind)kind, p);
                check_same(ins[f], VEC_KAHAN, ins[f], VEC_KAHAN, (enum kind)kind, p);
            }
}

static void check_ends(const struct pair *f, size_t n)
{
    const struct vec_sum s = {.rule = VEC_NEAREST, .in = f->in, .acc = f->acc, .out = f->in};
    const size_t in = vec_bytes(f->in, n), sums = vec_bytes(f->acc, n);
    uint8_t *a = page_end(0, in), *b = page_end(1, in), *partial = page_end(2, sums),
            *out = page_end(3, sums);
    fill(f->in, ANY, 2, n);
    for (int i = 0; i < n_tables; i++) {
        memcpy(a, packed[0] + 1, in);
        memcpy(b, packed[1] + 1, in);
        tables[i].sum(&s, (const uint8_t *const[]){a, b}, 2, n, f->acc, 0, partial);
        tables[i].hop(&s, partial, a, n, f->acc, out);
        tables[i].hop(&s, partial, b, n, f->in, a);
    }
}

int main(int argc, char **argv)
{
    open_tables();
    check_all();
    check_exhaustively(argc > 1 && !strcmp(argv[1], "long"));
    check_equals();
    for (int i = 0; i < N_PAIRS; i++)
        for (size_t n = 0; n <= 70; n++)
            check_ends(&pairs[i], n);
    DONE();
}
