/* test_nc_parts_mpi.c : a step in parts has the bits of a whole step and of `train`'s reducer. */
/* RANKS: 1 2 4 LONG: 3 */
#include "base/bits.h"
#include "base/err.h"
#include "capture.h"
#include "job/job.h"
#include "nc_fixture.h"
#include <errno.h>
#include <mpi.h>
#include <sched.h>

static int rank, n_ranks;
static float mine[N_ALL], want[N_ALL];

static struct nc_options options_of(int k)
{
    struct nc_options o = nc_options_default();
    o.bucket_bytes = 300;
    o.format = k == 0 ? "e4m3" : "e5m2";
    o.scale = k == 0 ? "aps" : NULL;
    o.round = k == 1 ? "stochastic" : NULL;
    o.codec = k == 2 ? "qsgd:4" : k == 3 ? "onebit" : NULL;
    if (k >= 2)
        o.format = NULL;
    return o;
}

static struct nc *must_open(const struct nc_options *o)
{
    struct nc *nc = NULL;
    const int rc = nc_open(o, layers, N_LAYERS, &nc);
    CHECK(rc == 0, "open: %d", rc);
    if (rc < 0)
        exit(1);
    return nc;
}

static void by_train(const struct nc_options *o, uint64_t n_steps, float means[][N_ALL])
{
    struct comm *c;
    struct job job = {.comm = NULL};
    struct reducer_step s;
    struct reducer_layer own[N_LAYERS];
    const struct job_spec spec = {
        .codec = {.codec = o->codec, .format = o->format, .scale = o->scale, .round = o->round},
        .seed = o->seed,
        .bucket_bytes = o->bucket_bytes};
    for (int l = 0; l < N_LAYERS; l++)
        own[l] = (struct reducer_layer){
            .name = layers[l].name, .n = layers[l].n, .fp32 = layers[l].fp32};
    const int rc = comm_open(60, &c) || job_settle(c, &spec, &job) || job_open(&job, own, N_LAYERS);
    CHECK(rc == 0, "train's reducer");
    for (uint64_t step = 0; step < n_steps; step++) {
        float *list[N_LAYERS];
        fill_grads(rank, step, means[step]);
        point(means[step], sizeof(float), (void **)list);
        CHECK(reducer_run(job.reducer, step, list, &s) == 0 && !s.skipped, "train's step");
    }
    job_close(&job);
    comm_leave(c);
}

/* Each rank has its own order; nc_wait() awaits the last layer. */
static int in_parts(struct nc *nc, void *const *list, struct nc_report *report)
{
    int done = -1;
    CHECK(nc_iallreduce(nc, list) == 0, "begin: %s", nc_last_error(nc));
    for (int k = N_LAYERS - 1; k > 0; k--) {
        const int l = (k + rank) % N_LAYERS;
        CHECK(nc_ready(nc, l, 1) == 0 && nc_test(nc, &done) == 0 && !done, "layer %d", l);
    }
    return nc_wait(nc, report);
}

enum { STEPS = 4 };
static void test_bits(void)
{
    static float means[STEPS][N_ALL];
    for (int k = 0; k < 4; k++) {
        const struct nc_options o = options_of(k);
        by_train(&o, STEPS, means);
        struct nc *nc = must_open(&o);
        for (int step = 0; step < STEPS; step++) {
            struct nc_report report = {0};
            void *list[N_LAYERS];
            point(mine, sizeof *mine, list);
            fill_grads(rank, (uint64_t)step, mine);
            const int rc = step % 2 ? nc_allreduce(nc, list, &report) : in_parts(nc, list, &report);
            CHECK(rc == 0 && memcmp(mine, means[step], sizeof mine) == 0,
                  "options %d step %d: %d, or other bits", k, step, rc);
            CHECK((report.sent_bytes > 0) == (n_ranks > 1) && report.code_bytes > 0, "report");
        }
        CHECK(nc_step(nc) == STEPS, "%d steps", (int)nc_step(nc));
        nc_close(nc);
    }
}

static void count_errors(void *arg, int level, const char *line)
{
    CHECK(level == NC_LOG_ERROR ? strncmp(line, "cannot ", 7) == 0 : level == NC_LOG_WARNING,
          "level %d: \"%s\"", level, line);
    *(int *)arg += level == NC_LOG_ERROR;
}

static void test_test(void)
{
    struct nc_options o = options_of(0);
    void *list[N_LAYERS];
    int done = 0, n_errors = 0;
    o.log = count_errors;
    o.log_arg = &n_errors;
    struct nc *nc = must_open(&o);
    point(mine, sizeof *mine, list);
    fill_grads(rank, 0, mine);
    memcpy(want, mine, sizeof mine);
    CHECK(nc_test(nc, &done) == -EINVAL && strstr(nc_last_error(nc), "nc_iallreduce"), "no step");
    CHECK(nc_iallreduce(nc, list) == 0, "begin");
    CHECK(nc_iallreduce(nc, list) == -EBUSY && nc_allreduce(nc, list, NULL) == -EBUSY, "two steps");
    CHECK(nc_force_fp32(nc, 1) == -EBUSY && nc_set_step(nc, 7) == -EBUSY, "in mid-step");
    CHECK(nc_ready(nc, -1, 1) == -EINVAL && nc_ready(nc, 1, N_LAYERS) == -EINVAL &&
              nc_ready(nc, N_LAYERS, 0) == 0 && nc_ready(nc, 2, -1) == -EINVAL,
          "layers that there are not");
    CHECK(n_errors == 8, "%d lines of 8 errors", n_errors);
    CHECK(nc_ready(nc, 0, N_LAYERS) == 0 && nc_ready(nc, 0, N_LAYERS) == 0, "ready, twice");
    CHECK(nc_last_error(nc)[0] == 0, "an error of an earlier call");
    while (!done) {
        CHECK(nc_test(nc, &done) == 0, "test");
        sched_yield();
    }
    CHECK(nc_wait(nc, NULL) == 0, "wait");
    memcpy(want, mine, sizeof mine);
    fill_grads(rank, 0, mine);
    CHECK(nc_set_step(nc, 0) == 0 && nc_allreduce(nc, list, NULL) == 0 &&
              memcmp(mine, want, sizeof mine) == 0,
          "the same step again");
    fill_grads(rank, 1, mine);
    if (rank == n_ranks - 1)
        mine[N_ALL - 1] = NAN;
    memcpy(want, mine, sizeof mine);
    CHECK(nc_allreduce(nc, list, NULL) == 1 && memcmp(mine, want, sizeof mine) == 0,
          "a whole step that is skipped changes nothing, with the thread there");
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, NULL) == 1, "a step in parts is skipped");
    fill_grads(rank, 1, mine);
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, NULL) == 0, "and the next is not");
    nc_close(nc);
}

/* Small multiples of a power of two, whose sums every type holds. */
static double number(int r, int i)
{
    return ldexp((r + 1) * (i % 7 - 3), -6);
}

static void set(const char *type, void *x, int i, double value)
{
    const float f = (float)value;
    const uint32_t bits = bits_of(f);
    if (!strcmp(type, "fp64"))
        ((double *)x)[i] = value;
    else if (!strcmp(type, "fp32"))
        ((float *)x)[i] = f;
    else if (!strcmp(type, "bf16"))
        ((uint16_t *)x)[i] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)x)[i] = (uint16_t)mf_enc(mf_half(), bits, 0, MF_NEAREST, MF_INF, 0);
}

static double get(const char *type, const void *x, int i)
{
    const uint16_t code = ((const uint16_t *)x)[i];
    uint32_t bits = (uint32_t)code << 16;
    if (!strcmp(type, "fp64"))
        return ((const double *)x)[i];
    if (!strcmp(type, "fp32"))
        return (double)((const float *)x)[i];
    if (!strcmp(type, "fp16"))
        bits = mf_dec(mf_half(), code, 0);
    return (double)float_of(bits);
}

static void test_type(const char *type, size_t bytes, const char *op)
{
    static double room[N_ALL];
    struct nc_options o = nc_options_default();
    void *list[N_LAYERS];
    const double all = n_ranks * (n_ranks + 1) / 2.0;
    const int divisor = strcmp(op, "sum") ? n_ranks : 1;
    o.format = "fp16";
    o.type = type;
    o.op = op;
    struct nc *nc = must_open(&o);
    point(room, bytes, list);
    for (int parts = 0; parts < 2; parts++) {
        for (int i = 0; i < N_ALL; i++)
            set(type, room, i, number(rank, i));
        const int rc = parts ? in_parts(nc, list, NULL) : nc_allreduce(nc, list, NULL);
        CHECK(rc == 0, "%s %s: %d", type, op, rc);
        for (int i = 0; i < N_ALL; i++) {
            const double sum = ldexp(all * (i % 7 - 3), -6), value = sum / divisor;
            const double got = get(type, room, i);
            CHECK(divisor == 3 ? fabs(got - value) <= ldexp(fabs(value), -8) : got == value,
                  "%s %s %d: %g, not %g", type, op, i, got, value);
        }
    }
    for (int i = 0; i < N_ALL; i++)
        set(type, room, i, i == 5 && rank == 0 ? INFINITY : 1);
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, NULL) == 1, "%s: inf", type);
    CHECK(!strcmp(type, "fp32") || get(type, room, 6) == 1, "%s: changed by a skipped step", type);
    nc_close(nc);
}

static void test_refused(void)
{
    struct nc_options o = nc_options_default();
    struct capture said;
    struct nc *nc = NULL;
    capture_begin(&said);
    o.type = "int8";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "a type");
    o.type = "fp16", o.device = "cuda";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "fp16 on a GPU");
    o.type = o.device = NULL, o.op = "max";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "an op");
    o.op = "sum", o.codec = "ternary";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "sums of a kind of means");
    capture_end(&said);
    CHECK(capture_lines(said.text) == (rank == 0 ? 4 : 0), "said \"%s\"", said.text);
}

int main(void)
{
    /* single-threaded MPI: a step proceeds only in nc_test() or nc_wait() */
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    const int asked = size && atoi(size) == 2 ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED;
    struct capture said;
    int level;
    MPI_Init_thread(NULL, NULL, asked, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    capture_begin(&said);
    test_bits();
    capture_end(&said);
    CHECK((level >= MPI_THREAD_SERIALIZED || rank > 0) == (said.text[0] == 0), "said \"%s\"",
          said.text);
    test_test();
    capture_begin(&said);
    const char *const types[] = {"fp32", "fp64", "fp16", "bf16"};
    const size_t bytes[] = {4, 8, 2, 2};
    for (int i = 0; i < 4; i++) {
        test_type(types[i], bytes[i], "mean");
        test_type(types[i], bytes[i], "sum");
    }
    capture_end(&said);
    test_refused();
    MPI_Finalize();
    DONE();
}
