/* concat.cu : concatenates and splits the channels of tensors. */
#include "device/nn/nn.cuh"

/* Pitches are in values per pixel. */
static int copy_channels(struct dev_nn *d, size_t n, int c, const void *from, int from_pitch,
                         void *to, int to_pitch)
{
    const size_t value = nn_bytes(d);
    if (n == 0)
        return 0;
    return cu_try(cudaMemcpy2DAsync(to, (size_t)to_pitch * value, from, (size_t)from_pitch * value,
                                    (size_t)c * value, n, cudaMemcpyDeviceToDevice,
                                    cu_stream(d->s)),
                  "copy of channels");
}

int nn_concat_forward(struct dev_nn *d, size_t n, int c, const void *x, int at, int all, void *y)
{
    return copy_channels(d, n, c, x, c, (char *)y + (size_t)at * nn_bytes(d), all);
}

int nn_concat_backward(struct dev_nn *d, size_t n, int c, const void *dy, int at, int all, void *dx)
{
    return copy_channels(d, n, c, (const char *)dy + (size_t)at * nn_bytes(d), all, dx, c);
}
