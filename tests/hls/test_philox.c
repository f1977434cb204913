/* test_philox.c : checks Philox4x32-10 against the authors' vectors (Random123, kat_vectors).
 * `quick`: fewer streams. */
#include "check.h"
#include "hls/arith/philox.h"

static void check_vector(uint64_t key, struct philox_block counter, struct philox_block want)
{
    struct philox_block got = philox_rounds(key, counter);
    for (int i = 0; i < 4; i++)
        CHECK(got.w[i] == want.w[i], "key %016llx, word %d: %08x, must be %08x",
              (unsigned long long)key, i, got.w[i], want.w[i]);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Tuples below `side`, also with a neighbour seed, have different keys. */
static void check_keys(uint32_t side)
{
    uint32_t n_tuples = side * side * side * side;
    uint64_t *key = malloc(2 * n_tuples * sizeof *key);
    if (!key)
        abort();
    size_t n = 0;
    for (uint64_t seed = 7; seed < 9; seed++)
        for (uint32_t i = 0; i < n_tuples; i++)
            key[n++] = philox_key(seed, i % side, i / side % side, i / (side * side) % side,
                                  i / (side * side * side));
    qsort(key, n, sizeof *key, compare);
    for (size_t i = 1; i < n; i++)
        CHECK(key[i] != key[i - 1], "key %016llx twice", (unsigned long long)key[i]);
    free(key);
}

static void check_bits(uint32_t (*word)(uint64_t, uint64_t), uint64_t key)
{
    enum { N = 100000 };
    int ones[32] = {0};
    for (uint64_t i = 0; i < N; i++)
        for (int bit = 0; bit < 32; bit++)
            ones[bit] += (int)(word(key, i) >> bit & 1);
    for (int bit = 0; bit < 32; bit++) /* 6 standard deviations of 158 */
        CHECK(abs(ones[bit] - N / 2) < 950, "bit %d is 1 in %d of %d words", bit, ones[bit], N);
}

/* Word i is word i % 4 of block i / 4, even if i needs both counter words. */
static void check_stream(void)
{
    uint64_t key = 0x299f31d0a4093822;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t at = i < 500 ? i : (i << 50) + i;
        struct philox_block counter = {{(uint32_t)(at / 4), (uint32_t)(at / 4 >> 32), 0, 0}};
        CHECK(philox_u32(key, at) == philox_rounds(key, counter).w[at % 4], "word %llu",
              (unsigned long long)at);
    }
    check_bits(philox_u32, key);
}

/* Half-words i % 8 of two blocks, a word's low half first. */
static void check_rounding(void)
{
    const uint64_t key = 0x299f31d0a4093822;
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t at = i < 500 ? i : (i << 50) + i;
        uint32_t want = 0;
        for (uint32_t half = 0; half < 2; half++) {
            const struct philox_block counter = {
                {(uint32_t)(at / 8), (uint32_t)(at / 8 >> 32), half, 0}};
            const uint32_t word = philox_rounds(key, counter).w[at % 8 / 2];
            want = want << 16 | (at % 2 ? word >> 16 : word & 0xffff);
        }
        CHECK(philox_round_u32(key, at) == want, "word %llu", (unsigned long long)at);
    }
    check_bits(philox_round_u32, key);
}

int main(int argc, char **argv)
{
    (void)argv;
    const uint64_t ones = ~0ull;
    struct philox_block zero = {{0, 0, 0, 0}}, full = {{~0u, ~0u, ~0u, ~0u}};
    struct philox_block pi = {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
    check_vector(0, zero, (struct philox_block){{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
    check_vector(ones, full,
                 (struct philox_block){{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
    check_vector(0x299f31d0a4093822, pi,
                 (struct philox_block){{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
    check_keys(argc > 1 ? 8 : 32);
    check_stream();
    check_rounding();
    DONE();
}
