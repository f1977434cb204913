/* vectors_step.h : a whole step of four ranks through a card that loses and repeats frames. The
 * ranks' reducers make exponents, tags, codes and means (recorded_ranks.h). */
#ifndef VECTORS_STEP_H
#define VECTORS_STEP_H
#include "recorded_ranks.h"
#include "vectors_control.h"

enum {
    STEP_RANKS = 4,
    STEP_LAYERS = 2,
    STEP_SUM = 168, /* elements of the bucket: 60 in 64, then 100 in 104 */
    STEP_NUMBER = 3
};

/* in the bucket's order */
static const struct {
    int index;
    size_t at, n;
} step_layers[STEP_LAYERS] = {{1, 0, 60}, {0, 64, 100}};

static struct {
    struct codec codec;
    struct window *windows[STEP_RANKS];
    float x[STEP_RANKS][STEP_LAYERS][100], means[STEP_RANKS][STEP_LAYERS][100];
    struct recorded all;
    struct recorded_rank ranks[STEP_RANKS];
    uint8_t sums[STEP_SUM];
    int8_t agreed[STEP_LAYERS];
} step;

/* One event: rank r sends a frame, which may be lost. loser: the rank that does not receive its
 * answer, or -1. */
static void step_event(const char *what, int r, const uint8_t *frame, size_t n, bool lost,
                       int loser)
{
    script.n_out = 0;
    uint64_t before[REG_COUNTERS];
    for (unsigned i = 0; i < REG_COUNTERS; i++)
        before[i] = card_counter(script.card, i);
    if (!lost)
        card_frame(script.card, frame_ip(1, (unsigned)r), frame_port((unsigned)r), frame, n);
    fprintf(line_to,
            "%s{\"what\":\"%s\",\"rank\":%d,\"lost\":%d,\"frame\":", script.n_events++ ? "," : "",
            what, r, lost);
    line_bare_bytes(frame, n);
    for (unsigned i = 0; i < CNT_OUT_RESULT; i++)
        if (card_counter(script.card, i) != before[i])
            line_text("counter", counter_name(i));
    fputs(",\"out\":[", line_to);
    for (int i = 0; i < script.n_out; i++) {
        const int to = (int)pkt_get(script.out[i].bytes).rank;
        fprintf(line_to, "%s[%d,%d,", i ? "," : "", to, to == loser);
        line_bare_bytes(script.out[i].bytes, script.out[i].n);
        fputc(']', line_to);
        if (script.out[i].bytes[PKT_OP_AT] == PKT_OP_RESULT) {
            const struct window *w = step.windows[to];
            const uint64_t at = w->work.kind == WINDOW_SUM
                                    ? (pkt_get(script.out[i].bytes).chunk * 2 +
                                       pkt_get(script.out[i].bytes).slot - 16 - 1) *
                                          64u
                                    : 0;
            if (w->work.kind == WINDOW_MAX)
                memcpy(step.agreed, script.out[i].bytes + 64, STEP_LAYERS);
            else
                memcpy(step.sums + at, script.out[i].bytes + 64,
                       STEP_SUM - at < 64 ? STEP_SUM - at : 64);
        }
    }
    fputs("]}", line_to);
}

static void step_send(int r, uint64_t i, bool lost, int loser)
{
    const struct window_slot *s = built(step.windows[r], i);
    step_event("send", r, s->frame, s->n_frame, lost, loser);
}

/* The rank of packet i asks for its slot's state. */
static void step_ping(int r, uint64_t i, uint64_t echo)
{
    const struct window_slot *s = built(step.windows[r], i);
    const struct pkt_header sent = pkt_get(s->frame);
    const struct pkt_header h = {.rank = sent.rank,
                                 .key = sent.key,
                                 .job = sent.job,
                                 .slot = sent.slot,
                                 .chunk = sent.chunk,
                                 .op = PKT_OP_PING,
                                 .echo = echo};
    uint8_t frame[PKT_HEADER_BYTES];
    frame_put(h, NULL, 0, frame);
    step_event("ping", r, frame, sizeof frame, false, -1);
}

/* The reducers' step: step.all gets its two messages, step.means the means. */
static void step_record(void)
{
    struct reducer_layer layers[STEP_LAYERS];
    for (int l = 0; l < STEP_LAYERS; l++)
        layers[step_layers[l].index] = (struct reducer_layer){.n = step_layers[l].n};
    recorded_open(&step.all, step.ranks, STEP_RANKS, &step.codec, layers, STEP_LAYERS, 4096, false);
    for (int r = 0; r < STEP_RANKS; r++)
        for (int l = 0; l < STEP_LAYERS; l++) {
            memcpy(step.means[r][l], step.x[r][l], sizeof step.x[r][l]);
            step.ranks[r].grads[step_layers[l].index] = step.means[r][l];
        }
    recorded_step(&step.all, step.ranks, STEP_NUMBER);
    CHECK(step.all.n_messages == 2 && step.all.messages[0].n == STEP_LAYERS &&
              step.all.messages[1].n == STEP_SUM,
          "%d messages", step.all.n_messages);
    recorded_close(&step.all, step.ranks);
}

static void step_open(void)
{
    const struct codec_spec spec = {.format = "e4m3", .scale = "aps-tight", .sum = "exact"};
    const struct frame_job job = {1, STEP_RANKS, 16, 2, 0x4343, 0x1122334455667788u};
    const struct fpga_job told = {job.key, job.index, job.base, job.slots};
    step.codec = codec_for(&spec, STEP_RANKS);
    for (int r = 0; r < STEP_RANKS; r++) {
        step.windows[r] = quiet_window(r, codec_sum(&step.codec), 1, told, false);
        for (int l = 0; l < STEP_LAYERS; l++) {
            struct floats v;
            put_floats(&v, step_layers[l].n, 900 + 2 * (uint64_t)r + (uint64_t)l, l ? -9 : -20);
            memcpy(step.x[r][l], v.x, v.n * sizeof *v.x);
        }
    }
    step_record();
    line_open("step/four-ranks", "step",
              "R23 R24 R25 R27 R28 R29 R31 R37 R48 R80 R81 R94 R105 R106 R107 R127 R128 R129 R131 "
              "R134");
    const uint32_t tag = codec_tag(&step.codec);
    char text[CODEC_TEXT_BYTES];
    line_text("codec", codec_describe(&step.codec, text));
    line_words("codec_tag", &tag, 1, 8);
    line_text("format", "e4m3");
    line_text("scale", "aps-tight");
    line_text("out", "e4m3");
    line_int("out_shift", codec_sum(&step.codec)->out_shift);
    line_int("ranks", STEP_RANKS);
    line_int("step", STEP_NUMBER);
    line_u64("nonce", step.windows[0]->config.nonce);
    line_int("most_beats", 1);
    script.card = card_open(script_takes, NULL);
    script.n_events = 0;
    frame_register(job, script_writes, script.card);
    fprintf(line_to,
            ",\"job\":{\"index\":1,\"ranks\":4,\"slot_base\":16,\"slots\":2,\"in_fmt\":\"43\","
            "\"out_fmt\":\"43\",\"key\":\"%016llx\",\"group\":\"00000000\",\"group_port\":0,"
            "\"addresses\":[",
            (unsigned long long)job.key);
    for (unsigned r = 0; r < job.ranks; r++)
        fprintf(line_to, "%s[\"%08x\",%d]", r ? "," : "", frame_ip(1, r), frame_port(r));
    fputs("]}", line_to);
}

static void step_max(void)
{
    struct recorded_message *m = &step.all.messages[0];
    for (int r = 0; r < STEP_RANKS; r++)
        window_start_max(step.windows[r], m->tag, (int8_t *)m->sent[r], STEP_LAYERS, 1);
    step_send(0, 0, false, -1);
    step_send(3, 0, true, -1);
    step_send(2, 0, false, -1);
    step_send(1, 0, false, -1);
    step_ping(3, 0, 1);
    step_send(3, 0, false, 1); /* the result to rank 1 is lost */
    step_ping(1, 0, 2);
    step_send(1, 0, false, -1);
}

static void step_sum(void)
{
    struct card_path_sum work[STEP_RANKS];
    const struct recorded_message *m = &step.all.messages[1];
    for (int r = 0; r < STEP_RANKS; r++) {
        work[r] = (struct card_path_sum){
            .n = STEP_SUM, .codes = m->sent[r], .result = step.sums, .tag = m->tag};
        window_start_sum(step.windows[r], &work[r], 1);
    }
    for (int r = 0; r < STEP_RANKS; r++)
        step_send(r, 0, false, r == 3 ? 0 : -1); /* rank 0's result is lost */
    step_send(1, 1, false, -1);
    step_send(2, 1, false, -1);
    step_send(2, 1, false, -1); /* the network repeats a frame */
    step_send(1, 2, false, -1); /* rank 0 still waits for the chunk before */
    step_ping(0, 0, 3);
    step_send(0, 0, false, -1);
    step_send(0, 1, false, -1);
    step_send(3, 1, false, -1);
    step_send(3, 2, false, -1);
    step_send(0, 2, false, -1);
    step_send(2, 2, false, -1);
    step_send(1, 0, false, -1); /* an old frame, delayed */
}

static void step_lines(void)
{
    step_open();
    fputs(",\"events\":[", line_to);
    step_max();
    step_sum();
    const struct recorded_message *max = &step.all.messages[0], *sum = max + 1;
    CHECK(!memcmp(step.agreed, max->result, STEP_LAYERS), "the card's maxima");
    CHECK(!memcmp(step.sums, sum->result, STEP_SUM), "the card's sums");
    fputs("],\"layers\":[", line_to);
    for (int l = 0; l < STEP_LAYERS; l++) {
        const size_t n = step_layers[l].n;
        uint32_t bits[100];
        fprintf(line_to,
                "%s{\"index\":%d,\"at\":%zu,\"n\":%zu,\"own\":[%d,%d,%d,%d],"
                "\"agreed\":%d,\"shift\":%d,\"gradients\":[",
                l ? "," : "", step_layers[l].index, step_layers[l].at, n, (int8_t)max->sent[0][l],
                (int8_t)max->sent[1][l], (int8_t)max->sent[2][l], (int8_t)max->sent[3][l],
                step.agreed[l], codec_shift(&step.codec, step.agreed[l]));
        for (int r = 0; r < STEP_RANKS; r++) {
            memcpy(bits, step.x[r][l], n * 4);
            fputs(r ? "," : "", line_to);
            line_bare_words(bits, n, 8);
        }
        fputs("],\"codes\":[", line_to);
        for (int r = 0; r < STEP_RANKS; r++) {
            fputs(r ? "," : "", line_to);
            line_bare_bytes(sum->sent[r] + step_layers[l].at, n);
        }
        fputc(']', line_to);
        line_bytes("sums", step.sums + step_layers[l].at, n);
        memcpy(bits, step.means[0][l], n * 4);
        line_words("means", bits, n, 8);
        fputc('}', line_to);
    }
    fputc(']', line_to);
    line_close();
    for (int r = 0; r < STEP_RANKS; r++)
        window_close(step.windows[r]);
    card_close(script.card);
}

#endif
