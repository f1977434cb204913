/* fuzz_receive.c : gives any datagrams to the host's receive path: random, replayed, damaged,
 * forged. Meanwhile a job of two ranks and two cards runs; all its completed sums must be right.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address -D_GNU_SOURCE -I. -Ihost -Itests/lib
 *         tests/lib/fuzz_receive.c host/offload/window/window*.c host/offload/window/frame.c
 *         build/libsim.a build/libnarrowcast.a -lm
 *
 * This builds a fuzzer; test_fuzz_receive.c replays inputs.
 *
 * An input: byte 0, bits 1..0: kind of datagram; bit 2: changed length; bit 3: sent to the
 * multicast group, if any. Then
 *     RAW     the bytes that follow
 *     REPLAY  byte 1: which of the recent frames, unchanged
 *     DAMAGE  REPLAY, then 3 bytes per edit: offset, exclusive or; CRCs stay
 *     FORGE   DAMAGE with correct CRCs; with another key: any edits; with the job's: one byte of
 *             the header */
#include "window_net.h"
#include "offload/window/frame.h"

enum { RAW, REPLAY, DAMAGE, FORGE, KINDS, SEEN = 400, CODES = 1408 * 140, TURN = 256 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct {
    struct net net;
    struct net_job job;
    struct net_datagram seen[SEEN];
    uint64_t n_seen, works, lost, damaged, foreign, stale;
    uint8_t codes[2][CODES + 8], want[CODES], got[2][CODES];
    unsigned inputs;
    bool open;
} fuzz;

static void open_fuzz(void)
{
    net_open(&fuzz.net, 77 + fuzz.lost);
    fuzz.job = (struct net_job){.net = &fuzz.net,
                                .codec = net_codec("e4m3", "e4m3", "saturate", 2),
                                .n_ranks = 2,
                                .n_cards = 2,
                                .grouped = fuzz.lost % 2,
                                .card_deadline_s = 1,
                                .others_s = 10};
    net_job_open(&fuzz.job);
    net_pings(&fuzz.job);
    fuzz.open = true;
}

static void close_fuzz(void)
{
    if (fuzz.open) {
        const struct window *w = fuzz.job.windows[0];
        fuzz.damaged += w->damaged;
        fuzz.foreign += w->foreign;
        fuzz.stale += w->count.stale;
        net_job_close(&fuzz.job);
        net_close(&fuzz.net);
    }
    fuzz.open = false;
}

static void wrong(const char *what)
{
    fprintf(stderr, "%s, after %u inputs and %llu sums\n", what, fuzz.inputs,
            (unsigned long long)fuzz.works);
    abort();
}

static void start_work(void)
{
    static uint64_t acc[CODES];
    fuzz.works++;
    for (int r = 0; r < 2; r++) {
        const uint32_t key = philox_u32(fuzz.works, (unsigned)r) | 1;
        for (uint32_t i = 0; i < CODES; i++)
            fuzz.codes[r][i] = (uint8_t)(i * key >> 24);
        vec_plain.accumulate(codec_sum(&fuzz.job.codec), acc, fuzz.codes[r], CODES, r == 0);
    }
    vec_plain.finish(codec_sum(&fuzz.job.codec), acc, CODES, codec_sum(&fuzz.job.codec)->out, 0,
                     fuzz.want);
    for (int r = 0; r < 2; r++) {
        const struct card_path_sum sum = {.codec = &fuzz.job.codec,
                                          .n = CODES,
                                          .codes = fuzz.codes[r],
                                          .result = fuzz.got[r],
                                          .tag = (uint32_t)fuzz.works};
        window_start_sum(fuzz.job.windows[r], &sum, fuzz.net.now);
    }
}

/* Runs both ranks, then the network for a tick. Records datagrams that reach rank 0 in the tick;
 * they wait for the next call. */
static void go_on(void)
{
    bool moved;
    for (int r = 0; r < 2; r++) {
        const enum window_state state = window_turn(fuzz.job.windows[r], fuzz.net.now, &moved);
        if (r && (state == WINDOW_LOST || state == WINDOW_STRAGGLER))
            wrong("the rank that got no fuzz gave up");
        if (state == WINDOW_DONE && memcmp(fuzz.got[r], fuzz.want, CODES))
            wrong("a wrong sum");
    }
    net_tick(&fuzz.net);
    for (int c = 0; c < 2; c++) {
        const struct net_wire *w = &fuzz.net.wires[0][c], *group_wire = &fuzz.net.group_wires[0][c];
        for (int i = 0; i < w->n; i++)
            fuzz.seen[fuzz.n_seen++ % SEEN] = *w->queue[i];
        for (int i = 0; i < group_wire->n; i++)
            fuzz.seen[fuzz.n_seen++ % SEEN] = *group_wire->queue[i];
    }
}

static size_t make_datagram(const uint8_t *data, size_t n, uint8_t *bytes, size_t room)
{
    const int kind = data[0] & 3;
    size_t length = n - 1 < room ? n - 1 : room, edits = 0;
    if (kind == RAW || !fuzz.n_seen) {
        memcpy(bytes, data + 1, length);
        return length;
    }
    const uint64_t known = fuzz.n_seen < SEEN ? fuzz.n_seen : SEEN;
    const struct net_datagram *d = &fuzz.seen[(n > 1 ? data[1] : 0) % known];
    length = d->n;
    memcpy(bytes, d->bytes, length);
    struct pkt_header h = pkt_get(bytes);
    const bool own_key = n > 2 && data[2] & 1;
    for (size_t i = 3; kind >= DAMAGE && i + 3 <= n && edits < (kind == FORGE && own_key ? 1 : 8);
         i += 3, edits++) {
        size_t at = (data[i] | (size_t)data[i + 1] << 8) % length;
        if (kind == FORGE && own_key)
            at %= PKT_PAYLOAD_CRC_AT;
        bytes[at] ^= data[i + 2];
    }
    if (data[0] & 4 && n > 2)
        length = length > data[2] ? length - data[2] : length;
    if (kind == FORGE && length >= PKT_HEADER_BYTES) {
        const uint64_t key = h.key;
        h = pkt_get(bytes);
        if (!own_key && h.key == key)
            h.key ^= 1;
        const uint16_t len = h.len;
        const size_t whole = frame_put_header(h, length - PKT_HEADER_BYTES, bytes);
        if (len != whole && len % 3 == 0) { /* sometimes a wrong length with a correct CRC */
            pkt_put_uint(bytes + PKT_LEN_AT, len, PKT_LEN_BYTES);
            pkt_put_uint(bytes + PKT_HEADER_CRC_AT, crc32c(bytes, PKT_HEADER_CRC_AT), 4);
        }
    }
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint8_t bytes[WINDOW_FRAME_BYTES + 64];
    if (!n)
        return 0;
    if (!fuzz.open)
        open_fuzz();
    if (fuzz.job.windows[0]->state == WINDOW_DONE && fuzz.job.windows[1]->state == WINDOW_DONE)
        start_work();
    struct window *w = fuzz.job.windows[0];
    if (w->state == WINDOW_BUSY) {
        const size_t length = make_datagram(data, n, bytes, sizeof bytes);
        uint8_t *copy = malloc(length ? length : 1); /* exact size, for sanitizers */
        if (!copy)
            return 0;
        memcpy(copy, bytes, length);
        (data[0] & 8 && w->grouped ? window_take_group : window_take)(w, &w->ends[n % 2], copy,
                                                                      length, fuzz.net.now);
        free(copy);
    }
    if (fuzz.inputs++ % TURN == 0)
        go_on();
    /* after a forged NAK or PONG with the job's own key */
    if (w->state == WINDOW_LOST || w->state == WINDOW_STRAGGLER) {
        fuzz.lost++;
        close_fuzz();
    }
    return 0;
}
