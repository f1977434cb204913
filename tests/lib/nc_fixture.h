/* nc_fixture.h : makes layers and gradients for tests of the public interface. */
#ifndef NC_FIXTURE_H
#define NC_FIXTURE_H
#include <narrowcast.h>
#include "check.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { N_LAYERS = 5, N_ALL = 1000 + 3 + 64 + 700 + 17 };
static const struct nc_layer layers[N_LAYERS] = {{.name = "a", .n = 1000},
                                                 {.name = "b", .n = 3},
                                                 {.name = "c", .n = 64},
                                                 {.name = "d", .n = 700},
                                                 {.name = "e", .n = 17, .fp32 = 1}};

static inline void point(void *all, size_t element_bytes, void *list[N_LAYERS])
{
    char *at = all;
    for (int l = 0; l < N_LAYERS; l++) {
        list[l] = at;
        at += layers[l].n * element_bytes;
    }
}

static inline float grad_of(int rank, uint64_t step, int i)
{
    uint64_t h = 20 + (uint64_t)rank * 1000003 + step * 7919 + (uint64_t)i * 2654435761u;
    h ^= h >> 29, h *= 0xbf58476d1ce4e5b9u, h ^= h >> 32;
    return ldexpf((float)(int32_t)(h & 0xffff) - 32768, -20 - (int)(h >> 16 & 7));
}

static inline void fill_grads(int rank, uint64_t step, float x[N_ALL])
{
    for (int i = 0; i < N_ALL; i++)
        x[i] = grad_of(rank, step, i);
}

static int n_lines;
static inline void count_line(void *arg, int level, const char *line)
{
    (void)arg, (void)level, (void)line;
    n_lines++;
}

#endif
