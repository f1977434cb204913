/* test_codec_lists.c : codes of more layers than a codec handles at once equal those of each
 * layer alone. */
#include "check.h"
#include "codec/codec_kind.h"
#include "hls/arith/philox.h"
#include <string.h>

enum { SEED = 1515, LAYERS = 2 * CODEC_PIECES + 5, LONGEST = 37, ROOM = LAYERS * 64, KEPT = 8 };

static float x[ROOM], y[2][ROOM];
static struct codec_layer layers[2][LAYERS];
static struct codec_part parts[2][LAYERS];
static struct vec_span spans[2][LAYERS];
static struct vec_out outs[2][LAYERS];
static uint8_t codes[2][8 * ROOM], sums[2][8 * ROOM], was[KEPT * ROOM], next[2][KEPT * ROOM];

static size_t lay_out(const struct codec *c, const struct reduce_op *f)
{
    size_t at = 0;
    memset(codes, 0, sizeof codes), memset(sums, 0, sizeof sums);
    memset(next, 0, sizeof next), memset(y, 0, sizeof y);
    for (size_t i = 0; i < LAYERS; i++) {
        const size_t n = 1 + i % LONGEST;
        for (int s = 0; s < 2; s++)
            layers[s][i] = (struct codec_layer){.index = (uint32_t)i,
                                                .at = at,
                                                .n = n,
                                                .own_max = 0.5f + (float)i,
                                                .max = 1 + (float)i,
                                                .state = was + KEPT * at,
                                                .next_state = next[s] + KEPT * at};
        at += (n + f->unit - 1) / f->unit * f->unit;
    }
    CHECK(at <= ROOM, "no room");
    for (size_t i = 0; i < LAYERS; i++)
        for (int s = 0; s < 2; s++) {
            const struct codec_layer *l = &layers[s][i];
            parts[s][i] = (struct codec_part){.layer = l};
            spans[s][i] = (struct vec_span){.x = x + l->at,
                                            .codes = codes[s] + reduce_op_in_at(f, l->at),
                                            .n = l->n,
                                            .padded = (l->n + f->unit - 1) / f->unit * f->unit,
                                            .key = codec_key(c, 3, (uint32_t)i, 0)};
            outs[s][i] = codec_out(c, sums[s] + reduce_op_out_at(f, l->at), l->n, 0, y[s] + l->at);
        }
    return at;
}

static void check_kind(const char *word, bool scan)
{
    const struct codec_spec spec = {.codec = word};
    struct codec c;
    if (codec_parse(&spec, &c) || codec_settle(&c, 2, &(struct codec_adder){.name = "test"}))
        exit(1);
    c.seed = SEED;
    struct codec_call call[2] = {{.codec = &c, .step = 3, .layers = layers[0], .n_layers = LAYERS},
                                 {.codec = &c, .step = 3, .layers = layers[1], .n_layers = LAYERS}};
    const struct reduce_op f = codec_reduce_op(&call[0]), g = codec_reduce_op(&call[1]);
    const size_t n = lay_out(&c, &f);
    (scan ? codec_scan_encode_all : codec_encode_all)(&c, spans[0], parts[0], LAYERS);
    for (int i = 0; i < LAYERS; i++) {
        (scan ? codec_scan_encode_all : codec_encode_all)(&c, &spans[1][i], &parts[1][i], 1);
        CHECK(spans[0][i].absmax == spans[1][i].absmax, "%s: absmax of layer %d", word, i);
    }
    CHECK(memcmp(codes[0], codes[1], sizeof codes[0]) == 0, "%s: codes", word);
    const uint8_t *all[2] = {codes[0], codes[1]};
    f.ops->sum(&f, 0, all, 2, n, true, sums[0]);
    for (int i = 0; i < LAYERS; i++) {
        const struct vec_span *s = &spans[1][i];
        const uint8_t *one[2] = {s->codes, s->codes};
        g.ops->sum(&g, layers[1][i].at, one, 2, s->padded, true,
                   sums[1] + reduce_op_out_at(&g, layers[1][i].at));
    }
    CHECK(memcmp(sums[0], sums[1], sizeof sums[0]) == 0, "%s: sums", word);
    CHECK(memcmp(next[0], next[1], sizeof next[0]) == 0, "%s: what is kept", word);
    codec_decode_all(&c, outs[0], parts[0], LAYERS);
    for (int i = 0; i < LAYERS; i++)
        codec_decode_all(&c, &outs[1][i], &parts[1][i], 1);
    CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0, "%s: means", word);
    double size = 0;
    for (size_t i = 0; i < n; i++)
        size += y[0][i] < 0 ? -(double)y[0][i] : (double)y[0][i];
    CHECK(size > 1, "%s: nothing but zeroes", word);
}

int main(void)
{
    printf("seed %d\n", SEED);
    for (size_t i = 0; i < ROOM; i++)
        x[i] = (float)(int32_t)philox_u32(SEED, i) * 0x1p-31f;
    for (size_t i = 0; i < sizeof was; i += sizeof(float))
        memcpy(was + i, &x[i / sizeof(float) % ROOM], sizeof(float));
    check_kind("qsgd:4,bucket=32", true);
    check_kind("qsgd:2,bucket=64", true);
    check_kind("onebit:32", false);
    check_kind("onebit:32", true);
    check_kind("ternary", false);
    check_kind("nvfp4", false);
    check_kind("nvfp4", true);
    DONE();
}
