/* test_bucket.c : tests how layers are fused into buckets. */
#include "check.h"
#include "reduce/bucket.h"

/* Sizes in elements of one byte, negative for fp32. Expected: layers, from the last on; 0 ends a
 * bucket. */
int main(void)
{
    static const struct {
        int n[6], want[12];
        bool all_fp32;
    } cases[] = {
        {{8, 8, 8}, {3, 2, 1}, false},
        {{8, 50, 40, 8}, {4, 3, 2, 0, 1}, false}, /* the layer that fills a bucket belongs to it */
        /* unless it is a full bucket itself, with its padding */
        {{8, 60, 40, 8}, {4, 3, 0, 2, 0, 1}, false},
        {{8, 64, 8}, {3, 0, 2, 0, 1}, false}, /* a layer that fills a bucket is its only one */
        {{8, 100, 8}, {3, 0, 2, 0, 1}, false},
        {{32, 32, 32, 32}, {4, 3, 0, 2, 1}, false},               /* closed when full */
        {{8, -8, -8, 8}, {3, 2, 0, 4, 1}, false},                 /* fp32 layers are separate */
        {{8, -4, 8, -4, 8, -4}, {6, 4, 0, 2, 0, 5, 3, 1}, false}, /* and alternate */
        {{-4, 8, -4, 8, -4, 8}, {5, 3, 0, 6, 4, 2, 0, 1}, false},
        /* the bucket complete first goes first */
        {{8, 8, -8, 8, -8}, {5, 3, 0, 4, 2, 1}, false},
        {{-4, 32, 32, -4, 32, 8}, {6, 5, 3, 0, 2, 0, 4, 1}, false},
        {{8, 8, 8, 8, -4}, {5, 0, 4, 3, 2, 1}, false},
        {{8, 8, -8, 64, -8, 8},
         {6, 0, 4, 0, 5, 3, 0, 2, 1},
         false},                                                /* a full one closes its class */
        {{-8, 8, -16, 8, -8}, {5, 0, 3, 0, 4, 2, 0, 1}, false}, /* 4 bytes an element */
        {{1, 1, 1}, {3, 2, 1}, false},                          /* 8 each, padded */
        {{8, -8, 8, 8}, {4, 3, 0, 2, 1}, true},                 /* 32 bytes each */
    };
    struct codec codec;
    if (codec_parse(&(struct codec_spec){.format = "e5m2"}, &codec) < 0 ||
        codec_settle(&codec, 1, &(struct codec_adder){.name = "test"}) < 0)
        return 1;
    const struct codec codecs[2] = {codec, codec_fp32(&codec, &(struct codec_adder){0})};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct reducer_layer layers[6];
        struct bucket b[6];
        struct codec_layer placed[6];
        int n = 0, bucket_of[6], done = 0;
        for (; n < 6 && cases[k].n[n] != 0; n++)
            layers[n] =
                (struct reducer_layer){.n = (size_t)abs(cases[k].n[n]), .fp32 = cases[k].n[n] < 0};
        const int n_buckets =
            bucket_cut(layers, n, codecs, cases[k].all_fp32, 64, b, placed, bucket_of);
        const int *want = cases[k].want;
        for (int i = 0; i < n_buckets; done += b[i++].n_layers, want++) {
            size_t elements = 0;
            CHECK(b[i].op.ctx == &b[i].call && b[i].call.n_layers == b[i].n_layers &&
                      b[i].call.layers == placed + done,
                  "case %zu bucket %d: its reduce op's layers", k, i);
            for (int j = done; j < done + b[i].n_layers; j++, want++) {
                const int l = *want - 1;
                CHECK((int)placed[j].index == l, "case %zu bucket %d: layer %d, not %d", k, i,
                      (int)placed[j].index, l);
                CHECK(l >= 0 && bucket_of[l] == i && placed[j].at == elements &&
                          placed[j].n == layers[l].n,
                      "case %zu layer %d: its place", k, l);
                elements += (placed[j].n + 7) / 8 * 8;
                CHECK(b[i].fp32 == (layers[placed[j].index].fp32 || cases[k].all_fp32),
                      "case %zu layer %d", k, l);
            }
            CHECK(*want == 0 && b[i].n == elements, "case %zu bucket %d: of %zu, more wanted", k, i,
                  b[i].n);
        }
        CHECK(done == n, "case %zu: %d layers of %d", k, done, n);
    }
    DONE();
}
