/* test_vec_add.c : codes += codes on every instruction set equals vec_plain, for all pairs of 3
 * to 8 bits and for words. `few`: a tenth of the words, for slow machines. */
#include "sum_codes.h"

enum { N_PAIRS = 1 << 16 };

static void check_add(const struct vec_sum *s, const uint8_t *a, const uint8_t *b, size_t n)
{
    static uint8_t want[4 * N_PAIRS + GUARD], got[4 * N_PAIRS + GUARD];
    const size_t bytes = vec_bytes(s->in, n);
    memcpy(want, a, bytes);
    vec_plain.add(s, want, b, n);
    for (int t = 0; t < n_tables; t++) {
        memset(got, CANARY, bytes + GUARD);
        memcpy(got + 1, a, bytes);
        tables[t].add(s, got + 1, b, n);
        for (size_t i = 0; i < bytes; i++)
            CHECK(got[i + 1] == want[i],
                  "%s: rule %d e%um%u fn %u overflow %d: byte %zu of %zu: %x + %x = %x, want %x",
                  tables[t].name, (int)s->rule, s->in.e, s->in.m, s->in.flavour, (int)s->overflow,
                  i, bytes, a[i], b[i], got[i + 1], want[i]);
        for (size_t i = 0; i < GUARD; i++)
            CHECK(got[i ? bytes + i : 0] == CANARY, "%s: e%um%u: add of %zu wrote beyond",
                  tables[t].name, s->in.e, s->in.m, n);
    }
}

static void check_pairs(struct vec_sum s)
{
    static uint32_t a[N_PAIRS], b[N_PAIRS];
    static uint8_t bytes_a[N_PAIRS], bytes_b[N_PAIRS];
    const unsigned width = mf_width(s.in);
    const size_t n = (size_t)1 << 2 * width;
    for (size_t i = 0; i < n; i++) {
        a[i] = (uint32_t)i & ((1u << width) - 1);
        b[i] = (uint32_t)(i >> width);
    }
    pack_write(width, a, n, bytes_a);
    pack_write(width, b, n, bytes_b);
    check_add(&s, bytes_a, bytes_b, n);
}

static void check_all_pairs(void)
{
    for (int policy = 0; policy < 2; policy++) {
        const enum mf_overflow overflow = policy ? MF_INF : MF_SATURATE;
        for (uint8_t width = 3; width <= 8; width++)
            for (uint8_t e = 1; e < width; e++)
                check_pairs((struct vec_sum){.rule = VEC_NEAREST,
                                             .overflow = overflow,
                                             .in = {e, (uint8_t)(width - 1 - e), 0}});
        static const struct mf_fmt others[] = {{4, 3, 1}, {4, 3, 2}, {3, 4, 1}, {3, 4, 2}};
        for (unsigned f = 0; f < sizeof others / sizeof others[0]; f++)
            check_pairs(
                (struct vec_sum){.rule = VEC_NEAREST, .overflow = overflow, .in = others[f]});
    }
    check_pairs((struct vec_sum){.rule = VEC_TRUNC, .overflow = MF_SATURATE, .in = e5m2});
}

/* All codes with corner values, random pairs, neighbours that cancel; each round 65,536 pairs. */
static void check_words(struct mf_fmt fmt, int rounds)
{
    static uint16_t a[N_PAIRS], b[N_PAIRS];
    const uint16_t inf = (uint16_t)mf_inf(fmt), minus = 0x8000;
    const uint16_t corners[] = {0, inf - 1, minus, inf, minus | (inf - 1), 1};
    enum { N_CORNERS = sizeof corners / sizeof corners[0] };
    uint64_t drawn = 0;
    for (int r = 0; r < rounds; r++) {
        const struct vec_sum s = {
            .rule = VEC_NEAREST, .overflow = r % 2 ? MF_INF : MF_SATURATE, .in = fmt};
        for (uint32_t i = 0; i < N_PAIRS; i++) {
            const uint32_t word = r < N_CORNERS ? 0 : philox_u32(SEED, drawn++);
            a[i] = r < N_CORNERS ? corners[r] : (uint16_t)word;
            b[i] =
                (uint16_t)(r >= N_CORNERS && r % 3 == 2 ? (a[i] ^ 0x8000u) + (word >> 16 & 63) - 32
                                                        : i);
        }
        check_add(&s, (const uint8_t *)a, (const uint8_t *)b, N_PAIRS);
    }
}

static void check_random_adds(void)
{
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = 0; m <= 23; m++)
            for (int kind = 0; kind < N_KINDS; kind++) {
                const struct vec_sum s = {.rule = VEC_NEAREST,
                                          .overflow = (e + m + kind) % 2 ? MF_INF : MF_SATURATE,
                                          .in = {e, m, 0}};
                if (e + m < 2)
                    continue;
                fill(s.in, (enum kind)kind, 2, N);
                check_add(&s, packed[0] + 1, packed[1] + 1, N);
            }
    static const struct mf_fmt tailed[] = {{5, 2, 0},  {4, 3, 0}, {3, 0, 0}, {2, 1, 0},
                                           {5, 10, 0}, {8, 7, 0}, {3, 2, 0}};
    for (unsigned f = 0; f < sizeof tailed / sizeof tailed[0]; f++)
        for (size_t n = 0; n <= 130; n++) {
            struct vec_sum s = {.rule = VEC_NEAREST, .in = tailed[f]};
            fill(s.in, ANY, 2, n);
            check_add(&s, packed[0] + 1, packed[1] + 1, n);
            s.rule = VEC_TRUNC;
            if (f == 0)
                check_add(&s, packed[0] + 1, packed[1] + 1, n);
        }
}

int main(int argc, char **argv)
{
    const int times = argc > 1 && !strcmp(argv[1], "few") ? 1 : 10;
    open_tables();
    check_all_pairs();
    check_words(half, 6 + 30 * times);
    check_words(bf16, 10 * times);
    check_random_adds();
    DONE();
}
