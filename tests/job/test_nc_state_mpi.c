/* test_nc_state_mpi.c : a job's saved state continues another with the same bits. All ranks must
 * refuse a foreign or damaged one. */
/* RANKS: 1 3 */
#include "base/crc.h"
#include "nc_fixture.h"
#include <errno.h>
#include <mpi.h>

static int rank, n_ranks;
static char line[512];

static void take_line(void *arg, int level, const char *text)
{
    (void)arg, (void)level;
    snprintf(line, sizeof line, "%s", text);
}

static struct nc *open_layers(const char *codec, uint64_t seed, const struct nc_layer *of,
                              int n_layers)
{
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    o.bucket_bytes = 400;
    o.codec = codec;
    o.quantise = "all";
    o.seed = seed;
    o.log = take_line;
    if (!codec)
        o.format = "e4m3", o.scale = "aps", o.round = "stochastic";
    const int rc = nc_open(&o, of, n_layers, &nc);
    CHECK(rc == 0, "%s: %d %s", codec, rc, line);
    if (rc < 0)
        exit(1);
    return nc;
}

static struct nc *open_as(const char *codec, uint64_t seed, int n_layers)
{
    return open_layers(codec, seed, layers, n_layers);
}

static void run(struct nc *nc, uint64_t from, uint64_t to, float x[N_ALL])
{
    void *list[N_LAYERS];
    point(x, sizeof *x, list);
    for (uint64_t step = from; step < to; step++) {
        fill_grads(rank, step, x);
        CHECK(nc_step(nc) == step && nc_allreduce(nc, list, NULL) == 0, "step %d", (int)step);
    }
}

enum { HALF = 4, STEPS = 9 };
static void test_resume(const char *codec, int keeps)
{
    static float whole[N_ALL], resumed[N_ALL], forgot[N_ALL];
    struct nc *nc = open_as(codec, 1, N_LAYERS);
    const size_t bytes = nc_state_bytes(nc);
    unsigned char *state = malloc(bytes);
    CHECK((bytes > 48) == keeps && state, "%s: %zu bytes", codec, bytes);
    run(nc, 0, HALF, whole);
    CHECK(nc_state_save(nc, state) == 0, "save");
    run(nc, HALF, STEPS, whole);
    nc_close(nc);
    nc = open_as(codec, 1, N_LAYERS);
    CHECK(nc_state_load(nc, state, bytes) == 0, "load: %s", line);
    run(nc, HALF, STEPS, resumed);
    CHECK(memcmp(whole, resumed, sizeof whole) == 0, "%s: other bits", codec);
    nc_close(nc);
    nc =
        open_as(codec, 1, N_LAYERS); /* without the state, to prove that the check above can fail */
    CHECK(nc_set_step(nc, codec && !keeps ? 0 : HALF + !keeps) == 0, "set step");
    if (keeps) {
        run(nc, HALF, STEPS, forgot);
    } else {
        void *list[N_LAYERS];
        point(forgot, sizeof *forgot, list);
        fill_grads(rank, STEPS - 1, forgot);
        CHECK(nc_allreduce(nc, list, NULL) == 0, "a step of another number");
    }
    CHECK(memcmp(whole, forgot, sizeof whole) != 0, "%s: bits do not depend on the state", codec);
    nc_close(nc);
    free(state);
}

static void refused(struct nc *nc, const void *state, size_t bytes, const char *words)
{
    line[0] = 0;
    const uint64_t step = nc_step(nc);
    const int rc = nc_state_load(nc, state, bytes);
    CHECK(rc == -EPROTO && nc_step(nc) == step, "%s: %d", words, rc);
    CHECK(rank > 0 || strstr(line, words), "said \"%s\", not %s", line, words);
}

/* An infinite residual in one rank's layer, with the right checksum. Names of layers are no
 * longer available. */
static void test_not_finite(void)
{
    enum { SUM_AT = 40 };
    static const uint32_t bad[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff, 0x7f800001};
    char own_names[N_LAYERS][8];
    struct nc_layer own[N_LAYERS];
    for (int l = 0; l < N_LAYERS; l++) {
        own[l] = layers[l];
        own[l].name = strcpy(own_names[l], layers[l].name);
    }
    struct nc *nc = open_layers("onebit", 1, own, N_LAYERS);
    memset(own_names, 'z', sizeof own_names);
    const size_t bytes = nc_state_bytes(nc);
    char *state = malloc(bytes), *changed = malloc(bytes + 1) + 1; /* any alignment */
    static float x[N_ALL];
    run(nc, 0, 2, x);
    CHECK(nc_state_save(nc, state) == 0, "save");
    const size_t keeps = 8 * 1000 < bytes ? 2 : 1;
    size_t at = 48;
    for (int l = 3; l >= 0; l--) { /* layer 4 travels in fp32, without state */
        const size_t kept = keeps * 4 * layers[l].n;
        for (unsigned b = 0; b < sizeof bad / sizeof *bad; b++) {
            char words[80];
            memcpy(changed, state, bytes);
            if (rank == 0)
                memcpy(changed + at + (b % 2 ? kept - 4 : 0), &bad[b], 4);
            memset(changed + SUM_AT, 0, 4);
            const uint32_t sum = crc_of(changed, bytes);
            memcpy(changed + SUM_AT, &sum, 4);
            snprintf(words, sizeof words, "layer \"%s\" holds inf or nan", layers[l].name);
            refused(nc, changed, bytes, words);
        }
        at += (kept + 63) / 64 * 64;
    }
    CHECK(at == bytes, "%zu bytes, not %zu", bytes, at);
    memcpy(changed, state, bytes);
    CHECK(nc_state_load(nc, changed, bytes) == 0, "after all: %s", line);
    nc_close(nc);
    free(state);
    free(changed - 1);
}

static void test_refused(void)
{
    struct nc *nc = open_as("qsgd:4,bucket=32", 1, N_LAYERS);
    struct nc *onebit = open_as("onebit", 1, N_LAYERS), *seed = open_as("onebit", 2, N_LAYERS),
              *fewer = open_as("onebit", 1, N_LAYERS - 1);
    const size_t bytes = nc_state_bytes(onebit);
    unsigned char *state = malloc(bytes), *changed = malloc(bytes);
    static float x[N_ALL];
    run(onebit, 0, 2, x);
    CHECK(nc_state_save(onebit, state) == 0, "save");
    refused(onebit, state, bytes - 1, "bytes");
    refused(onebit, state, 3, "not a state");
    for (size_t at = 24; at < 48; at += 4) { /* the step, the number of bytes, the checksum, 0 */
        memcpy(changed, state, bytes);
        changed[at] ^= 1;
        refused(onebit, changed, bytes, at == 32 || at == 36 ? "bytes" : "checksum");
    }
    refused(nc, state, nc_state_bytes(nc), "other options");
    refused(seed, state, bytes, "other options");
    refused(fewer, state, bytes, "other layers");
    const size_t places[] = {0, 8, 12, 16, 20, 32, 40, 48, bytes - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memcpy(changed, state, bytes);
        changed[places[i]] ^= rank == 0 ? 0x10 : 0;
        refused(onebit, changed, bytes, "cannot load a state");
    }
    if (n_ranks > 1) {
        run(onebit, 2, 3, x);
        CHECK(nc_state_save(onebit, changed) == 0, "save, a step later");
        refused(onebit, rank == n_ranks - 1 ? changed : state, bytes, "the step of a state");
    }
    CHECK(nc_state_load(onebit, state, bytes) == 0, "after all: %s", line);
    nc_close(fewer);
    nc_close(seed);
    nc_close(onebit);
    nc_close(nc);
    free(state);
    free(changed);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    test_resume(NULL, 0);
    test_resume("qsgd:4", 0);
    test_resume("onebit", 1);
    test_refused();
    test_not_finite();
    MPI_Finalize();
    DONE();
}
