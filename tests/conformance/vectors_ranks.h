/* vectors_ranks.h : vectors of a rank's rules: places of packets, cuts of vectors, accepted
 * answers. */
#ifndef VECTORS_RANKS_H
#define VECTORS_RANKS_H
#include "vectors_packets.h"

/* ---- a window whose frames go nowhere ---- */

static struct {
    size_t n;
    uint8_t bytes[CARD_FRAME_BYTES];
} quiet_sent; /* the last frame */

static int wire_send(void *wire, const uint8_t *bytes, size_t n)
{
    (void)wire;
    memcpy(quiet_sent.bytes, bytes, quiet_sent.n = n);
    return 0;
}
static size_t wire_most(const void *wire)
{
    (void)wire;
    return CARD_FRAME_BYTES;
}
static int wire_flush(void *wire)
{
    (void)wire;
    return 0;
}
static const struct wire_ops quiet_wire = {
    .send = wire_send, .flush = wire_flush, .most = wire_most};

enum { QUIET_CARDS = 3 };

static struct window *quiet_window_of(int n_cards, int rank, const struct vec_sum *sum,
                                      uint32_t beats, struct fpga_job job, bool grouped)
{
    struct window_config config = {.rank = rank,
                                   .n_ranks = 4,
                                   .nonce = 0x0123456789abcdefu,
                                   .secret = {5, 6, 7, 8},
                                   .saturate = sum->overflow == MF_SATURATE,
                                   .out_shift = sum->out_shift,
                                   .beats = beats};
    struct window_card cards[QUIET_CARDS];
    struct window *w;
    for (int i = 0; i < QUIET_CARDS; i++) {
        cards[i] = (struct window_card){.wire = {.ops = &quiet_wire}, .job = job, .name = "card"};
        if (grouped)
            cards[i].group = cards[i].wire;
    }
    if (card_fits(sum, 4, "ranks", &config.fit) < 0 ||
        window_open(&config, cards, n_cards, 1, &w) < 0)
        abort();
    return w;
}

static struct window *quiet_window(int rank, const struct vec_sum *sum, uint32_t beats,
                                   struct fpga_job job, bool grouped)
{
    return quiet_window_of(1, rank, sum, beats, job, grouped);
}

/* Builds the frame of packet i of the work. */
static struct window_slot *built(struct window *w, uint64_t i)
{
    const uint64_t m = w->base + i;
    struct window_slot *s = &w->ends[0].slots[m % w->ends[0].card.job.slots];
    s->m = m;
    window_build(w, s, i);
    return s;
}

/* ---- numbering, cutting ---- */

static const struct vec_sum sum_of_e4m3 = {
    .rule = VEC_EXACT, .in = {4, 3, 0}, .out = {4, 3, 0}, .n_ranks = 4};

static void place_line(void)
{
    static uint8_t codes[64], result[64];
    static const struct {
        uint64_t n;
        int cards;
        uint32_t slots, base;
    } done[] = {{0, 1, 8, 0},
                {7, 1, 8, 16},
                {8, 1, 8, 16},
                {29, 1, 8, 16},
                {29, 3, 8, 0},
                {31, 3, 4, 64},
                {0x2000000000, 2, 16, 0},
                {0x7ffffffff, 1, 8, 0},
                {0x800000000, 1, 8, 0}};
    char id[64];
    for (size_t k = 0; k < sizeof done / sizeof *done; k++) {
        const struct fpga_job job = {0x1122334455667788u, 1, done[k].base, done[k].slots};
        struct window *w = quiet_window_of(done[k].cards, 3, &sum_of_e4m3, 1, job, false);
        const struct card_path_sum work = {.n = 64, .codes = codes, .result = result};
        int card = 0;
        uint32_t i = 0;
        w->base = done[k].n;
        window_start_sum(w, &work, 1);
        window_send_new(w, 1);
        while (!w->ends[card].slots[i].out) /* the only packet is in one of them */
            if (++i == job.slots)
                card++, i = 0;
        const struct pkt_header sent = pkt_get(w->ends[card].slots[i].frame);
        window_close(w);
        snprintf(id, sizeof id, "rank/place-%zu", k);
        line_open(id, "place", "R127");
        line_u64("packet", done[k].n);
        line_int("cards", done[k].cards);
        line_int("slots", (long)done[k].slots);
        line_int("slot_base", (long)done[k].base);
        line_int("card", card);
        line_int("slot", sent.slot);
        line_words("chunk", &sent.chunk, 1, 8);
        line_close();
    }
}

/* Takes the result of the packet that slot s sent last. */
static void answer(struct window *w, const struct window_slot *s)
{
    static const uint8_t codes[PKT_BEAT_BYTES];
    uint8_t frame[PKT_HEADER_BYTES + PKT_BEAT_BYTES];
    struct pkt_header h = pkt_get(s->frame);
    h.op = PKT_OP_RESULT;
    window_take(w, w->ends, frame, frame_put(h, codes, 1, frame), 1);
}

/* Which packets a rank sends while others wait for their results: two slots. */
static void order_lines(void)
{
    static uint8_t codes[7 * 64], result[7 * 64];
    static const int sets[][2] = {{3, 4}, {4, -1}, {3, -1}, {-1, -1}};
    static const int packets[] = {5, 6};
    char id[64];
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        const struct fpga_job job = {0x1122334455667788u, 1, 16, 2};
        struct window *w = quiet_window(3, &sum_of_e4m3, 1, job, false);
        const struct window_slot *slots = w->ends[0].slots;
        const struct card_path_sum work = {.n = sizeof codes, .codes = codes, .result = result};
        int may[2];
        window_start_sum(w, &work, 1);
        for (int m = 0; m < packets[0]; m++) {
            window_send_new(w, 1);
            if (m != sets[k][0] && m != sets[k][1])
                answer(w, &slots[m % 2]);
        }
        window_send_new(w, 1);
        for (int i = 0; i < 2; i++)
            may[i] = slots[packets[i] % 2].m == (uint64_t)packets[i];
        window_close(w);
        snprintf(id, sizeof id, "rank/order-%zu", k);
        line_open(id, "may_send", "R128");
        line_int("slot_base", 16);
        line_int("slots", 2);
        line_ints("waits", sets[k], (size_t)(sets[k][0] >= 0) + (sets[k][1] >= 0));
        line_ints("packets", packets, 2);
        line_ints("may", may, 2);
        line_close();
    }
}

/* Frames of a vector of n codes. */
static void cut_sum_line(const char *id, const char *rules, const struct vec_sum *card,
                         uint32_t beats, size_t n)
{
    const struct vec_sum sum = *card;
    const struct fpga_job job = {0x1122334455667788u, 1, 16, 2};
    struct window *w = quiet_window(3, &sum, beats, job, false);
    char in[CODEC_NAME_BYTES], out[CODEC_NAME_BYTES];
    uint32_t codes[256];
    static uint8_t packed[1024];
    memset(packed, 0, sizeof packed);
    for (uint32_t i = 0; i < n; i++)
        codes[i] = philox_u32(610, i) >> (32 - mf_width(sum.in));
    pack_write(mf_width(sum.in), codes, n, packed);
    const struct card_path_sum work = {.n = n, .codes = packed, .tag = 0x00c0ffee};
    window_start_sum(w, &work, 1);
    line_open(id, "cut", rules);
    line_text("in", codec_format_name(sum.in, in));
    line_text("out", codec_format_name(sum.out, out));
    line_int("out_shift", sum.out_shift);
    line_int("most_beats", (long)beats);
    line_int("rank", 3);
    line_int("job", 1);
    line_int("slot_base", 16);
    line_int("slots", 2);
    line_u64("key", job.key);
    line_u64("nonce", w->config.nonce);
    line_words("bucket_tag", &work.tag, 1, 8);
    line_bytes("codes", packed, (n * mf_width(sum.in) + 7) / 8);
    line_int("n", (long)n);
    fputs(",\"frames\":[", line_to);
    int results[64];
    for (uint64_t i = 0; i < w->work.n_packets; i++) {
        const struct window_slot *s = built(w, i);
        fputs(i ? "," : "", line_to);
        line_bare_bytes(s->frame, s->n_frame);
        results[i] = (int)s->n_result;
    }
    fputc(']', line_to);
    line_ints("result_bytes", results, w->work.n_packets);
    line_close();
    window_close(w);
}

static void cut_line(const char *id, const char *in, const char *out, int shift, uint32_t beats,
                     size_t n)
{
    const struct vec_sum sum = {.rule = VEC_EXACT,
                                .in = format_of(in),
                                .out = format_of(out),
                                .out_shift = shift,
                                .n_ranks = 4};
    cut_sum_line(id, "R81 R89 R90 R91 R127 R129", &sum, beats, n);
}

/* the card's sum of ternary numbers */
static void ternary_cut_line(void)
{
    const struct codec_spec spec = {.codec = "ternary"};
    const struct codec c = codec_for(&spec, 4);
    cut_sum_line("rank/cut-ternary", "R69 R89 R91 R129", codec_card_sum(&c), 2, 100);
}

/* Frames of a vector of n int8 in a job whose SUMs have these formats. */
static void max_cut_line(const char *id, const char *in, const char *out, uint32_t beats, int n)
{
    const struct vec_sum sum = {
        .rule = VEC_EXACT, .in = format_of(in), .out = format_of(out), .n_ranks = 4};
    const struct fpga_job job = {0x1122334455667788u, 1, 16, 2};
    struct window *w = quiet_window(3, &sum, beats, job, false);
    static int8_t x[1408];
    for (int i = 0; i < n; i++)
        x[i] = (int8_t)((i - 35) % 128);
    window_start_max(w, 0x00c0ffee, x, (size_t)n, 1);
    line_open(id, "cut_max", "R81 R92 R127 R129");
    line_text("in", in);
    line_text("out", out);
    line_int("most_beats", (long)beats);
    line_int("rank", 3);
    line_int("job", 1);
    line_int("slot_base", 16);
    line_int("slots", 2);
    line_u64("key", job.key);
    line_u64("nonce", w->config.nonce);
    line_words("bucket_tag", &w->work.tag, 1, 8);
    line_bytes("values", (const uint8_t *)x, (size_t)n);
    fputs(",\"frames\":[", line_to);
    for (uint64_t i = 0; i < w->work.n_packets; i++) {
        const struct window_slot *s = built(w, i);
        fputs(i ? "," : "", line_to);
        line_bare_bytes(s->frame, s->n_frame);
    }
    fputc(']', line_to);
    line_close();
    window_close(w);
}

/* ---- answers ---- */

static void pong_lines(void)
{
    static const char *const actions[] = {"wait", "send again", "abandon"};
    static const char *const states[] = {"empty", "filling", "kept"};
    uint32_t chunks[8];
    int in[8];
    char id[64];
    for (uint32_t c = 0; c < 6; c += 5)
        for (uint32_t state = 0; state < 3; state++) {
            for (uint32_t k = 0; k < 8; k++) {
                chunks[k] = c + k / 2 - 2;
                in[k] = k % 2;
            }
            snprintf(id, sizeof id, "rank/pong-%u-%s", c, states[state]);
            line_open(id, "pong", "R131");
            line_words("waits_for", &c, 1, 8);
            line_int("first", c == 0);
            line_text("state", states[state]);
            line_words("chunks", chunks, 8, 8);
            line_ints("in", in, 8);
            fputs(",\"actions\":[", line_to);
            for (uint32_t k = 0; k < 8; k++)
                fprintf(line_to, "%s\"%s\"", k ? "," : "",
                        actions[pong_says(state, chunks[k], in[k], c, c == 0)]);
            fputc(']', line_to);
            line_close();
        }
}

struct change {
    const char *name;
    int at, n; /* bytes of the answer's header that get `value`; n 0: none */
    uint64_t value;
    bool again; /* the answer comes twice; the second is judged */
    enum { HEADER_CRC_BAD = 1, PAYLOAD_CRC_BAD, CUT, LONGER } harm;
};

static const char *verdict(struct window *w, struct window_slot *s, uint64_t damaged,
                           uint64_t foreign)
{
    return w->state == WINDOW_LOST ? "abandon"
           : w->damaged != damaged ? "damaged"
           : w->foreign != foreign ? "foreign"
           : w->count.stale != 0   ? "stale"
           : s->m == 0 && !s->out  ? "accepted"
                                   : "none";
}

static void accept_line(const struct change *c, uint8_t op, bool grouped)
{
    const struct vec_sum sum = {.rule = VEC_EXACT, .in = {4, 3, 0}, .out = {4, 3, 0}, .n_ranks = 4};
    const struct fpga_job job = {0x1122334455667788u, 1, 16, 2};
    struct window *w = quiet_window(3, &sum, 1, job, grouped);
    static uint8_t codes[256], result[256];
    uint8_t frame[PKT_HEADER_BYTES + 2 * PKT_BEAT_BYTES];
    char id[80];
    const struct card_path_sum work = {.n = 64, .codes = codes, .result = result, .tag = 1};
    for (int i = 0; i < 64; i++)
        codes[i] = (uint8_t)i;
    window_start_sum(w, &work, 1);
    window_send_new(w, 1);
    struct window_slot *s = &w->ends[0].slots[0];
    s->first_echo = s->echo = 77;
    struct pkt_header h = pkt_get(s->frame);
    h.op = op;
    if (grouped) {
        h.rank = PKT_TO_GROUP;
        h.key = 0;
    }
    if (op == PKT_OP_NAK) {
        const struct pkt_header bare = {.rank = h.rank,
                                        .key = h.key,
                                        .job = h.job,
                                        .slot = h.slot,
                                        .chunk = h.chunk,
                                        .op = op,
                                        .tag = h.tag,
                                        .status = 3};
        h = bare;
    }
    const size_t beats = op == PKT_OP_RESULT ? 1 : 0;
    size_t n = frame_put(h, codes, beats, frame);
    if (c->n) {
        pkt_put_uint(frame + c->at, c->value, c->n);
        pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc32c(frame, PKT_HEADER_CRC_AT), 4);
    }
    if (c->harm == HEADER_CRC_BAD || c->harm == PAYLOAD_CRC_BAD)
        frame[c->harm == HEADER_CRC_BAD ? 40 : 70] ^= 1;
    n = c->harm == CUT ? n - 1 : n;
    if (c->harm == LONGER)
        n = frame_put(h, codes, 2, frame);
    void (*const take)(struct window *, struct window_end *, const uint8_t *, size_t, double) =
        grouped ? window_take_group : window_take;
    if (c->again)
        take(w, w->ends, frame, n, 1);
    const uint64_t damaged = w->damaged, foreign = w->foreign;
    take(w, w->ends, frame, n, 1);
    snprintf(id, sizeof id, "rank/accept-%s%s-%s", grouped ? "group-" : "",
             op == PKT_OP_NAK ? "nak" : "result", c->name);
    line_open(id, "accept", op == PKT_OP_NAK ? "R130 R132" : grouped ? "R82 R130" : "R130");
    line_int("slot_base", 16);
    line_int("slots", 2);
    line_bytes("sent", s->frame, s->n_frame);
    line_bytes("answer", frame, n);
    line_int("again", c->again);
    line_int("group", grouped);
    line_text("verdict", verdict(w, s, damaged, foreign));
    line_close();
    window_close(w);
}

static void accept_lines(void)
{
    static const struct change results[] = {
        {.name = "good"},
        {.name = "twice", .again = true},
        {.name = "key", .at = 8, .n = 8, .value = 1},
        {.name = "rank", .at = 6, .n = 2, .value = 2},
        {.name = "job", .at = 16, .n = 2, .value = 2},
        {.name = "slot", .at = 18, .n = 2, .value = 18},
        {.name = "other-slot", .at = 18, .n = 2, .value = 17},
        {.name = "chunk", .at = 20, .n = 4, .value = 1},
        {.name = "flags", .at = 25, .n = 1, .value = 0},
        {.name = "out-shift", .at = 29, .n = 1, .value = 1},
        {.name = "tag", .at = 32, .n = 4, .value = 9},
        {.name = "count", .at = 48, .n = 4, .value = 63},
        {.name = "zero1", .at = 52, .n = 4, .value = 1},
        {.name = "status", .at = 36, .n = 4, .value = 7},
        {.name = "status-unknown", .at = 36, .n = 4, .value = 8},
        {.name = "echo", .at = 40, .n = 8, .value = 5},
        {.name = "op", .at = 24, .n = 1, .value = 1},
        {.name = "header-crc", .harm = HEADER_CRC_BAD},
        {.name = "payload-crc", .harm = PAYLOAD_CRC_BAD},
        {.name = "cut", .harm = CUT},
        {.name = "longer", .harm = LONGER}};
    static const struct change naks[] = {{.name = "good"},
                                         {.name = "tag", .at = 32, .n = 4, .value = 9},
                                         {.name = "chunk", .at = 20, .n = 4, .value = 1}};
    static const struct change groups[] = {{.name = "good"},
                                           {.name = "tag", .at = 32, .n = 4, .value = 9},
                                           {.name = "key", .at = 8, .n = 8, .value = 1},
                                           {.name = "op", .at = 24, .n = 1, .value = 5}};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        accept_line(&results[i], PKT_OP_RESULT, false);
    for (size_t i = 0; i < sizeof naks / sizeof *naks; i++)
        accept_line(&naks[i], PKT_OP_NAK, false);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        accept_line(&groups[i], PKT_OP_RESULT, true);
}

static void rank_lines(void)
{
    place_line();
    order_lines();
    cut_line("rank/cut-8-8", "e4m3", "e4m3", 2, 1, 150);
    cut_line("rank/cut-8-16", "e5m2", "fp16", 0, 5, 70);
    cut_line("rank/cut-4-8", "e3m0", "e4m3", 0, 2, 131);
    cut_line("rank/cut-4-4", "e2m1", "e3m0", 0, 1, 129);
    cut_line("rank/cut-16-8", "fp16", "e5m2", 0, 2, 65);
    cut_line("rank/cut-4-16", "e3m0", "fp16", 0, 7, 200);
    ternary_cut_line();
    max_cut_line("rank/cut-max", "e4m3", "e4m3", 1, 70);
    max_cut_line("rank/cut-max-4-16", "e3m0", "fp16", 22, 1408);
    pong_lines();
    accept_lines();
}

#endif
