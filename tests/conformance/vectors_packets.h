/* vectors_packets.h : vectors of checksums, tags, packets and format bytes. */
#ifndef VECTORS_PACKETS_H
#define VECTORS_PACKETS_H
#include "card_frames.h"
#include "hls/card/slot.h"
#include "offload/window/siphash.h"
#include "offload/window/window_inside.h"
#include "reduce/card_path.h"
#include "sim/card_model.h"
#include "vectors_quantile.h"

/* ---- checksums and tags ---- */

static void checksum_lines(void)
{
    static const size_t lengths[] = {0, 1, 4, 9, 15, 16, 17, 64};
    static const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    uint8_t bytes[64];
    char id[64];
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        for (uint32_t i = 0; i < sizeof bytes; i++)
            bytes[i] = k == 3 ? (uint8_t)('1' + i) : (uint8_t)i;
        const uint32_t crc = crc32c(bytes, lengths[k]);
        snprintf(id, sizeof id, "checksum/crc-%zu", lengths[k]);
        line_open(id, "crc32c", "R77");
        line_bytes("bytes", bytes, lengths[k]);
        line_words("crc", &crc, 1, 8);
        line_close();
        snprintf(id, sizeof id, "checksum/siphash-%zu", lengths[k]);
        line_open(id, "siphash", "R78");
        line_u64("key_low", key[0]);
        line_u64("key_high", key[1]);
        line_bytes("bytes", bytes, lengths[k]);
        line_u64("hash", siphash(key, bytes, lengths[k]));
        line_close();
    }
}

static void codec_text_lines(void)
{
    static const struct {
        struct codec_spec spec;
        int ranks;
    } done[] = {{{.format = "e5m2"}, 4},
                {{.format = "e4m3", .scale = "aps"}, 4},
                {{.format = "e3m0", .scale = "aps-tight"}, 8},
                {{.format = "e4m3fn", .scale = "const:0.125", .overflow = "inf"}, 4},
                {{.format = "e5m10", .sum = "nearest", .round = "stochastic"}, 2},
                {{.format = "e4m3", .sum = "kahan", .acc_format = "e5m7", .round = "zero"}, 2},
                {{.format = "e4m3", .scale = "quantile", .sum = "exact"}, 2},
                {{.codec = "qsgd:4"}, 4},
                {{.codec = "qsgd:8,bucket=64,norm=2,levels=even"}, 4},
                {{.codec = "onebit"}, 4},
                {{.codec = "onebit:column,residual=own"}, 4},
                {{.codec = "ternary"}, 4},
                {{.codec = "relgrad"}, 4},
                {{.format = "e5m2", .scale = "const:9.5367431640625e-07"}, 4},
                {{.codec = "ternary:clip=2.7182818"}, 4},
                {{.format = "e4m3", .scale = "aps-tight:32"}, 4},
                {{.format = "e2m5f", .scale = "aps:16"}, 4},
                {{.format = "e2m1f", .out_format = "e2m3f:64"}, 4},
                {{.format = "e5m2", .scale = "aps", .sum = "nearest", .acc_format = "e5m4"}, 3},
                {{.codec = "nvfp4"}, 4},
                {{.codec = "mx:e4m3"}, 1}};
    char id[64], text[CODEC_TEXT_BYTES];
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
        const struct codec c = codec_for(&done[i].spec, done[i].ranks);
        const uint32_t tag = codec_tag(&c);
        snprintf(id, sizeof id, "checksum/codec-%zu", i);
        line_open(id, "codec_tag", "R79");
        line_text("text", codec_describe(&c, text));
        line_words("tag", &tag, 1, 8);
        line_close();
    }
}

static uint32_t bucket_tag(uint32_t start, uint64_t step, uint64_t bucket, uint64_t n,
                           uint64_t codec)
{
    return card_path_tag(start, (uint64_t[]){step, bucket, n, codec});
}

static void maxima_lines(void);

static void tag_lines(void)
{
    static const uint64_t secret[4] = {0x1111111111111111u, 0x2222222222222222u, 3, 4};
    static const int8_t exponents[] = {-3, 0, -128, 5};
    char id[64];
    maxima_lines();
    for (uint32_t k = 0; k < 4; k++) {
        const bool max = k % 2;
        const uint32_t start = max ? (k == 3 ? 25u : 0u) : crc32c(exponents, 4),
                       bucket = max ? UINT32_MAX : k, codec = 0x12345678u;
        const uint64_t step = k < 2 ? 7 : 0x100000000u, n = max ? 4 : 1000 + k;
        const uint32_t tag = bucket_tag(start, step, bucket, n, codec);
        snprintf(id, sizeof id, "tag/bucket-%u", k);
        line_open(id, "bucket_tag", max ? "R80 R133" : "R80");
        line_text("kind", max ? "max" : "sum");
        if (max)
            line_int("message", (long)start);
        else
            line_bytes("exponents", (const uint8_t *)exponents, 4);
        line_u64("step", step);
        line_u64("bucket", bucket);
        line_u64("n", n);
        line_words("codec", &codec, 1, 8);
        line_words("tag", &tag, 1, 8);
        line_close();
        const uint64_t at = 2048 * (uint64_t)k, nonce = 0x0123456789abcdefu;
        const uint32_t count = 2048 - k, plain = frame_tag(tag, nonce, at, count),
                       secret_tag = frame_secret_tag(tag, secret, at, count);
        snprintf(id, sizeof id, "tag/packet-%u", k);
        line_open(id, "packet_tag", "R81");
        line_words("bucket", &tag, 1, 8);
        line_u64("nonce", nonce);
        line_u64("at", at);
        line_int("count", (long)count);
        line_words("tag", &plain, 1, 8);
        line_close();
        snprintf(id, sizeof id, "tag/group-%u", k);
        line_open(id, "group_tag", "R82");
        line_words("bucket", &tag, 1, 8);
        line_u64("key_low", secret[0]);
        line_u64("key_high", secret[1]);
        line_u64("at", at);
        line_int("count", (long)count);
        line_words("tag", &secret_tag, 1, 8);
        line_close();
    }
}

/* As maxima_by_card() of host/reduce/reducer_card_path.c: the int8 that three ranks send for a
 * layer in four messages, and the results. */
static void maxima_line(const char *id, const uint32_t *own)
{
    uint32_t found = 0, sent[12], results[4];
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t at = 24 - 8 * k;
        uint32_t most = 0;
        for (uint32_t r = 0; r < 3; r++) {
            const bool leads = (uint64_t)own[r] >> (at + 8) == (uint64_t)found >> (at + 8);
            const uint32_t byte = leads ? own[r] >> at & 255 : 0;
            sent[3 * k + r] = (byte - 128) & 255;
            most = byte > most ? byte : most;
        }
        results[k] = (most - 128) & 255;
        found |= most << at;
    }
    line_open(id, "maxima", "R133");
    line_words("of_ranks", own, 3, 8);
    line_words("sent", sent, 12, 2);
    line_words("results", results, 4, 2);
    line_words("max", &found, 1, 8);
    line_close();
}

static void maxima_lines(void)
{
    static const uint32_t own[][3] = {{0x3f800000, 0x3f000001, 0x3e9fffff},
                                      {0x007fffff, 0x007ffffe, 0x00800000},
                                      {0, 0, 0},
                                      {0x7f7fffff, 0x7f7fff00, 0x00000001}};
    char id[64];
    for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
        snprintf(id, sizeof id, "tag/maxima-%zu", k);
        maxima_line(id, own[k]);
    }
}

/* ---- packets ---- */

static void line_fields(struct pkt_header h)
{
    fputs(",\"fields\":{", line_to);
    const char *comma = "";
#define PKT_FIELD(NAME, name, at, n_bytes, what)                       \
    fprintf(line_to, "%s\"%s\":\"%0*llx\"", comma, #name, 2 * n_bytes, \
            (unsigned long long)h.name);                               \
    comma = ",";
#include "hls/card/packet.def"
    fputc('}', line_to);
}

static void packet_line(const char *id, const char *rules, struct pkt_header h, size_t beats,
                        bool zeros)
{
    uint8_t frame[CARD_FRAME_BYTES], payload[4 * PKT_BEAT_BYTES];
    for (uint32_t i = 0; i < sizeof payload; i++)
        payload[i] = zeros ? 0 : (uint8_t)philox_u32(600, i);
    const size_t n = frame_put(h, payload, beats, frame);
    line_open(id, "packet", rules);
    line_fields(pkt_get(frame));
    line_bytes("frame", frame, n);
    line_close();
}

static struct pkt_header usual_header(uint8_t op)
{
    return (struct pkt_header){
        .rank = 2, .key = 0x0123456789abcdefu, .job = 1, .slot = 9, .chunk = 0x01020304, .op = op};
}

static void packet_lines(void)
{
    struct pkt_header h = usual_header(PKT_OP_SUM);
    h.flags = PKT_FLAG_SATURATE;
    h.beats = 2;
    h.in_fmt = 0x43;
    h.out_fmt = 0xc3;
    h.out_shift = 2;
    h.tag = 0xcafe1234;
    h.count = 120;
    packet_line("packet/sum", "R83 R84 R85 R86 R87 R91", h, 2, false);
    h.op = PKT_OP_RESULT;
    h.status = PKT_STATUS_PINF | PKT_STATUS_OVERFLOW;
    packet_line("packet/result", "R83 R84 R85 R86 R94", h, 2, false);
    h.rank = PKT_TO_GROUP;
    h.key = 0;
    packet_line("packet/result-group", "R83 R84 R85 R86 R94", h, 2, false);
    h = usual_header(PKT_OP_MAX);
    h.beats = 1;
    h.tag = 0xcafe1235;
    h.count = 50;
    packet_line("packet/max", "R83 R84 R85 R86 R92", h, 1, false);
    h = usual_header(PKT_OP_PING);
    h.echo = 0x1122334455667788u;
    packet_line("packet/ping", "R83 R84 R85 R86 R93", h, 0, true);
    packet_line("packet/ping-long", "R83 R84 R85 R86 R93", h, 1, true);
    h.op = PKT_OP_PONG;
    h.status = PKT_PONG_FILLING;
    packet_line("packet/pong", "R83 R84 R85 R86 R97", pkt_put_bitmap(h, 0x8000000000000005u), 0,
                true);
    h = usual_header(PKT_OP_NAK);
    h.tag = 0xcafe1234;
    h.status = PKT_NAK_BAD_DESC;
    packet_line("packet/nak", "R83 R84 R85 R86 R96", h, 0, true);
}

static void format_byte_lines(void)
{
    int width[256];
    for (uint32_t b = 0; b < 256; b++)
        width[b] = (int)beat_format(b).width;
    line_open("packet/format-bytes", "format_bytes", "R87 R88");
    line_ints("widths", width, 256);
    line_close();
    static const uint32_t bytes[] = {0x30, 0x21, 0x52, 0x43, 0xc3, 0x34, 0x25, 0x5a, 0x4b, 0x12};
    int most[10];
    for (size_t k = 0; k < 10; k++)
        for (most[k] = 0;
             most[k] < PKT_MAX_RANKS && beat_fits(beat_format(bytes[k]), (uint32_t)most[k] + 1);)
            most[k]++;
    line_open("packet/most-ranks", "most_ranks", "R88");
    line_words("formats", bytes, 10, 2);
    line_ints("ranks", most, 10);
    line_close();
}

#endif
