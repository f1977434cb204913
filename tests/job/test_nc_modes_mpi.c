/* test_nc_modes_mpi.c : a different floating-point mode on one rank changes no bit and is kept. */
/* RANKS: 4 */
#include "nc_fixture.h"
#include <fenv.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { STEPS = 3, NUMBERS = 6 };

/* SSE's control bits: denormals are zero 0x40, flush to zero 0x8000, no traps 0x1f80. */
struct mode {
    const char *name;
    int round;
    unsigned sse;
};
static const struct mode modes[] = {
    {"default", FE_TONEAREST, 0x1f80},
#if defined(__x86_64__) /* C has no names for them elsewhere */
    {"flush to zero", FE_TONEAREST, 0x9f80},
    {"denormals are zero", FE_TONEAREST, 0x1fc0},
    {"both", FE_TONEAREST, 0x9fc0},
    {"traps", FE_TONEAREST, 0},
    {"toward zero, both", FE_TOWARDZERO, 0x9fc0},
#endif
    {"upward", FE_UPWARD, 0x1f80},
    {"downward", FE_DOWNWARD, 0x1f80},
    {"toward zero", FE_TOWARDZERO, 0x1f80},
};
enum { N_MODES = sizeof modes / sizeof *modes };

static int rank;
static const struct mode *now;

static void enter(void)
{
    if (rank != 1)
        return;
    fesetround(now->round);
#if defined(__x86_64__)
    _mm_setcsr((_mm_getcsr() & 0x6000) | now->sse);
#endif
}

static bool leave(void)
{
    bool same = rank != 1 || fegetround() == now->round;
#if defined(__x86_64__)
    same = same && (rank != 1 || (_mm_getcsr() & 0x9fc0) == now->sse);
#endif
    fesetenv(FE_DFL_ENV);
    return same;
}

#define IN_MODE(call)                                                       \
    do {                                                                    \
        enter();                                                            \
        const int rc_ = (call);                                             \
        CHECK(leave(), "%s: another mode after %s", now->name, #call);      \
        CHECK(rc_ == 0, "%s: %s: %s", now->name, #call, nc_last_error(nc)); \
    } while (0)

static const struct words {
    const char *codec, *format, *scale, *sum, *algo, *round, *acc_format;
    int rescale;
} rows[] = {
    {.format = "fp32", .algo = "direct"},
    {.format = "fp32", .algo = "native"},
    {.format = "fp16", .sum = "nearest", .algo = "ring"},
    {.format = "bf16", .scale = "aps", .algo = "gather", .round = "stochastic"},
    {.format = "e5m2", .scale = "const:1024", .algo = "gather-sum"},
    {.format = "e4m3", .scale = "aps-tight", .sum = "exact"},
    {.format = "e3m0", .scale = "quantile", .round = "zero"},
    {.format = "e3m0", .scale = "quantile:q=0.9973"},
    {.format = "e2m1", .scale = "aps", .algo = "group-scatter:2"},
    {.format = "e6m9", .scale = "aps", .sum = "fp32"},
    {.format = "e2m5f", .scale = "aps-tight:32"},
    {.format = "e8m7", .scale = "aps", .sum = "kahan", .algo = "direct", .acc_format = "e8m9"},
    {.format = "e5m2", .sum = "trunc", .algo = "group-scatter:2"},
    {.format = "e4m3",
     .scale = "aps",
     .sum = "nearest",
     .algo = "group-scatter:2",
     .acc_format = "e6m9",
     .rescale = 1},
    {.codec = "qsgd:4"},
    {.codec = "qsgd:8", .algo = "gather"},
    {.codec = "onebit:64"},
    {.codec = "onebit", .algo = "gather"},
    {.codec = "ternary:clip=2.1"},
    {.codec = "relgrad:eps=1e-05,q=0.97", .algo = "group-scatter:2"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is_cast(const struct words *w)
{
    return !w->codec && !(w->scale && !strncmp(w->scale, "quantile", 8));
}

static const char *const types[] = {"fp32", "fp64", "fp16", "bf16"};

static uint64_t hash_more(uint64_t h, const void *p, size_t n)
{
    const unsigned char *at = p;
    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 1099511628211u;
    return h;
}

static void put(void *to, const char *type, int i, int step)
{
    uint64_t h = hash_more(14695981039346656037u, (int[]){rank, i, step}, 3 * sizeof(int));
    h ^= h >> 29;
    const uint32_t spread[] = {1, 12, 100}, low = i % 3 == 2 ? 90 : 0,
                   e = low + (uint32_t)(h >> 32) % spread[i % 3] / 3,
                   bits = (uint32_t)h << 31 | e << 23 | ((uint32_t)h >> 3 & 0x7fffff);
    float f;
    memcpy(&f, &bits, sizeof f);
    if (!strcmp(type, "fp32"))
        ((float *)to)[i] = f;
    else if (!strcmp(type, "fp64"))
        ((double *)to)[i] = (double)f * (1 + ldexp((double)(h & 0xffff), -40));
    else if (!strcmp(type, "bf16"))
        ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)to)[i] = (uint16_t)((bits >> 16 & 0x8000) | (e % 20) << 10 | (h >> 7 & 1023));
}

/* A hash of sums, reports and states; 0: the options are refused. */
static uint64_t bits_of(const struct words *w, const char *type, int sums)
{
    static double x[N_ALL];
    static float weights[N_ALL];
    struct nc_layer own[N_LAYERS];
    const size_t size = !strcmp(type, "fp64") ? 8 : !strcmp(type, "fp32") ? 4 : 2;
    void *list[N_LAYERS], *at[N_LAYERS];
    struct nc *nc = NULL;
    struct nc_options o = nc_options_default();
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < N_ALL; i++)
        weights[i] = (float)(i % 97 - 48) * 1e-37f;
    point(weights, sizeof *weights, at);
    memcpy(own, layers, sizeof own);
    for (int l = 0; l < N_LAYERS; l++)
        own[l].weights = at[l];
    o.codec = w->codec, o.format = w->format, o.scale = w->scale, o.sum = w->sum, o.algo = w->algo;
    o.round = w->round, o.acc_format = w->acc_format, o.rescale = w->rescale;
    o.type = type, o.op = sums ? "sum" : "mean", o.quantise = "all", o.bucket_bytes = 300;
    o.count_lost = is_cast(w);
    IN_MODE(nc_open(&o, own, N_LAYERS, &nc));
    if (!nc)
        return 0;
    point(x, size, list);
    for (int step = 0; step < 2 * STEPS; step++) {
        struct nc_report r = {0};
        for (int i = 0; i < N_ALL; i++)
            put(x, type, i, step);
        if (step % 2) {
            IN_MODE(nc_iallreduce(nc, list));
            IN_MODE(nc_ready(nc, 2, 3));
            IN_MODE(nc_wait(nc, &r));
        } else {
            IN_MODE(nc_allreduce(nc, list, &r));
        }
        h = hash_more(h, x, N_ALL * size);
        h = hash_more(h, (uint64_t[]){r.underflow, r.saturated, r.sent_bytes}, 24);
    }
    void *state = malloc(nc_state_bytes(nc));
    IN_MODE(nc_state_save(nc, state));
    IN_MODE(nc_state_load(nc, state, nc_state_bytes(nc)));
    h = hash_more(h, (char *)state + 48, nc_state_bytes(nc) - 48);
    free(state);
    IN_MODE((nc_close(nc), 0));
    return h;
}

int main(void)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int row = 0; row < N_ROWS; row++)
        for (int t = 0; t < 4; t++) {
            const struct words *w = &rows[row];
            const int sums = (row + t) % 2 && is_cast(w);
            uint64_t want = 0;
            for (int m = 0; m < N_MODES; m++) {
                now = &modes[m];
                const uint64_t got = bits_of(w, types[t], sums);
                want = m ? want : got;
                CHECK(got == want, "%s %s %s, %s, rank %d: other bits in mode \"%s\"",
                      w->codec ? w->codec : w->format, w->scale ? w->scale : "", types[t],
                      w->algo ? w->algo : "auto", rank, now->name);
            }
        }
    MPI_Finalize();
    DONE();
}
