/* test_algo_flow_mpi.c : `direct` and `group-scatter` on long vectors request codes once, before
 * they read them, and announce sums once. */
/* RANKS: 1 2 3 7 LONG: 6 */
#include "base/buf.h"
#include "base/err.h"
#include "check.h"
#include "comm/algo/algo.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"
#include "hls/arith/philox.h"
#include <string.h>

enum { MAX_RANKS = 8, SHORT = 30 * 1024, LONG = 60 * 1024, UNIT = 8, CANARY = 0x5a, NEVER = 0xa5 };
static const uint64_t seed = 20261121;

/* group: K of group-scatter, 0: direct */
struct caller {
    const struct codec *codec;
    const uint8_t *own, *want; /* codes it may get; sums it must make */
    uint8_t *codes, *result;
    uint8_t *needed, *had;
    size_t n;
};

static void count(const struct caller *k, uint8_t *times, size_t at, size_t n)
{
    CHECK(n > 0 && at % UNIT == 0 && (n % UNIT == 0 || at + n == k->n) && at + n <= k->n,
          "range %zu + %zu of %zu", at, n, k->n);
    for (size_t i = at / UNIT; i < (at + n) / UNIT; i++)
        times[i]++;
}

static void need(void *arg, size_t at, size_t n)
{
    const struct caller *k = arg;
    const size_t from = vec_bytes(codec_sum(k->codec)->in, at);
    count(k, k->needed, at, n);
    memcpy(k->codes + from, k->own + from, vec_bytes(codec_sum(k->codec)->in, n));
}

static void have(void *arg, size_t at, size_t n)
{
    const struct caller *k = arg;
    const size_t from = vec_bytes(codec_sum(k->codec)->out, at);
    count(k, k->had, at, n);
    CHECK(memcmp(k->result + from, k->want + from, vec_bytes(codec_sum(k->codec)->out, n)) == 0,
          "sums %zu + %zu do not stand", at, n);
}

static void make_codes(struct mf_fmt fmt, size_t n, int rank, uint8_t *codes)
{
    const uint64_t key = philox_key(seed, (uint32_t)n, 0, (uint32_t)rank, 0);
    const size_t bytes = vec_bytes(fmt, n);
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        const uint32_t word = (uint32_t)(((key ^ i) * 0x9e3779b97f4a7c15u) >> 32);
        memcpy(codes + i, &word, sizeof word);
    }
}

static size_t times_other_than_1(const uint8_t *times, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += times[i] != 1;
    return wrong;
}

static size_t part_n(const struct comm *c, size_t n, int i)
{
    const size_t units = n / UNIT, p = (size_t)c->n_ranks;
    return UNIT * (units / p + ((size_t)i < units % p));
}

/* An eighth of the vector, but messages have SHORT..LONG bytes. */
static size_t segment_n(const struct comm *c, const struct codec *codec, size_t n)
{
    const size_t in = vec_bytes(codec_sum(codec)->in, UNIT),
                 out = vec_bytes(codec_sum(codec)->out, UNIT), unit_bytes = in > out ? in : out;
    const size_t message = n / UNIT * unit_bytes / (size_t)c->n_ranks / 8;
    return (message < SHORT  ? SHORT
            : message > LONG ? LONG
                             : message) /
           unit_bytes * UNIT * (size_t)c->n_ranks;
}

static void check_counts(const struct comm *c, const struct codec *codec, size_t n,
                         struct comm_count before)
{
    const struct comm_count after = comm_counted(c);
    uint64_t bytes = 0;
    const size_t each = segment_n(c, codec, n), segments = n > each ? (n + each - 1) / each : 1;
    for (size_t s = 0, left = n; s < segments; s++, left -= left < each ? left : each) {
        const size_t k = left < each ? left : each, mine = part_n(c, k, c->rank);
        bytes += vec_bytes(codec_sum(codec)->in, k - mine) +
                 (uint64_t)(c->n_ranks - 1) * vec_bytes(codec_sum(codec)->out, mine);
    }
    CHECK(after.sent_bytes - before.sent_bytes == bytes, "n %zu: %llu bytes, not %llu", n,
          (unsigned long long)(after.sent_bytes - before.sent_bytes), (unsigned long long)bytes);
    CHECK(after.rounds - before.rounds == (c->n_ranks > 1 ? segments + 1 : 0),
          "n %zu, %zu segments: %llu rounds", n, segments,
          (unsigned long long)(after.rounds - before.rounds));
}

static void run_once(struct comm *c, const struct codec *codec, int group, size_t n, bool flows)
{
    const struct algo *algo = group ? &algo_group_scatter : &algo_direct;
    const struct reduce_op f = codec_reduce_op(&(struct codec_call){.codec = codec});
    const size_t in = vec_bytes(codec_sum(codec)->in, n), out = vec_bytes(codec_sum(codec)->out, n);
    const size_t scratch_bytes = algo->scratch_bytes(&f, n, c->n_ranks, group);
    uint8_t *all = buf_alloc((size_t)c->n_ranks * in), *want = buf_alloc(out),
            *scratch = buf_alloc(scratch_bytes + 1);
    struct caller k = {.codec = codec,
                       .own = all + (size_t)c->rank * in,
                       .want = want,
                       .codes = buf_alloc(in),
                       .result = buf_alloc(out + 1),
                       .needed = buf_alloc(n / UNIT),
                       .had = buf_alloc(n / UNIT),
                       .n = n};
    const uint8_t *parts[MAX_RANKS];
    for (int r = 0; r < c->n_ranks; r++) {
        make_codes(codec_sum(codec)->in, n, r, all + (size_t)r * in);
        parts[r] = all + (size_t)r * in;
    }
    codec->ops->sum(codec_sum(codec), parts, c->n_ranks, n, codec_sum(codec)->out,
                    codec_sum(codec)->out_shift, want);
    if (flows)
        memset(k.codes, NEVER, in); /* wrong until requested */
    else
        memcpy(k.codes, k.own, in);
    scratch[scratch_bytes] = k.result[out] = CANARY;
    const struct algo_flow flow = {need, have, &k};
    const struct algo_call call = {.codec = codec,
                                   .op = f,
                                   .n = n,
                                   .codes = k.codes,
                                   .result = k.result,
                                   .scratch = scratch,
                                   .group = group,
                                   .flow = flows ? &flow : NULL};
    const struct comm_count before = comm_counted(c);
    CHECK(algo->run(c, &call) == 0, "n %zu", n);
    if (!group)
        check_counts(c, codec, n, before);
    CHECK(scratch[scratch_bytes] == CANARY && k.result[out] == CANARY, "n %zu: wrote too much", n);
    CHECK(memcmp(k.result, want, out) == 0, "group %d, n %zu: wrong sums", group, n);
    CHECK(!flows || times_other_than_1(k.needed, n / UNIT) == 0, "n %zu: codes asked for not once",
          n);
    CHECK(!flows || times_other_than_1(k.had, n / UNIT) == 0, "n %zu: sums announced not once", n);
    free(all), free(want), free(scratch), free(k.codes), free(k.result), free(k.needed),
        free(k.had);
}

static int check_group(struct comm *c, const struct codec_spec *spec, int group)
{
    const struct algo *algo = group ? &algo_group_scatter : &algo_direct;
    const size_t chunk = c->chunk_bytes;
    struct codec codec;
    if (codec_parse(spec, &codec) < 0 || algo_settle(algo, group, c->n_ranks, &codec) < 0)
        return -1;
    const size_t each = segment_n(c, &codec, UNIT);
    const size_t sizes[] = {UNIT,          each - 8,        each,          each + 8,
                            3 * each + 24, 11 * each + 240, 17 * each + 16};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        run_once(c, &codec, group, sizes[k], k % 2 == 0);
        c->chunk_bytes = k < 5 ? 10007 : chunk;
        run_once(c, &codec, group, sizes[k], true);
        c->chunk_bytes = chunk;
    }
    return 0;
}

/* Sums in fp32 depend on the order of additions, which is that of ranks only in `direct`. */
static int check_flow(struct comm *c, void *ctx)
{
    static const struct codec_spec rows[] = {{.format = "e5m2", .out_format = "e5m2"},
                                             {.format = "e3m0", .out_format = "e4m3"},
                                             {.format = "e3m0", .out_format = "e3m0"},
                                             {.format = "fp32", .sum = "fp32"}};
    (void)ctx;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int group = 0; group <= (rows[i].sum ? 0 : c->n_ranks); group++)
            if (group == 0 || c->n_ranks % group == 0)
                if (check_group(c, &rows[i], group) < 0)
                    return -1;
    return 0;
}

int main(void)
{
    struct comm *c;
    struct comm_virtual *v;
    if (comm_open(120, &c) < 0)
        return 1;
    if (c->rank == 0)
        printf("seed %llu\n", (unsigned long long)seed);
    CHECK(check_flow(c, NULL) == 0, "real ranks");
    if (c->rank == 0 && c->n_ranks <= 3 && comm_virtual_open(c->n_ranks, NULL, &v) == 0) {
        CHECK(comm_virtual_run(v, check_flow, NULL) == 0, "virtual ranks");
        comm_virtual_close(v);
    }
    comm_close(c);
    DONE();
}
