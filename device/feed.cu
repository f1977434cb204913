/* feed.cu : images from bytes: normalised, cropped and flipped as host/nn/sample_images.c does,
 * with the same bits. */
#include "device/nn.cuh"
#include "device/act.cuh"
#include "hls/draw.h"

enum { FEED_EACH = 4, FEED_CHANNELS = 3 }; /* packs a thread */

/* Where an image is taken from: pixel (y, x) shows the image at (y + dy, x + dx), read right to
 * left if flipped. */
struct view {
    int dy, dx, flip;
};

static __device__ inline view choose_view(int crop, int flip, const uint64_t *keys, uint32_t image)
{
    struct draw draw = draw_open(keys[0], DRAW_AUGMENT, keys[1], image);
    const uint32_t places = 2 * (uint32_t)crop + 1;
    view v;
    v.dy = (int)draw_below(&draw, places) - crop;
    v.dx = (int)draw_below(&draw, places) - crop;
    v.flip = flip && draw_u32(&draw) >> 31;
    return v;
}

/* Block (x, y): the x-th part of image y. What a byte becomes is worked out once a block, in
 * double. */
template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_feed(dev_feed f, const uint8_t *bytes, const uint32_t *which, const uint64_t *keys, T *x)
{
    __shared__ float pixels[FEED_CHANNELS][256];
    __shared__ view shared_view;
    const int c = f.image.c, w = f.image.w, h = f.image.h, line = w * c, size = h * line;
    for (int i = (int)threadIdx.x; i < c * 256; i += CU_THREADS)
        pixels[i / 256][i % 256] =
            (float)((i % 256 / 255.0 - (double)f.mean[i / 256]) * (double)f.inv_std[i / 256]);
    if (threadIdx.x == 0) {
        const view none = {0, 0, 0};
        shared_view =
            f.crop || f.flip ? choose_view(f.crop, f.flip, keys, which[blockIdx.y]) : none;
    }
    __syncthreads();
    const view v = shared_view;
    const uint8_t *image = bytes + (size_t)blockIdx.y * (size_t)size;
    T *to = x + (size_t)blockIdx.y * (size_t)size;
    const int first = (int)(blockIdx.x * CU_THREADS * FEED_EACH + threadIdx.x) * V;
    for (int u = 0; u < FEED_EACH; u++) {
        const int i = first + u * CU_THREADS * V;
        if (i >= size)
            break;
        int row = i / line, rest = i - row * line, col = rest / c, channel = rest - col * c;
        float out[V];
#pragma unroll
        for (int j = 0; j < V; j++) {
            const int from_row = row + v.dy, from_col = (v.flip ? w - 1 - col : col) + v.dx;
            const bool in = from_row >= 0 && from_row < h && from_col >= 0 && from_col < w;
            out[j] = pixels[channel][in ? image[(from_row * w + from_col) * c + channel] : 0];
            if (++channel == c) {
                channel = 0;
                if (++col == w) {
                    col = 0;
                    row++;
                }
            }
        }
        act_store<T, V>(to + i, out);
    }
}

template <typename T, int V>
static int feed_wide(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                     const uint32_t *which, const uint64_t *keys, T *x)
{
    const int size = f->image.h * f->image.w * f->image.c, each = CU_THREADS * FEED_EACH * V;
    const dim3 grid((unsigned)((size + each - 1) / each), (unsigned)f->batch);
    k_feed<T, V><<<grid, CU_THREADS, 0, cu_stream(d->s)>>>(*f, bytes, which, keys, x);
    return cu_check("augmentation");
}

template <typename T>
static int feed_of(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                   const uint32_t *which, const uint64_t *keys, void *x)
{
    const size_t size = (size_t)f->image.h * (size_t)f->image.w * (size_t)f->image.c;
    if (act_wide<T>(size, x))
        return feed_wide<T, ACT_LANES(T)>(d, f, bytes, which, keys, (T *)x);
    return feed_wide<T, 1>(d, f, bytes, which, keys, (T *)x);
}

int nn_feed(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes, const uint32_t *which,
            const uint64_t *keys, void *x)
{
    return f->batch == 0 ? 0 : NN_BY_TYPE(d, feed_of, d, f, bytes, which, keys, x);
}
