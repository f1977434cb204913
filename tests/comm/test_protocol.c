/* test_protocol.c : checksums of packet.def, packed codes and jobs of 4 ranks belong to PROTOCOL
 * (host/comm/protocol.h). */
#include "comm/protocol.h"
#include "base/crc.h"
#include "comm/comm_inside.h"
#include "nc_fixture.h"
#include "over_ranks.h"
#include "vec/vec.h"
#include <sys/mman.h>

static uint32_t crc_of_number(uint32_t crc, const char *name, uint64_t a, uint64_t b)
{
    crc = crc_more(crc, name, strlen(name));
    return crc_more(crc, (uint64_t[]){a, b}, 2 * sizeof(uint64_t));
}

static uint32_t packets(void)
{
    uint32_t crc = 0;
#define PKT_CONST(NAME, value, what)           crc = crc_of_number(crc, #NAME, value, 0);
#define PKT_FIELD(NAME, name, at, bytes, what) crc = crc_of_number(crc, #NAME, at, bytes);
#define PKT_OP(NAME, value, what)              crc = crc_of_number(crc, #NAME, value, 1);
#define PKT_NAK(NAME, value, what)             crc = crc_of_number(crc, #NAME, value, 2);
#define PKT_PONG(NAME, value, what)            crc = crc_of_number(crc, #NAME, value, 3);
#define PKT_STATUS(NAME, bit, what)            crc = crc_of_number(crc, #NAME, bit, 4);
#include "hls/card/packet.def"
    return crc;
}

static uint32_t codes(void)
{
    enum { N = 203 };
    float x[N], back[N];
    uint8_t packed[N * sizeof(float) + 64];
    uint32_t crc = 0;
    for (int i = 0; i < N; i++)
        x[i] = ldexpf((float)(i * 7919 % 1999 - 999), i % 40 - 25);
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = 0; m <= 23; m++) {
            const struct vec_cast cast = {
                .fmt = {e, m, 0}, .round = MF_NEAREST, .overflow = MF_SATURATE};
            memset(packed, 0, sizeof packed);
            vec_plain.encode(&cast, x, N, 3, 0, packed);
            vec_plain.decode(cast.fmt, packed, N, 3, 1, back);
            crc = crc_more(crc, packed, vec_bytes(cast.fmt, N));
            crc = crc_more(crc, back, sizeof back);
        }
    return crc;
}

static const struct words {
    const char *codec, *format, *scale, *sum, *algo, *quantise;
} rows[] = {
    {.format = "fp32"},
    {.format = "fp16", .sum = "nearest", .algo = "ring"},
    {.format = "bf16", .scale = "aps", .algo = "gather"},
    {.format = "e5m2", .scale = "const:1024", .algo = "gather-sum"},
    {.format = "e4m3", .scale = "aps-tight", .algo = "direct"},
    {.format = "e4m3fn", .scale = "aps", .algo = "group-scatter:2"},
    {.format = "e3m0", .scale = "quantile"},
    {.format = "e2m1", .scale = "aps", .algo = "group-master:2"},
    {.format = "e6m9", .scale = "aps", .sum = "kahan", .algo = "direct"},
    {.codec = "qsgd:4", .quantise = "large"},
    {.codec = "onebit:64"},
    {.codec = "onebit:column"},
    {.codec = "ternary"},
    {.codec = "relgrad"},
};
enum { RANKS = 4, PEERS = RANKS * NC_TAGS, N_ROWS = sizeof rows / sizeof *rows };

static uint32_t *crcs;
static uint32_t messages[PEERS];
static unsigned long long n_sent;

/* Adds a message, with 0 for this machine's hash. */
static uint32_t add(uint32_t crc, const void *buf, size_t bytes)
{
    const uint64_t machine = comm_machine(), none = 0;
    size_t done = 0;
    for (size_t at = 0; at + sizeof machine <= bytes; at += sizeof machine)
        if (memcmp((const char *)buf + at, &machine, sizeof machine) == 0) {
            crc = crc_more(crc, (const char *)buf + done, at - done);
            crc = crc_more(crc, &none, sizeof none);
            done = at + sizeof none;
        }
    return crc_more(crc, (const char *)buf + done, bytes - done);
}

/* Leaves out version records, which may change without the protocol. */
static int note(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    if (bytes != 32 || memcmp(buf, "ncjoins", 8) != 0) {
        uint32_t *crc = &messages[to * NC_TAGS + tag];
        *crc = crc_more(*crc, &(uint64_t){bytes}, sizeof(uint64_t));
        *crc = add(*crc, buf, bytes);
        n_sent++;
    }
    return sockets_isend(arg, to, tag, buf, bytes, request);
}

static uint32_t job(const struct nc_transport *t, const struct words *w)
{
    static float x[N_ALL], weights[N_ALL];
    struct nc_layer own[N_LAYERS];
    void *list[N_LAYERS], *at[N_LAYERS];
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    uint32_t crc = 0;
    memcpy(own, layers, sizeof own);
    fill_grads(9, 9, weights);
    point(weights, sizeof *weights, at);
    for (int l = 0; l < N_LAYERS; l++)
        own[l].weights = at[l];
    o.codec = w->codec, o.format = w->format, o.scale = w->scale, o.sum = w->sum, o.algo = w->algo;
    o.quantise = w->quantise ? w->quantise : "all", o.bucket_bytes = 700, o.deadline_s = 60;
    CHECK(nc_open_over(t, &o, own, N_LAYERS, &nc) == 0, "%s %s: %s",
          w->codec ? w->codec : w->format, w->algo ? w->algo : "auto", nc_last_error(NULL));
    point(x, sizeof *x, list);
    for (uint64_t step = 0; nc && step < 2; step++) {
        fill_grads(t->rank, step, x);
        CHECK(nc_allreduce(nc, list, NULL) == 0, "%s", nc_last_error(nc));
        crc = crc_more(crc, x, sizeof x);
    }
    nc_close(nc);
    return crc;
}

static int all_jobs(const struct nc_transport *t, void *ctx)
{
    struct nc_transport own = *t;
    (void)ctx;
    own.isend = note;
    for (int row = 0; row < N_ROWS; row++) {
        const uint32_t crc = job(&own, &rows[row]);
        crcs[t->rank] = crc_more(crcs[t->rank], &crc, sizeof crc);
    }
    crcs[t->rank] = crc_more(crcs[t->rank], messages, sizeof messages);
    CHECK(n_sent > 10 * N_ROWS, "%llu messages", n_sent);
    return 0;
}

int main(void)
{
    const uint32_t parts[] = {packets(), codes()};
    crcs =
        mmap(NULL, RANKS * sizeof *crcs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crcs == MAP_FAILED)
        return 1;
    CHECK(over_run(RANKS, all_jobs, NULL) == 0, "the ranks");
    const uint32_t crc = crc_more(crc_of(parts, sizeof parts), crcs, RANKS * sizeof *crcs);
    printf("packets %08x, codes %08x, jobs %08x %08x %08x %08x\n", parts[0], parts[1], crcs[0],
           crcs[1], crcs[2], crcs[3]);
    CHECK(
        crc == PROTOCOL_CRC,
        "formats have changed since protocol %d: raise PROTOCOL in host/comm/protocol.h, and store "
        "0x%08xu with it",
        PROTOCOL, crc);
    DONE();
}
