/* pixel.cuh : finds the pixel of a thread that computes V channels of an NHWC image. */
#ifndef PIXEL_CUH
#define PIXEL_CUH
#include "device/nn/nn.cuh"

struct pixel {
    size_t image;
    int y, x, c;
};
/* Returns the place of the i-th pack of V channels. An image has less than 2^32 values. */
template <int V> static __device__ inline pixel pixel_of(nn_shape s, size_t i)
{
    const unsigned per_pixel = (unsigned)(s.c / V), per_line = per_pixel * (unsigned)s.w;
    pixel p;
    p.image = i / ((size_t)per_line * (unsigned)s.h);
    const unsigned rest = (unsigned)(i - p.image * ((size_t)per_line * (unsigned)s.h)),
                   line = rest / per_line;
    p.y = (int)line;
    p.x = (int)((rest - line * per_line) / per_pixel);
    p.c = (int)((rest - line * per_line) % per_pixel) * V;
    return p;
}
static __device__ inline size_t pixel_element(nn_shape s, size_t image, int y, int x, int c)
{
    return ((image * (unsigned)s.h + (unsigned)y) * (unsigned)s.w + (unsigned)x) * (unsigned)s.c +
           (unsigned)c;
}

/* Returns the number of packs of v channels. */
static inline size_t pixel_packs(nn_shape s, int batch, int v)
{
    return (size_t)batch * (size_t)s.h * (size_t)s.w * (size_t)(s.c / v);
}

#endif
