/* algo_fold.c : the sum of several ranks' codes over one range, by the fold itself or, where wide
 * partial sums travel, in blocks whose accumulators stay in the cache. */
#include "comm/algo/algo_step.h"

enum { BLOCK = 4096 }; /* elements: 32 KiB of 8-byte accumulators */

static size_t block_of(const struct fold *f)
{
    return f->unit < BLOCK ? BLOCK / f->unit * f->unit : f->unit;
}

size_t algo_acc_bytes(const struct fold *f)
{
    return f->ops->acc_bytes(f, block_of(f));
}

void algo_fold(const struct fold *f, struct algo_range r, enum algo_form from,
               const uint8_t *const *parts, int n_parts, void *acc, enum algo_form to, uint8_t *sum)
{
    algo_fold_blocks(f, block_of(f), r, from, parts, n_parts, acc, to, sum);
}

void algo_fold_blocks(const struct fold *f, size_t block, struct algo_range r, enum algo_form from,
                      const uint8_t *const *parts, int n_parts, void *acc, enum algo_form to,
                      uint8_t *sum)
{
    if (from != ALGO_WIDE && to != ALGO_WIDE) {
        if (r.n > 0)
            (from == ALGO_IN ? f->ops->sum : f->ops->merge)(f, r.at, parts, n_parts, r.n,
                                                            to == ALGO_OUT, sum);
        return;
    }
    for (size_t i = 0, n; i < r.n; i += n) {
        n = r.n - i < block ? r.n - i : block;
        const size_t skip = algo_bytes(f, from, i);
        for (int p = 0; p < n_parts; p++) {
            if (from == ALGO_WIDE)
                f->ops->add_wide(f, acc, parts[p] + skip, n, p == 0);
            else
                f->ops->add(f, r.at + i, acc, parts[p] + skip, n, p == 0);
        }
        uint8_t *out = sum + algo_bytes(f, to, i);
        if (to == ALGO_WIDE)
            f->ops->spill(f, acc, n, out);
        else if (to == ALGO_OUT)
            f->ops->done(f, r.at + i, acc, n, out);
        else
            f->ops->part(f, r.at + i, acc, n, out);
    }
}
