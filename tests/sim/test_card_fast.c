/* test_card_fast.c : the C model with fast sums answers like the plain one. `long`: 20 times
 * more. `speed`: only prints the speed of both. */
#include "card_formats.h"
#include "card_frames.h"
#include "check.h"
#include "hls/core/beat.h"
#include "sim/card_model.h"
#include <stdbool.h>
#include <time.h>

enum { SEED = 77, MAX_OUT = 64 };
#include "seeded.h"

struct side {
    struct card *card;
    int n;
    size_t bytes[MAX_OUT];
    uint32_t ip[MAX_OUT];
    uint16_t port[MAX_OUT];
    uint8_t frame[MAX_OUT][CARD_FRAME_BYTES];
};
static struct side plain, fast;
static unsigned statuses;

static void take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct side *s = arg;
    CHECK(s->n < MAX_OUT && n <= CARD_FRAME_BYTES, "%d frames, of %zu bytes", s->n, n);
    if (s->n == MAX_OUT)
        return;
    s->ip[s->n] = ip;
    s->port[s->n] = port;
    s->bytes[s->n] = n;
    memcpy(s->frame[s->n++], bytes, n);
}

static void write_both(void *arg, uint32_t at, uint32_t value)
{
    (void)arg;
    CHECK(card_write(plain.card, at, value) == 0 && card_write(fast.card, at, value) == 0,
          "register %x", at);
}

static void give(uint32_t ip, uint16_t port, const uint8_t *frame, size_t n)
{
    plain.n = fast.n = 0;
    card_frame(plain.card, ip, port, frame, n);
    card_frame(fast.card, ip, port, frame, n);
    CHECK(plain.n == fast.n, "%d answers, and %d", plain.n, fast.n);
    for (int i = 0; i < plain.n && i < fast.n; i++) {
        CHECK(plain.bytes[i] == fast.bytes[i] && plain.ip[i] == fast.ip[i] &&
                  plain.port[i] == fast.port[i] && plain.port[i] >= 1000 &&
                  !memcmp(plain.frame[i], fast.frame[i], plain.bytes[i]),
              "answers differ: formats %02x -> %02x", plain.frame[i][PKT_IN_FMT_AT],
              plain.frame[i][PKT_OUT_FMT_AT]);
        if (plain.frame[i][PKT_OP_AT] == PKT_OP_RESULT)
            statuses |= 1u << plain.frame[i][PKT_STATUS_AT];
    }
}

/* kind 0: any; 1: no inf or nan; 2: small; 3: large, of one sign; 4: small, rarely +inf; 5: the
 * same with -inf; 6: small, the first inf; 7: inf. */
static void fill(uint8_t *payload, size_t bytes, struct beat_fmt in, uint32_t kind)
{
    for (size_t i = 0; i < bytes; i += BEAT_SIZE) {
        struct beat b = beat_zero();
        for (uint32_t k = 0; k < 512 / in.width; k++) {
            uint32_t code = draw(1u << in.width);
            if (kind && (code & mf_nan(in.fmt)) > mf_max(in.fmt))
                code = mf_max(in.fmt) & 0x5555;
            if (kind == 2 || kind >= 4)
                code &= 1u << (in.width - 1) | mf_nan(in.fmt) >> 2;
            if (kind == 3)
                code = (code & 1) + mf_max(in.fmt) - (mf_max(in.fmt) > 2 ? 1u : 0u);
            if ((kind == 4 || kind == 5) && draw(100) == 0)
                code = mf_inf(in.fmt) | (kind == 5 ? 1u << (in.width - 1) : 0u);
            if (kind == 7 || (kind == 6 && i + k == 0))
                code = mf_inf(in.fmt);
            b = beat_put(b, in.width, k, code);
        }
        beat_store(b, payload + i);
    }
}

/* Some ranks contribute twice. */
static void chunk(struct frame_job job, struct pkt_header h, uint32_t kind)
{
    uint8_t frame[CARD_FRAME_BYTES];
    const struct beat_fmt in = beat_format(h.op == PKT_OP_MAX ? 0x43 : h.in_fmt);
    const struct beat_fmt out = beat_format(h.op == PKT_OP_MAX ? 0x43 : h.out_fmt);
    const size_t beats = in.width >= out.width ? h.beats : h.beats * in.width / out.width;
    const uint32_t start = draw(job.ranks);
    for (uint32_t i = 0; i < job.ranks; i++) {
        h.rank = (uint16_t)((start + i) % job.ranks);
        fill(frame + PKT_HEADER_BYTES, beats * BEAT_SIZE, in, h.op == PKT_OP_MAX ? 0 : kind);
        const size_t n = frame_put(h, frame + PKT_HEADER_BYTES, beats, frame);
        if (draw(8) == 0) {
            frame[draw((uint32_t)n)] ^= (uint8_t)(1u << draw(8));
            give(frame_ip(job.index, h.rank), frame_port(h.rank), frame, n);
            fill(frame + PKT_HEADER_BYTES, beats * BEAT_SIZE, in, h.op == PKT_OP_MAX ? 0 : kind);
            frame_put(h, frame + PKT_HEADER_BYTES, beats, frame);
        }
        for (uint32_t again = draw(6) == 0; again <= 1; again++)
            give(frame_ip(job.index, h.rank), frame_port(h.rank), frame, n);
    }
}

/* most: all ranks, and the most beats. */
static void pair(uint8_t in_fmt, uint8_t out_fmt, int rounds, bool most)
{
    const uint32_t in = beat_format(in_fmt).width, out = beat_format(out_fmt).width;
    const uint32_t ratio = in > out ? in / out : out / in;
    for (int round = 0; round < rounds; round++) {
        struct frame_job job = {1, most ? PKT_MAX_RANKS : 1 + draw(9), 2, 4, 0, 99};
        struct pkt_header h;
        memset(&h, 0, sizeof h);
        h.key = job.key;
        h.job = 1;
        h.slot = 3;
        frame_register(job, write_both, NULL);
        for (h.chunk = 0; h.chunk < 8; h.chunk++) {
            const int max = draw(12) == 0;
            h.op = max ? PKT_OP_MAX : PKT_OP_SUM;
            h.in_fmt = max ? 0 : in_fmt;
            h.out_fmt = max ? 0 : out_fmt;
            h.out_shift = (uint8_t)(max ? 0 : draw(PKT_MAX_SHIFT + 1));
            h.beats = (uint8_t)(ratio * (most ? CARD_BEATS : 1 + draw(6)));
            h.flags = (uint8_t)draw(2);
            h.tag = draw(1u << 30);
            chunk(job, h, h.chunk);
        }
    }
}

static void ignore(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)ip, (void)port, (void)bytes, (void)n;
}

static void write_one(void *arg, uint32_t at, uint32_t value)
{
    (void)card_write(arg, at, value);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the frames per second for whole packets of 4 ranks, 64 at a time; closes the card.
 * Making the frames does not count. */
static double speed(struct card *card, uint32_t chunks, uint8_t format, uint32_t kind,
                    uint8_t flags)
{
    enum { RANKS = 4, SLOTS = 64, BEATS = 22, BYTES = 64 * (BEATS + 1) };
    static uint8_t frames[SLOTS][RANKS][BYTES];
    const struct frame_job job = {1, RANKS, 0, SLOTS, 0, 99};
    struct pkt_header h = {.key = 99,
                           .job = 1,
                           .op = PKT_OP_SUM,
                           .beats = BEATS,
                           .in_fmt = format,
                           .out_fmt = format,
                           .flags = flags};
    double seconds = 0;
    frame_register(job, write_one, card);
    for (h.chunk = 0; h.chunk < chunks; h.chunk++) {
        for (h.slot = 0; h.slot < SLOTS; h.slot++)
            for (h.rank = 0; h.rank < RANKS; h.rank++) {
                uint8_t *frame = frames[h.slot][h.rank];
                if (!h.chunk) {
                    fill(frame + PKT_HEADER_BYTES, BYTES - PKT_HEADER_BYTES, beat_format(format),
                         kind);
                    frame_put(h, frame + PKT_HEADER_BYTES, BEATS, frame);
                }
                struct pkt_header now = pkt_get(frame);
                now.chunk = h.chunk;
                pkt_put(now, frame);
            }
        const double start = cpu_s();
        for (uint32_t s = 0; s < SLOTS; s++)
            for (uint32_t r = 0; r < RANKS; r++)
                card_frame(card, frame_ip(1, r), frame_port(r), frames[s][r], BYTES);
        seconds += cpu_s() - start;
    }
    card_close(card);
    return chunks * SLOTS * RANKS / seconds;
}

static void speeds(void)
{
    static const uint8_t some[] = {0x30, 0x43, 0x52, 0xc3, 0x5a};
    for (size_t i = 0; i < sizeof some; i++) {
        const double slow = speed(card_open(ignore, NULL), 10, some[i], 2, 0);
        const double most = speed(card_open_fast(ignore, NULL), 500, some[i], 2, 0);
        printf("format %02x: plain %.0f frames/s, fast %.0f: %.0f MB/s of payload in, a core\n",
               some[i], slow, most, most * 1408e-6);
        for (uint32_t kind = 6; kind <= 7; kind++)
            for (uint8_t flags = 0; flags <= PKT_FLAG_SATURATE; flags++)
                printf("    %s inf%s: %.2f times slower\n", kind == 6 ? "one" : "all",
                       flags ? ", saturate" : "",
                       most / speed(card_open_fast(ignore, NULL), 500, some[i], kind, flags));
    }
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 && !strcmp(argv[1], "long") ? 80 : 4;
    if (argc > 1 && !strcmp(argv[1], "speed")) {
        speeds();
        return 0;
    }
    printf("seed %d\n", SEED);
    plain.card = card_open(take, &plain);
    fast.card = card_open_fast(take, &fast);
    if (!plain.card || !fast.card)
        return 1;
    for (int i = 0; i < CARD_FORMATS; i++)
        pair(card_formats[i], card_formats[i], 1, true);
    for (int i = 0; i < CARD_FORMATS; i++)
        for (int k = 0; k < CARD_FORMATS; k++)
            pair(card_formats[i], card_formats[k], rounds, false);
    for (unsigned i = 0; i < REG_COUNTERS; i++)
        CHECK(card_counter(plain.card, i) == card_counter(fast.card, i), "counter %u", i);
    CHECK(card_counter(fast.card, CNT_OUT_RESULT) > 5000, "too few results");
    CHECK((statuses & 0xff) == 0xff, "not all of status were seen: %x", statuses);
    card_close(plain.card);
    card_close(fast.card);
    DONE();
}
