/* gpu_lists.h : places lists of vectors alike on the host and the GPU and compares them. */
#ifndef GPU_LISTS_H
#define GPU_LISTS_H
#include "check.h"
#include "gpu_fixture.h"
#include "vec/gpu/gpu.h"
#include "vec/list/vec_counts.h"
#include "vec/gpu/vec_cuda.h"
#include "vec/list/vec_levels.h"
#include "vec/list/vec_signs.h"
#include "vec_inputs.h"
#include <math.h>

enum { ROOM = 48 << 10, BYTES = 12 * ROOM, PARTS = 3, LIST = 9, FILL = 0x5a, KINDS = 5 };
static const uint64_t seed = 1503;

static struct {
    float *x, *was, *y, *next;
    uint8_t *parts[PARTS], *codes;
    float *read;
    uint8_t *read_codes;
} host;
static struct {
    const struct vec_ops *ops;
    float *x, *was, *y, *next;
    uint8_t *parts[PARTS], *codes;
} dev;

static inline float input(uint64_t i, int kind)
{
    const uint32_t word = philox_u32(seed + (uint64_t)kind, i);
    if (kind == 4)
        return float_of(word);
    if (kind == 3)
        return i % 700 < 690 ? 0.0f : -1.5f;
    return ldexpf((float)(int32_t)word * 0x1p-31f, kind == 0 ? 0 : kind == 1 ? -140 : 127);
}

static inline void copy(void *to, const void *from, size_t bytes)
{
    dev.ops->copy(to, from, bytes);
}

static inline void open_memory(const struct vec_ops *ops)
{
    float **const floats[] = {&dev.x, &dev.was, &dev.y, &dev.next};
    dev.ops = ops;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        *floats[i] = ops->alloc_floats(ROOM * sizeof(float));
    for (int p = 0; p < PARTS; p++)
        dev.parts[p] = ops->alloc(BYTES);
    dev.codes = ops->alloc(BYTES);
}

static inline void close_memory(void)
{
    float *const floats[] = {dev.x, dev.was, dev.y, dev.next};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        dev.ops->free_floats(floats[i]);
    for (int p = 0; p < PARTS; p++)
        dev.ops->free(dev.parts[p]);
    dev.ops->free(dev.codes);
}

static inline void fill(int kind, uint64_t more)
{
    for (size_t i = 0; i < ROOM; i++) {
        host.x[i] = input(i + more, kind);
        host.was[i] = input(i + more + ROOM, kind) / 4;
    }
    copy(dev.x, host.x, ROOM * sizeof(float));
    copy(dev.was, host.was, ROOM * sizeof(float));
}
static inline void clear_floats(float *on_host, float *on_gpu)
{
    memset(on_host, FILL, ROOM * sizeof(float));
    copy(on_gpu, on_host, ROOM * sizeof(float));
}
static inline void clear_codes(void)
{
    memset(host.codes, FILL, BYTES);
    copy(dev.codes, host.codes, BYTES);
}

static inline void same_floats(const float *on_host, const float *on_gpu, const char *what,
                               int kind)
{
    copy(host.read, on_gpu, ROOM * sizeof(float));
    for (size_t i = 0; i < ROOM && memcmp(host.read, on_host, ROOM * sizeof(float)); i++)
        CHECK(bits_of(host.read[i]) == bits_of(on_host[i]),
              "%s, %s, inputs %d: float %zu is %a, want %a", dev.ops->name, what, kind, i,
              (double)host.read[i], (double)on_host[i]);
}
static inline void same_codes(const char *what, int kind)
{
    copy(host.read_codes, dev.codes, BYTES);
    for (size_t i = 0; i < BYTES && memcmp(host.read_codes, host.codes, BYTES); i++)
        CHECK(host.read_codes[i] == host.codes[i], "%s, %s, inputs %d: byte %zu is %02x, want %02x",
              dev.ops->name, what, kind, i, host.read_codes[i], host.codes[i]);
}

struct place {
    size_t x, codes, n, padded;
};

static const size_t list_lengths[] = {0, 1, 31, 33, 255, 513, 1505, 64};

/* Codes have unit_bytes bytes per unit. tidy: aligned vectors, as a reducer has them. Returns
 * the number of vectors. */
static inline int lay_out(size_t unit, size_t unit_bytes, bool tidy, struct place list[LIST])
{
    size_t x = 0, codes = 0;
    int k = 0;
    const int most = unit > 1000 ? 3 : LIST;
    for (; k < most; k++) {
        const size_t n = k + 1 == most ? unit + unit / 2 + 5
                                       : list_lengths[((size_t)k + unit / 32) % 8],
                     padded = ((n + unit - 1) / unit + (k % 3 == 0)) * unit;
        x += tidy ? (4 - x % 4) % 4 : 1;
        codes += tidy ? (64 - codes % 64) % 64 : (size_t)(1 + k);
        if (x + n > ROOM || codes + padded / unit * unit_bytes > BYTES)
            break;
        list[k] = (struct place){x, codes, n, padded};
        x += n, codes += padded / unit * unit_bytes;
    }
    return k;
}

/* Checks both tables of the GPU, the second with host memory. Returns 0, or 1 without a GPU. */
static inline int lists_on_gpu(void (*check)(const struct vec_ops *ops))
{
    (void)gpu_fixture_choose();
    if (gpu_open(0) < 0)
        return 1;
    printf("device: %s, seed %llu\n", gpu_info()->name, (unsigned long long)seed);
    float **const floats[] = {&host.x, &host.was, &host.y, &host.next, &host.read};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        *floats[i] = vec_plain.alloc(ROOM * sizeof(float));
    for (int p = 0; p < PARTS; p++)
        host.parts[p] = vec_plain.alloc(BYTES);
    host.codes = vec_plain.alloc(BYTES), host.read_codes = vec_plain.alloc(BYTES);
    for (int i = 0; i < 2; i++) {
        open_memory(i ? vec_cuda_device() : vec_cuda());
        check(dev.ops);
        close_memory();
    }
    CHECK(gpu_failed() == 0, "the GPU failed");
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        vec_plain.free(*floats[i]);
    for (int p = 0; p < PARTS; p++)
        vec_plain.free(host.parts[p]);
    vec_plain.free(host.codes), vec_plain.free(host.read_codes);
    gpu_close();
    return 0;
}

#endif
