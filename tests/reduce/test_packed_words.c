/* test_packed_words.c : codes from 16-bit words (reducer_packed.h) equal those of fp32s up to
 * the documented shift. `long`: all 2^32 fp32s at the largest shift, to nearest and saturating. */
#include "check.h"
#include "hls/arith/mf.h"
#include "reduce/reducer_packed.h"
#include <string.h>

static const uint32_t lows[] = {0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
enum { N_LOWS = sizeof lows / sizeof lows[0] };

static uint64_t differing(const struct vec_cast *cast, int shift, uint32_t high, bool all)
{
    const uint32_t word = high << 16;
    uint64_t n = 0;
    uint32_t codes[2]; /* of the word of this upper half, and of its odd neighbour */
    for (uint32_t odd = 0; odd < 2; odd++)
        codes[odd] = mf_enc(cast->fmt, word | odd << 16, shift, cast->round, cast->overflow, 0);
    for (uint32_t k = 0; k < (all ? 1U << 16 : N_LOWS); k++) {
        const uint32_t bits = word | (all ? k : lows[k]);
        const bool odd = (uint32_t)packed_word(bits) << 16 != word;
        n += packed_word(bits) != (uint16_t)(high | ((bits & 0xffff) != 0));
        n += mf_enc(cast->fmt, bits, shift, cast->round, cast->overflow, 0) != codes[odd];
    }
    return n;
}

static uint64_t all_differing(const struct vec_cast *cast, int shift, bool all)
{
    uint64_t n = 0;
    for (uint32_t high = 0; high < 1U << 16; high++)
        n += differing(cast, shift, high, all);
    return n;
}

static int last_shift(const struct vec_cast *cast)
{
    int shift = 160;
    while (shift > -160 && !packed_words_do(cast, shift))
        shift--;
    return shift;
}

int main(int argc, char **argv)
{
    const bool all = argc > 1 && strcmp(argv[1], "long") == 0;
    static const struct mf_fmt fmts[] = {{5, 2, 0}, {4, 3, 1}, {3, 0, 0}, {5, 5, 0}, {8, 5, 0}};
    for (size_t i = 0; i < sizeof fmts / sizeof fmts[0]; i++)
        for (int how = 0; how < 4; how++) {
            const struct vec_cast cast = {.fmt = fmts[i],
                                          .round = how % 2 ? MF_ZERO : MF_NEAREST,
                                          .overflow = how / 2 ? MF_INF : MF_SATURATE};
            const int last = last_shift(&cast);
            const uint64_t at_last = all_differing(&cast, last, all && how == 0);
            CHECK(at_last == 0, "e%dm%d: %llu codes differ at shift %d", cast.fmt.e, cast.fmt.m,
                  (unsigned long long)at_last, last);
            CHECK(all_differing(&cast, 0, false) == 0, "e%dm%d: shift 0", cast.fmt.e, cast.fmt.m);
            CHECK(cast.round != MF_NEAREST || all_differing(&cast, last + 1, false) > 0,
                  "e%dm%d: shift %d would do, too", cast.fmt.e, cast.fmt.m, last + 1);
        }
    const struct vec_cast more = {.fmt = {5, 6, 0}}, trunc = {.fmt = {5, 2, 0}, .trunc = true},
                          drawn = {.fmt = {5, 2, 0}, .round = MF_STOCHASTIC};
    CHECK(!packed_words_do(&more, 0) && all_differing(&more, 0, false) > 0, "m = 6");
    CHECK(!packed_words_do(&trunc, 0) && !packed_words_do(&drawn, 0), "two roundings, a drawn one");
    DONE();
}
