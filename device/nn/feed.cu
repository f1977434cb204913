/* feed.cu : normalises, transforms (hls/nn/view.h) and scales images of bytes, with the bits of
 * host/nn/data/sample_images.c. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"
#include "hls/nn/bilinear.h"
#include "hls/nn/view.h"

enum { FEED_EACH = 4, FEED_CHANNELS = 3 }; /* packs per thread */

/* The value of each byte, computed in double, and the view of the block's image. */
struct looks {
    float pixels[FEED_CHANNELS][256];
    view v;
};

static __device__ inline void look(const dev_feed &f, const uint32_t *which, const uint64_t *keys,
                                   unsigned image, looks &l)
{
    for (int i = (int)threadIdx.x; i < f.image.c * 256; i += CU_THREADS)
        l.pixels[i / 256][i % 256] =
            (float)((i % 256 / 255.0 - (double)f.mean[i / 256]) * (double)f.inv_std[i / 256]);
    if (threadIdx.x == 0) {
        const augment a = f.augment;
        const view none = {0, 0, 0, 0, 0, 0, 0};
        l.v = a.crop || a.flip || a.cutout
                  ? view_choose(a, keys[0], keys[1], which[image], f.image.h, f.image.w)
                  : none;
    }
    __syncthreads();
}

static __device__ inline float seen(const looks &l, nn_shape s, const uint8_t *image, int row,
                                    int col, int channel)
{
    if (view_is_cut(l.v, row, col))
        return 0;
    const int from_row = view_line(l.v.reflect, row + l.v.dy, s.h);
    const int from_col = view_line(l.v.reflect, (l.v.flip ? s.w - 1 - col : col) + l.v.dx, s.w);
    const bool in = from_row >= 0 && from_col >= 0;
    return l.pixels[channel][in ? image[(from_row * s.w + from_col) * s.c + channel] : 0];
}

/* Images and parts share a grid dimension; others are too small for many images. */
struct part {
    unsigned image, at;
};
static __device__ inline part part_of(unsigned n)
{
    return {blockIdx.x / n, blockIdx.x % n};
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_feed(dev_feed f, unsigned parts, const uint8_t *bytes, const uint32_t *which,
           const uint64_t *keys, T *x)
{
    __shared__ looks l;
    const part p = part_of(parts);
    const int c = f.image.c, line = f.image.w * c, size = f.image.h * line;
    look(f, which, keys, p.image, l);
    const uint8_t *image = bytes + (size_t)p.image * (size_t)size;
    T *to = x + (size_t)p.image * (size_t)size;
    const int first = (int)(p.at * CU_THREADS * FEED_EACH + threadIdx.x) * V;
    for (int u = 0; u < FEED_EACH; u++) {
        const int i = first + u * CU_THREADS * V;
        if (i >= size)
            break;
        int row = i / line, rest = i - row * line, col = rest / c, channel = rest - col * c;
        float out[V];
#pragma unroll
        for (int j = 0; j < V; j++) {
            out[j] = seen(l, f.image, image, row, col, channel);
            if (++channel == c) {
                channel = 0;
                if (++col == f.image.w) {
                    col = 0;
                    row++;
                }
            }
        }
        act_store<T, V>(to + i, out);
    }
}

template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_feed_scaled(dev_feed f, unsigned parts, const uint8_t *bytes, const uint32_t *which,
                  const uint64_t *keys, T *x)
{
    __shared__ looks l;
    const part p = part_of(parts);
    const nn_shape s = f.image;
    const int line = f.shown.w * s.c, size = f.shown.h * line;
    look(f, which, keys, p.image, l);
    const uint8_t *image = bytes + (size_t)p.image * (size_t)(s.h * s.w * s.c);
    for (int u = 0; u < FEED_EACH; u++) {
        const int i = ((int)p.at * FEED_EACH + u) * CU_THREADS + (int)threadIdx.x;
        if (i >= size)
            break;
        const int row = i / line, rest = i - row * line, col = rest / s.c, k = rest - col * s.c;
        const bilinear down = bilinear_at(row, s.h, f.shown.h),
                       across = bilinear_at(col, s.w, f.shown.w);
        const float a = bilinear_mix(seen(l, s, image, down.first, across.first, k),
                                     seen(l, s, image, down.first, across.second, k), across.part);
        const float b = bilinear_mix(seen(l, s, image, down.second, across.first, k),
                                     seen(l, s, image, down.second, across.second, k), across.part);
        x[(size_t)p.image * (size_t)size + (size_t)i] = act<T>::of(bilinear_mix(a, b, down.part));
    }
}

static unsigned parts_of(nn_shape s, int lanes)
{
    const int size = s.h * s.w * s.c, each = CU_THREADS * FEED_EACH * lanes;
    return (unsigned)((size + each - 1) / each);
}

template <typename T, int V>
static int feed_wide(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                     const uint32_t *which, const uint64_t *keys, T *x)
{
    const unsigned parts = parts_of(f->image, V), grid = parts * (unsigned)f->batch;
    k_feed<T, V><<<grid, CU_THREADS, 0, cu_stream(d->s)>>>(*f, parts, bytes, which, keys, x);
    return cu_check("augmentation");
}

template <typename T>
static int feed_scaled(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                       const uint32_t *which, const uint64_t *keys, T *x)
{
    const unsigned parts = parts_of(f->shown, 1), grid = parts * (unsigned)f->batch;
    k_feed_scaled<T><<<grid, CU_THREADS, 0, cu_stream(d->s)>>>(*f, parts, bytes, which, keys, x);
    return cu_check("scaling of images");
}

template <typename T>
static int feed_of(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                   const uint32_t *which, const uint64_t *keys, void *x)
{
    const size_t size = (size_t)f->image.h * (size_t)f->image.w * (size_t)f->image.c;
    if (f->shown.h != f->image.h || f->shown.w != f->image.w)
        return feed_scaled<T>(d, f, bytes, which, keys, (T *)x);
    if (act_wide<T>(size, x))
        return feed_wide<T, ACT_LANES(T)>(d, f, bytes, which, keys, (T *)x);
    return feed_wide<T, 1>(d, f, bytes, which, keys, (T *)x);
}

int nn_feed(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes, const uint32_t *which,
            const uint64_t *keys, void *x)
{
    return f->batch == 0 ? 0 : NN_BY_TYPE(d, feed_of, d, f, bytes, which, keys, x);
}
