/* allreduce_data.h : generates integers with known sums for bench_allreduce, and counts errors.
 *
 * An element is +-1 on none, one or two ranks, or +1 and -1 on two. Every partial sum is therefore
 * 0, +-1 or +-2, exact in every format and order. */
#ifndef ALLREDUCE_DATA_H
#define ALLREDUCE_DATA_H
#include <stddef.h>
#include <stdint.h>

static inline float data_of(uint64_t i, int rank, int n_ranks)
{
    const uint32_t bits = (uint32_t)((i * 0x9e3779b97f4a7c15u) >> 32);
    const int first = (int)((bits >> 8) % (uint32_t)n_ranks), second = (first + 1) % n_ranks;
    const float sign = bits & 1 ? -1 : 1;
    switch (bits >> 1 & 3) {
    case 0: /* no rank */
        return 0;
    case 1:
        return rank == first ? sign : 0;
    case 2: /* two ranks, same sign */
        return rank == first || (rank == second && n_ranks > 1) ? sign : 0;
    default: /* two ranks, cancelling */
        return rank == first ? sign : rank == second ? -sign : 0;
    }
}

/* own[n]: this rank's addends; want[n]: the sums. */
static inline void data_fill(float *own, float *want, size_t n, int rank, int n_ranks)
{
    for (size_t i = 0; i < n; i++) {
        own[i] = data_of(i, rank, n_ranks);
        want[i] = 0;
        for (int r = 0; r < n_ranks; r++)
            want[i] += data_of(i, r, n_ranks);
    }
}

static inline uint64_t data_wrong(const float *x, const float *want, size_t n, float divisor)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += x[i] != want[i] / divisor; /* nan, too */
    return wrong;
}

#endif
