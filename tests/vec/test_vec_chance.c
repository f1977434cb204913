/* test_vec_chance.c : stochastic rounding goes up with the dropped part's probability, to 2^-32. */
#include "check.h"
#include "hls/arith/philox.h"
#include "vec_inputs.h"
#include <math.h>

enum { N = 1 << 14, SEED = 31 };

static struct vec_ops tables[VEC_TABLES];
static int n_tables;
static float x[N];
static uint8_t want[4 * N], got[4 * N];

static const struct mf_fmt formats[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1}, {6, 1, 0},  {7, 0, 0},
                                        {3, 4, 0}, {3, 0, 0}, {2, 1, 0}, {5, 10, 0}, {6, 9, 0},
                                        {3, 2, 0}, {4, 7, 0}, {5, 5, 0}, {2, 5, 0},  {2, 5, 2},
                                        {2, 1, 2}, {3, 2, 2}, {5, 2, 1}};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

/* x[0 .. n - 1] are elements at, at + 1, ... of a layer. `want` receives vec_plain's bytes. */
static void compare(const struct vec_cast *cast, const char *what, size_t at, size_t n, int shift)
{
    const size_t bytes = vec_bytes(cast->fmt, n);
    vec_plain.encode(cast, x, n, at, shift, want);
    for (int t = 0; t < n_tables; t++) {
        tables[t].encode(cast, x, n, at, shift, got);
        CHECK(memcmp(got, want, bytes) == 0, "%s: %s of e%um%u fn %u, %zu from %zu, shift %d",
              tables[t].name, what, cast->fmt.e, cast->fmt.m, cast->fmt.flavour, n, at, shift);
    }
}

static void check_lower_halves(struct mf_fmt f, int shift, size_t at)
{
    const struct vec_cast cast = {
        .fmt = f, .round = MF_STOCHASTIC, .key = philox_key(SEED, f.e, f.m, f.flavour, 0)};
    size_t ups = 0;
    for (size_t i = 0; i < N; i++) {
        const uint32_t word = philox_round_u32(cast.key, at + i), rest = vec_rest_near(word, i);
        x[i] = vec_rest(f, rest, shift);
        const uint32_t code = mf_enc(f, bits_of(x[i]), shift, MF_STOCHASTIC, MF_SATURATE, word);
        CHECK(code == (rest > word), "e%um%u: rest %08x by %08x gives %x", f.e, f.m, rest, word,
              code);
        ups += code;
    }
    CHECK(ups > N / 3 && ups < 2 * N / 3, "%zu of %d go up", ups, N);
    compare(&cast, "lower halves", at, N, shift);
    compare(&cast, "lower halves", at, N - 37, shift);
}

static void check_any(struct mf_fmt f, int shift, size_t at, int turn)
{
    const struct vec_cast cast = {.fmt = f,
                                  .round = MF_STOCHASTIC,
                                  .overflow = turn % 2 ? MF_INF : MF_SATURATE,
                                  .key = philox_key(SEED, f.e, f.m, f.flavour, 1)};
    for (size_t i = 0; i < N; i++)
        x[i] = turn % 3 ? vec_input(f, shift, at + i)
                        : (float)ldexp((double)philox_u32(cast.key, i) - 0x1p31,
                                       -40 - shift - (int)(i % 24));
    compare(&cast, "anything", at, N, shift);
    for (int t = 0; t < n_tables && mf_width(f) % 8 == 0; t++) {
        const size_t bytes = mf_width(f) / 8;
        memset(got, 0xa5, N * bytes);
        for (size_t cut = 1, first = 0; first < N; first += cut, cut = cut * 5 % 1931 + 1) {
            cut = N - first < cut ? N - first : cut;
            tables[t].encode(&cast, x + first, cut, at + first, shift, got + first * bytes);
        }
        CHECK(memcmp(got, want, N * bytes) == 0, "%s: pieces of e%um%u from %zu differ",
              tables[t].name, f.e, f.m, at);
    }
}

static const double rests[] = {0,       0x1p-32,           0x1p-17, 0x1p-16 - 0x1p-32,
                               0x1p-16, 0x1p-16 + 0x1p-32, 0.5,     1 - 0x1p-32};
enum { N_RESTS = sizeof rests / sizeof rests[0], DRAWS = 1000000 };

static void check_count(const char *what, double p, double ups)
{
    const double mean = DRAWS * p, deviation = sqrt(DRAWS * p * (1 - p));
    CHECK(fabs(ups - mean) <= 5 * deviation, "%s: rest %a: %g of %d go up, want %g +- %g", what, p,
          ups, DRAWS, mean, deviation);
}

/* 10^6 samples of each dropped part by mf_pack(), and by casts if fp32 holds it. */
static void check_law(void)
{
    const struct mf_fmt f = {5, 2, 0};
    const struct vec_ops *ops = &tables[n_tables - 1]; /* all tables give the same bits */
    for (int r = 0; r < N_RESTS; r++) {
        const uint64_t key = philox_key(SEED, 2, (uint32_t)r, 0, 0);
        const uint64_t rest = (uint64_t)ldexp(rests[r], 32);
        const struct mf_num v = {.sig = 5ull << 32 | rest, .exp = -34, .kind = MF_FINITE};
        const uint32_t down = mf_pack(f, v, MF_ZERO, MF_INF, 0);
        double ups = 0;
        for (uint64_t i = 0; i < DRAWS; i++)
            ups += mf_pack(f, v, MF_STOCHASTIC, MF_INF, philox_round_u32(key, i)) - down;
        check_count("mf_pack", rests[r], ups);

        const struct vec_cast cast = {.fmt = f, .round = MF_STOCHASTIC, .key = key ^ 1};
        if ((double)(float)rests[r] != rests[r])
            continue; /* fp32 cannot hold 1 - 2^-32 */
        ups = 0;
        for (size_t i = 0; i < N; i++)
            x[i] = vec_rest(f, (uint32_t)rest, 0);
        for (size_t done = 0, n; done < DRAWS; done += n) {
            n = DRAWS - done < N ? DRAWS - done : N;
            ops->encode(&cast, x, n, done, 0, got);
            for (size_t i = 0; i < n; i++)
                ups += got[i];
        }
        check_count("cast", rests[r], ups);
    }
}

int main(void)
{
    static const int shifts[] = {0, 9, -11, 60};
    static const size_t starts[] = {0, 8, 3, (size_t)8 << 32, ((size_t)8 << 32) - 4096, 1237};
    n_tables = vec_tables(tables);
    printf("%d tables, seed %d\n", n_tables, SEED);
    for (int f = 0, turn = 0; f < N_FORMATS; f++)
        for (int i = 0; i < 4; i++, turn++) {
            check_lower_halves(formats[f], shifts[i], starts[turn % 6]);
            check_any(formats[f], shifts[i], starts[(turn + 1) % 6], turn);
        }
    check_law();
    DONE();
}
