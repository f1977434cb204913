/* dataset_order.c : the order in which an epoch sees the training images. */
#include "nn/data/dataset.h"
#include "hls/arith/draw.h"

/* Fisher and Yates' shuffle, inside out: no start from an earlier order, so an epoch depends on no
 * other one. */
void dataset_order(uint64_t seed, uint64_t epoch, size_t n, uint32_t *order)
{
    struct draw draw = draw_open(seed, DRAW_ORDER, epoch, 0);
    for (size_t i = 0; i < n; i++) {
        uint32_t j = draw_below(&draw, (uint32_t)i + 1);
        order[i] = (uint32_t)i; /* for j == i */
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
}
