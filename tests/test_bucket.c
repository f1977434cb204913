/* test_bucket.c : how layers are fused into buckets. */
#include "check.h"
#include "reduce/bucket.h"

/* Hand-made cases: sizes in elements of one byte, fp32 marked by a minus; wanted: layers of each
 * bucket from the last on. */
int main(void)
{
    static const struct {
        int n[6], want[6];
        bool all_fp32;
    } cases[] = {
        {{8, 8, 8}, {3}, false},         /* all in one, which is not full */
        {{8, 50, 40, 8}, {3, 1}, false}, /* the one that fills it still belongs to it */
        /* unless it is a full bucket itself, with its padding */
        {{8, 60, 40, 8}, {2, 1, 1}, false},
        {{8, 64, 8}, {1, 1, 1}, false}, /* one that fills a bucket alone is alone */
        {{8, 100, 8}, {1, 1, 1}, false},
        {{32, 32, 32, 32}, {2, 2}, false},  /* closed when full */
        {{8, -8, -8, 8}, {1, 2, 1}, false}, /* fp32 layers are apart */
        {{1, 1, 1}, {3}, false},            /* 8 each, padded */
        {{8, -8, 8, 8}, {2, 2}, true},      /* 32 bytes each */
    };
    struct codec codec;
    if (codec_parse(&(struct codec_words){.format = "e5m2"}, &codec) < 0 ||
        codec_settle(&codec, 1, &(struct codec_adder){.name = "test"}) < 0)
        return 1;
    const struct codec codecs[2] = {codec, codec_fp32(&codec, &(struct codec_adder){0})};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct reducer_layer layers[6];
        struct bucket b[6];
        struct codec_layer placed[6];
        int n = 0;
        for (; n < 6 && cases[k].n[n] != 0; n++)
            layers[n] =
                (struct reducer_layer){.n = (size_t)abs(cases[k].n[n]), .fp32 = cases[k].n[n] < 0};
        const int n_buckets = bucket_cut(layers, n, codecs, cases[k].all_fp32, 64, b, placed);
        int next = n - 1, i = 0;
        for (; i < n_buckets; next -= b[i++].n_layers) {
            size_t elements = 0;
            for (int l = next; l > next - b[i].n_layers; l--) {
                CHECK(placed[n - 1 - l].at == elements && placed[n - 1 - l].n == layers[l].n &&
                          (int)placed[n - 1 - l].index == l,
                      "case %zu layer %d: its place", k, l);
                elements += (layers[l].n + 7) / 8 * 8;
                CHECK(b[i].fp32 == (layers[l].fp32 || cases[k].all_fp32), "case %zu layer %d", k,
                      l);
            }
            CHECK(b[i].last == next && b[i].n == elements, "case %zu bucket %d: from %d, %zu", k, i,
                  b[i].last, b[i].n);
            CHECK(b[i].fold.ctx == &b[i].call && b[i].call.n_layers == b[i].n_layers &&
                      b[i].call.layers == &placed[n - 1 - next],
                  "case %zu bucket %d: its fold's layers", k, i);
            CHECK(b[i].n_layers == cases[k].want[i], "case %zu bucket %d: %d layers", k, i,
                  b[i].n_layers);
        }
        CHECK(next == -1 && (i == 6 || cases[k].want[i] == 0), "case %zu: %d buckets", k, i);
    }
    DONE();
}
