/* test_nc_shard_mpi.c : tests reduce-scatters and all-gathers of narrowcast.h over MPI:
 * codecs, long layers, types, reduces to one rank, two communicators at once, state, misuse and
 * refused options. 3 and 5 ranks only reduce. */
/* RANKS: 1 2 4 LONG: 3 5 */
#include "capture.h"
#include "nc_shards.h"
#include <errno.h>
#include <math.h>

static int rank, n_ranks;

static int open_mpi(const void *arg, const struct nc_options *o, const struct nc_layer *l, int n,
                    struct nc **out)
{
    (void)arg;
    return nc_open(o, l, n, out);
}

static struct nc_options e4m3(const char *shard)
{
    struct nc_options o = shard_options(&shard_codecs[0]);
    o.shard = shard;
    o.threads = 1;
    return o;
}

static struct nc *open_one(const struct nc_options *o, const struct nc_layer *l, int n)
{
    struct nc *nc = NULL;
    CHECK(nc_open(o, l, n, &nc) == 0, "open: %s", nc_last_error(NULL));
    if (!nc)
        exit(1);
    return nc;
}

/* Several segments of a message, and several pieces of an all-gather. */
static void check_long(void)
{
    enum { N = 1300003 };
    static float x[N], mean[N], shard[N], weights[N];
    const struct nc_layer flat = {.name = "flat", .n = N};
    size_t range[SHARD_RANKS] = {0}, at, n, wrong = 0;
    void *list[] = {x}, *means[] = {mean}, *gathered[] = {weights};
    struct nc_options o = e4m3(NULL);
    range[n_ranks - 1] = N;
    for (int r = 0; r + 1 < n_ranks; r++) {
        range[r] = 300001 + 5 * (size_t)r;
        range[n_ranks - 1] -= range[r];
    }
    o.bucket_bytes = 1 << 20;
    for (int i = 0; i < N; i++)
        x[i] = mean[i] = grad_of(rank, 0, i);
    struct nc *nc = open_one(&o, &flat, 1);
    CHECK(nc_allreduce(nc, means, NULL) == 0, "all-reduce");
    nc_close(nc);
    o.shard = "rounded";
    o.shard_n = range;
    nc = open_one(&o, &flat, 1);
    CHECK(nc_shard(nc, rank, &at, &n) == 0 && n == range[rank], "a range");
    for (int i = 0; i < 2; i++) {
        CHECK(nc_reduce_scatter(nc, list, shard, NULL) == 0, "%s", nc_last_error(nc));
        wrong += memcmp(shard, mean + at, n * sizeof *shard) != 0;
    }
    CHECK(wrong == 0, "a long layer");
    CHECK(nc_all_gather(nc, shard, gathered, NULL) == 0, "%s", nc_last_error(nc));
    CHECK(memcmp(weights, mean, sizeof mean) == 0, "all slices together are the mean");
    nc_close(nc);
}

/* Each rank in turn owns all elements: it gets the bits of an all-reduce, also where its
 * gradients are; the others send their codes once and nothing else. */
static void check_reduce(int codec)
{
    enum { N = 40001, FEW = 400 };
    static float x[N], want[N], sum[N], again[N];
    const struct nc_layer flat = {.name = "flat", .n = N};
    void *list[] = {x}, *wanted[] = {want}, *agains[] = {again};
    struct nc_options o = shard_options(&shard_codecs[codec]);
    struct nc_report report;
    o.op = codec < 4 ? "sum" : NULL;
    o.bucket_bytes = 8192;
    for (int i = 0; i < N; i++)
        want[i] = x[i] = grad_of(rank, 0, i);
    struct nc *nc = open_one(&o, &flat, 1);
    CHECK(nc_allreduce(nc, wanted, NULL) == 0, "all-reduce");
    nc_close(nc);
    for (int root = 0; root < n_ranks; root++) {
        size_t range[SHARD_RANKS] = {0};
        const bool mine = rank == root;
        range[root] = N;
        o.shard = "rounded", o.shard_n = range;
        nc = open_one(&o, &flat, 1);
        CHECK(nc_reduce_scatter(nc, list, mine ? sum : NULL, &report) == 0, "%s",
              nc_last_error(nc));
        CHECK(!mine || !memcmp(sum, want, sizeof want), "codec %d: other bits at %d", codec, root);
        CHECK(report.sent_bytes <= FEW + (mine ? 0 : report.code_bytes) &&
                  report.code_bytes > N / 8,
              "codec %d: rank %d sends %d bytes to %d, of %d", codec, rank, (int)report.sent_bytes,
              root, (int)report.code_bytes);
        CHECK(mine || report.sent_bytes >= report.code_bytes, "codec %d: few bytes", codec);
        if (codec < 4) { /* without a state */
            memcpy(again, x, sizeof x);
            CHECK(nc_reduce_scatter(nc, agains, mine ? again : NULL, NULL) == 0 &&
                      !memcmp(again, mine ? want : x, sizeof x),
                  "codec %d: in place at %d", codec, root);
        }
        struct capture said;
        capture_begin(&said);
        CHECK(!mine || nc_reduce_scatter(nc, list, NULL, NULL) == -EINVAL, "the root's NULL");
        capture_end(&said);
        CHECK(!mine || strstr(said.text, "its pointer is NULL"), "said '%s'", said.text);
        nc_close(nc);
    }
}

/* One element: the ranks without it may pass NULL. */
static void check_empty(void)
{
    const struct nc_layer one = {.name = "one", .n = 1};
    const float x = 2;
    float shard = 0, weight = 0;
    size_t n;
    const void *list[] = {&x};
    void *weights[] = {&weight};
    struct nc_options o = e4m3("rounded");
    struct nc *nc = open_one(&o, &one, 1);
    CHECK(nc_shard(nc, rank, NULL, &n) == 0, "a range");
    float *const mine = n ? &shard : NULL;
    CHECK(nc_reduce_scatter(nc, list, mine, NULL) == 0 && shard == (n ? x : 0), "reduce-scatter");
    CHECK(nc_all_gather(nc, mine, weights, NULL) == 0 && weight == x, "all-gather");
    nc_close(nc);
}

/* Weights in fp16: what fp16 cannot hold is inf, also if the format of means saturates. */
static void check_inf(void)
{
    const struct nc_layer two = {.name = "two", .n = 2};
    float shard[] = {INFINITY, -1e6F};
    uint16_t weights[2] = {0};
    size_t at, n;
    void *list[] = {weights};
    struct nc_options o = e4m3("fp32");
    o.type = "fp16", o.gather = "fp32";
    struct nc *nc = open_one(&o, &two, 1);
    CHECK(nc_shard(nc, rank, &at, &n) == 0, "a range");
    CHECK(nc_all_gather(nc, n ? shard + at : NULL, list, NULL) >= 0, "%s", nc_last_error(nc));
    CHECK(weights[0] == 0x7c00 && weights[1] == 0xfc00, "%04x %04x", weights[0], weights[1]);
    nc_close(nc);
}

/* Gradients and weights in bf16; shards in fp32. */
static void check_type(void)
{
    static uint16_t x[N_ALL], weights[N_ALL];
    static float wide[N_ALL], shard[N_ALL], want[N_ALL];
    size_t at, n, wrong = 0;
    void *list[N_LAYERS], *wide_list[N_LAYERS], *weight_list[N_LAYERS];
    struct nc_options o = e4m3("fp32");
    point(x, sizeof *x, list);
    point(wide, sizeof *wide, wide_list);
    point(weights, sizeof *weights, weight_list);
    for (int i = 0; i < N_ALL; i++) {
        uint32_t bits;
        const float g = grad_of(rank, 0, i);
        memcpy(&bits, &g, sizeof bits);
        x[i] = (uint16_t)(bits >> 16);
        bits &= 0xffff0000;
        memcpy(&wide[i], &bits, sizeof bits);
    }
    struct nc *nc = open_one(&o, layers, N_LAYERS);
    CHECK(nc_shard(nc, rank, &at, &n) == 0 && nc_reduce_scatter(nc, wide_list, want, NULL) == 0,
          "fp32");
    nc_close(nc);
    o.type = "bf16";
    o.gather = "bf16";
    nc = open_one(&o, layers, N_LAYERS);
    CHECK(nc_reduce_scatter(nc, list, shard, NULL) == 0, "%s", nc_last_error(nc));
    CHECK(memcmp(shard, want, n * sizeof *shard) == 0, "gradients in bf16");
    for (size_t i = 0; i < n; i++)
        shard[i] = (float)((at + i) % 256); /* bf16 has these integers */
    CHECK(nc_all_gather(nc, shard, weight_list, NULL) == 0, "%s", nc_last_error(nc));
    for (int i = 0; i < N_ALL; i++) {
        const float value = (float)(i % 256);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        wrong += weights[i] != bits >> 16;
    }
    CHECK(wrong == 0, "%zu weights in bf16", wrong);
    nc_close(nc);
}

static void check_two(void)
{
    static float x[2][N_ALL], shard[2][N_ALL], want[2][N_ALL], weights[N_ALL];
    void *list[2][N_LAYERS], *gathered[N_LAYERS];
    size_t n;
    const struct nc_options o[] = {e4m3("fp32"), e4m3("rounded")};
    struct nc *nc[2];
    point(weights, sizeof *weights, gathered);
    for (int k = 0; k < 2; k++) {
        nc[k] = open_one(&o[k], layers, N_LAYERS);
        point(x[k], sizeof **x, list[k]);
        fill_grads(rank, (uint64_t)k, x[k]);
        CHECK(nc_reduce_scatter(nc[k], list[k], want[k], NULL) == 0, "%s", nc_last_error(nc[k]));
    }
    CHECK(nc_shard(nc[0], rank, NULL, &n) == 0, "a range");
    int rc = nc_ireduce_scatter(nc[0], list[0], shard[0]);
    CHECK(rc == 0, "%s", nc_last_error(nc[0]));
    rc = nc_ireduce_scatter(nc[1], list[1], shard[1]);
    if (rc == -EBUSY) { /* this MPI allows one communicator at a time */
        CHECK(nc_wait(nc[0], NULL) == 0 && nc_ireduce_scatter(nc[1], list[1], shard[1]) == 0,
              "in turn");
        CHECK(nc_wait(nc[1], NULL) == 0, "in turn");
    } else {
        CHECK(rc == 0 && nc_wait(nc[1], NULL) == 0 && nc_wait(nc[0], NULL) == 0, "at once");
        CHECK(nc_iall_gather(nc[0], want[0], gathered) == 0 &&
                  nc_reduce_scatter(nc[1], list[1], shard[1], NULL) == 0 &&
                  nc_wait(nc[0], NULL) == 0,
              "an all-gather beside a reduce-scatter");
    }
    for (int k = 0; k < 2; k++) {
        CHECK(memcmp(shard[k], want[k], n * sizeof **shard) == 0, "communicator %d", k);
        nc_close(nc[k]);
    }
}

/* Residuals of 1bitSGD's sums stay with the range's owner. */
static void check_state(void)
{
    static float x[N_ALL], shard[N_ALL], want[N_ALL];
    void *list[N_LAYERS];
    size_t n;
    const struct shard_codec row = {.codec = "onebit:64"};
    struct capture said;
    struct nc_options o = shard_options(&row);
    o.shard = "rounded";
    point(x, sizeof *x, list);
    fill_grads(rank, 0, x);
    struct nc *nc = open_one(&o, layers, N_LAYERS);
    CHECK(nc_shard(nc, rank, NULL, &n) == 0, "a range");
    const size_t bytes = nc_state_bytes(nc);
    void *state = malloc(bytes);
    CHECK(nc_reduce_scatter(nc, list, shard, NULL) == 0 && nc_state_save(nc, state) == 0, "save");
    CHECK(nc_reduce_scatter(nc, list, want, NULL) == 0, "the next step");
    nc_close(nc);
    nc = open_one(&o, layers, N_LAYERS);
    CHECK(nc_state_load(nc, state, bytes) == 0, "%s", nc_last_error(nc));
    CHECK(nc_reduce_scatter(nc, list, shard, NULL) == 0, "%s", nc_last_error(nc));
    CHECK(memcmp(shard, want, n * sizeof *shard) == 0, "other bits after loading a state");
    nc_close(nc);
    o.shard = NULL;
    nc = open_one(&o, layers, N_LAYERS);
    capture_begin(&said);
    CHECK(nc_state_load(nc, state, bytes) == -EPROTO, "a state of shards");
    capture_end(&said);
    nc_close(nc);
    o.shard = "fp32"; /* unrounded sums leave no residuals */
    nc = open_one(&o, layers, N_LAYERS);
    CHECK(nc_state_bytes(nc) < bytes * 6 / 10, "%zu of %zu bytes", nc_state_bytes(nc), bytes);
    nc_close(nc);
    free(state);
}

/* After nan, after loading a state and in forced fp32, weights are the shards again. */
static void check_repair(void)
{
    static float shard[N_ALL], weights[N_ALL];
    void *list[N_LAYERS];
    struct nc_report first, report;
    size_t at, n;
    struct nc_options o = e4m3("fp32");
    o.gather = "delta:e4m3:8";
    struct nc *nc = open_one(&o, layers, N_LAYERS);
    const size_t bytes = nc_state_bytes(nc);
    void *state = malloc(bytes);
    point(weights, sizeof *weights, list);
    CHECK(nc_shard(nc, rank, &at, &n) == 0, "a range");
    for (size_t i = 0; i < n; i++)
        shard[i] = (float)(at + i) + 0.3f;
    CHECK(nc_all_gather(nc, shard, list, &first) == 0 && nc_state_save(nc, state) == 0, "fp32");
    const float kept = shard[0];
    shard[0] = NAN;
    CHECK(nc_all_gather(nc, shard, list, &report) == 0 && (n == 0 || isnan(weights[at])), "nan");
    CHECK(n == 0 || report.code_bytes < first.code_bytes, "not differences");
    shard[0] = kept;
    CHECK(nc_all_gather(nc, shard, list, NULL) == 0, "%s", nc_last_error(nc));
    for (size_t i = 0; i < N_ALL; i++)
        CHECK(fabsf(weights[i] - (float)i - 0.3f) <= ((float)i + 0.3f) / 16, "weight %zu: %g", i,
              (double)weights[i]);
    for (int forced = 0; forced < 2; forced++) {
        weights[n ? at : 0] += (float)rank; /* the ranks differ */
        CHECK(forced ? nc_force_fp32(nc, 1) == 0 : nc_state_load(nc, state, bytes) == 0, "%s",
              nc_last_error(nc));
        CHECK(nc_all_gather(nc, shard, list, &report) == 0, "%s", nc_last_error(nc));
        CHECK(report.code_bytes == first.code_bytes, "differences");
        for (size_t i = 0; i < N_ALL; i++)
            CHECK(weights[i] == (float)i + 0.3f, "weight %zu: %g", i, (double)weights[i]);
    }
    nc_close(nc);
    free(state);
}

static void check_misuse(void)
{
    static float x[N_ALL], shard[N_ALL];
    struct capture said;
    void *list[N_LAYERS];
    size_t at = 7, n = 7;
    struct nc_options o = e4m3(NULL);
    point(x, sizeof *x, list);
    fill_grads(rank, 0, x);
    capture_begin(&said);
    struct nc *nc = open_one(&o, layers, N_LAYERS);
    CHECK(nc_reduce_scatter(nc, list, shard, NULL) == -EINVAL &&
              nc_ireduce_scatter(nc, list, shard) == -EINVAL &&
              nc_all_gather(nc, shard, list, NULL) == -EINVAL &&
              nc_shard(nc, 0, &at, &n) == -EINVAL && at == 7 && n == 7 &&
              nc_allreduce(nc, list, NULL) == 0 && nc_iall_gather(nc, shard, list) == -EINVAL &&
              nc_iallreduce(nc, list) == 0 && nc_ready(nc, 0, N_LAYERS) == 0 &&
              nc_wait(nc, NULL) == 0,
          "no shards: refused, and all-reduces work after that");
    nc_close(nc);
    o.shard = "fp32";
    nc = open_one(&o, layers, N_LAYERS);
    CHECK(nc_allreduce(nc, list, NULL) == -EINVAL && nc_iallreduce(nc, list) == -EINVAL,
          "an all-reduce");
    CHECK(nc_reduce_scatter(nc, list, NULL, NULL) == -EINVAL &&
              nc_reduce_scatter(nc, NULL, shard, NULL) == -EINVAL &&
              nc_all_gather(nc, NULL, list, NULL) == -EINVAL &&
              nc_all_gather(nc, shard, NULL, NULL) == -EINVAL && nc_wait(nc, NULL) == -EINVAL,
          "NULL, and no step");
    CHECK(nc_shard(nc, n_ranks, NULL, NULL) == -EINVAL && nc_shard(nc, -1, NULL, NULL) == -EINVAL &&
              nc_shard(NULL, 0, NULL, NULL) == -EINVAL,
          "no such rank");
    CHECK(nc_ireduce_scatter(nc, list, shard) == 0 &&
              nc_all_gather(nc, shard, list, NULL) == -EBUSY && nc_wait(nc, NULL) == 0,
          "a call during a step");
    CHECK(nc_force_fp32(nc, 1) == 0 && nc_reduce_scatter(nc, list, shard, NULL) == 0, "in fp32");
    nc_close(nc);
    capture_end(&said);
    static const char *const says[] = {"nc_reduce_scatter()", "options.shard",
                                       "cannot gather weights: their list is NULL",
                                       "call nc_ireduce_scatter() or nc_iall_gather() first"};
    for (int i = 0; i < 4; i++)
        CHECK(strstr(said.text, says[i]), "\"%s\" lacks \"%s\"", said.text, says[i]);
}

static void refused(const struct nc_options *o, int want, const char *part)
{
    struct capture said;
    struct nc *nc = NULL;
    capture_begin(&said);
    const int rc = nc_open(o, layers, N_LAYERS, &nc);
    capture_end(&said);
    CHECK(rc == want && !nc, "%s: %d", part, rc);
    CHECK(rank > 0 || strstr(said.text, part), "\"%s\" instead of \"%s\"", said.text, part);
    CHECK(capture_lines(said.text) == (rank == 0), "rank %d: \"%s\"", rank, said.text);
}

static void check_refused(void)
{
    size_t range[SHARD_RANKS] = {N_ALL + 1};
    struct nc_options o = e4m3("fp32");
    o.shard = "half", refused(&o, -EINVAL, "unknown shard \"half\"");
    o.shard = "fp32", o.shard_n = range, refused(&o, -EINVAL, "have more");
    range[0] = 5, refused(&o, -EINVAL, "all together have 5");
    range[0] = N_ALL, range[1] = (size_t)-1;
    if (n_ranks > 1)
        refused(&o, -EINVAL, "ranks 0 to 1 have more");
    o.shard = NULL, refused(&o, -EINVAL, "shard_n has no effect");
    o.shard_n = NULL, o.gather = "bf16", refused(&o, -EINVAL, "gather has no effect");
    o.shard = "fp32", o.gather = "e4m3", refused(&o, -EINVAL, "unknown gather \"e4m3\"");
    o.gather = "delta:e4m3:12", refused(&o, -EINVAL, "power of two");
    o.gather = "delta:e9m9", refused(&o, -EINVAL, "e9m9");
    o.gather = "delta:e4m3", o.type = "fp64", refused(&o, -EINVAL, "needs weights of type fp32");
    o.type = o.gather = NULL;
    o.out_format = "e4m3", refused(&o, -EINVAL, "out_format e4m3 has no effect");
    o.out_format = NULL, o.blocks = n_ranks, refused(&o, -EINVAL, "blocks do not work");
    o.blocks = 0, o.rescale = 1, refused(&o, -EINVAL, "rescale does not work with shards");
    o.rescale = 0, o.node_sum = "xrt", refused(&o, -EINVAL, "node_sum does not work with shards");
    o.node_sum = NULL, o.offload = "sim", refused(&o, -EINVAL, "cards cannot reduce-scatter");
    o.offload = NULL, o.algo = "offload", refused(&o, -EINVAL, "cards cannot reduce-scatter");
    o.algo = "gather", refused(&o, -EINVAL, "algorithm \"gather\" cannot reduce-scatter");
    o.algo = "group-scatter:1", refused(&o, -EINVAL, "\"group-scatter\" cannot reduce-scatter");
    o.algo = NULL;
    if (n_ranks > 1) {
        o.gather = rank ? "bf16" : "fp16", refused(&o, -EPROTO, "an option");
        range[0] = rank ? N_ALL : 0, range[1] = N_ALL - range[0];
        o.gather = NULL, o.shard_n = range, refused(&o, -EPROTO, "an option");
    }
}

int main(void)
{
    const struct nc_options first = e4m3(NULL);
    struct nc *nc = open_one(&first, layers, N_LAYERS);
    rank = nc_rank(nc), n_ranks = nc_n_ranks(nc);
    const struct shard_ranks s = {.rank = rank, .n_ranks = n_ranks, .open = open_mpi};
    check_reduce(0);
    check_reduce(3);
    check_reduce(n_ranks % 2 ? 11 : 12);
    if (n_ranks == 3 || n_ranks == 5) {
        nc_close(nc);
        DONE();
    }
    for (int i = n_ranks % 3; i < SHARD_CODECS; i += 3)
        shard_check_codec(&s, &shard_codecs[i], (i + n_ranks) % 4);
    shard_check_gather(&s, n_ranks == 2 ? "delta:e4m3" : "delta:e2m5f:32", 0);
    shard_check_gather(&s, n_ranks == 2 ? "bf16" : NULL, 1);
    check_long();
    check_empty();
    check_inf();
    check_type();
    check_two();
    check_state();
    check_repair();
    check_misuse();
    check_refused();
    nc_close(nc);
    DONE();
}
