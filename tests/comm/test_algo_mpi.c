/* test_algo_mpi.c : checks every algorithm with every rule and many formats; native against
 * MPI's operations. */
/* RANKS: 1 2 3 8 LONG: 4 6 */
#include "algo_check.h"

/* MPI's order of additions is unknown: random codes only for 2 ranks, else small whole numbers. */
static void test_native(const struct algo_rank *t, const char *format, const char *sum,
                        const char *overflow, const char *out_format)
{
    struct codec codec;
    const size_t chunk = t->c->chunk_bytes;
    const struct codec_spec spec = {
        .format = format, .sum = sum, .overflow = overflow, .out_format = out_format};
    if (!settle(t, &algo_native, 0, &spec, &codec, true))
        return;
    const struct vec_cast cast = {
        .fmt = codec_sum(&codec)->in, .round = MF_NEAREST, .overflow = codec_sum(&codec)->overflow};
    for (int i = 0; i < N_SIZES; i++) {
        const size_t n = sizes[i];
        float x[5000];
        /* trunc is not defined for nan */
        if (t->n_ranks <= 2 && codec_sum(&codec)->rule != VEC_TRUNC) {
            make_codes(t->world, codec_sum(&codec)->in, n, 5);
            const uint32_t max = mf_max(codec_sum(&codec)->in);
            for (int r = 0; r < t->n_ranks; r++) {
                memcpy(t->world->codes[r], &max, vec_bytes(codec_sum(&codec)->in, 1));
                /* with saturation, inf as the first addend is the largest number, as the second
                 * it is inf: MPICH does not add in the order of the ranks */
                vec_plain.decode(cast.fmt, t->world->codes[r], n, 0, 1, x);
                vec_plain.encode(&cast, x, n, 0, 0, t->world->codes[r]);
            }
        } else {
            for (int r = 0; r < t->n_ranks; r++) {
                for (size_t j = 0; j < n; j++)
                    x[j] = (float)((j + (size_t)r) * (j + 3) % 11 % 2);
                vec_plain.encode(&cast, x, n, 0, 0, t->world->codes[r]);
            }
        }
        work_out(t->world, &algo_native, 0, codec_sum(&codec), n);
        t->c->chunk_bytes = i % 2 ? 1000 : chunk;
        run_once(t, &algo_native, &algo_native, 0, &codec, n, format);
        t->c->chunk_bytes = chunk;
    }
}

static void test_native_refusals(const struct algo_rank *t)
{
    static const struct codec_spec wrong[] = {{.format = "e4m3", .sum = "nearest"},
                                              {.format = "e5m2", .sum = "exact"},
                                              {.format = "fp16", .sum = "fp32"},
                                              {.format = "fp32", .sum = "nearest"}};
    struct codec codec;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        settle(t, &algo_native, 0, &wrong[i], &codec, false);
    for (int i = 0; i < 2; i++) {
        settle(t, &algo_native, 0, &(struct codec_spec){.format = i ? "fp16" : "e5m2"}, &codec,
               true);
        CHECK(codec_sum(&codec)->rule == VEC_NEAREST, "auto settles on what MPI can do");
    }
}

int main(void)
{
    struct algo_world world;
    struct comm *c;
    if (comm_open(120, &c) < 0)
        return 1;
    world_open(&world, false, comm_n_ranks(c), 49160);
    const struct algo_rank rank = algo_rank_of(c, &world), *t = &rank;
    if (rank.rank == 0)
        printf("seed %llu\n", (unsigned long long)algo_check_seed);
    test_combinations(t);
    test_partials(t);
    test_long_and_chunked(t);
    test_native(t, "fp32", "fp32", "saturate", NULL);
    test_native(t, "fp32", "fp32", "inf", "e4m3");
    test_native(t, "fp16", "nearest", "inf", NULL);
    test_native(t, "fp16", "nearest", "saturate", "fp32");
    test_native(t, "bf16", "nearest", "inf", NULL);
    test_native(t, "bf16", "nearest", "saturate", NULL);
    test_native(t, "e5m2", "nearest", "saturate", NULL);
    test_native(t, "e5m2", "nearest", "inf", "fp16");
    test_native(t, "e5m2", "trunc", "saturate", NULL);
    test_native_refusals(t);
    world_close(&world);
    comm_close(c);
    DONE();
}
