/* test_fuzz_receive.c : runs seeded inputs through tests/lib/fuzz_receive.c. `long`: 25 times
 * as many. */
#include "fuzz_receive.c"

enum { SEED = 31, MAX_BYTES = 200 };

int main(int argc, char **argv)
{
    const bool is_long = argc > 1 && !strcmp(argv[1], "long");
    const uint64_t n_inputs = is_long ? 10000000 : 400000;
    (void)argv;
    printf("seed %d\n", SEED);
    for (uint64_t i = 0; i < n_inputs; i++) {
        uint8_t data[MAX_BYTES];
        const uint32_t draw = philox_u32(SEED, i);
        /* mostly replays and damage, as a forgery with the job's own key may end the job */
        const size_t n = draw % 64 ? 3 + 3 * (draw >> 8 & 3) : 1 + (draw >> 8) % (MAX_BYTES - 1);
        for (size_t k = 0; k < n; k += 4) {
            const uint32_t word = philox_u32(SEED + 1, i * MAX_BYTES + k);
            memcpy(data + k, &word, n - k < 4 ? n - k : 4);
        }
        if (draw >> 16 & 15)
            data[2 % n] &= 0xfe;
        if (n >= 6 && draw % 97 == 0) {
            const uint8_t forgery[6] = {FORGE, data[1], 1, draw % 970 ? PKT_CHUNK_AT : PKT_OP_AT,
                                        0,     1};
            memcpy(data, forgery, sizeof forgery);
        }
        LLVMFuzzerTestOneInput(data, n);
    }
    close_fuzz();
    printf(
        "%llu datagrams: %llu damaged, %llu foreign, %llu stale; %llu sums, %llu times given up\n",
        (unsigned long long)n_inputs, (unsigned long long)fuzz.damaged,
        (unsigned long long)fuzz.foreign, (unsigned long long)fuzz.stale,
        (unsigned long long)fuzz.works, (unsigned long long)fuzz.lost);
    CHECK(fuzz.works > 100, "the job hardly went on");
    CHECK(fuzz.damaged > n_inputs / 10 && fuzz.foreign > n_inputs / 100 && fuzz.lost > 1 &&
              fuzz.stale > n_inputs / 20,
          "too few of a kind");
    DONE();
}
