/* algo_rescale.c : between the stages of a hierarchical all-reduce: the groups' sums get exponents of
 * their own, one a layer for all of them, and are cast again.
 *
 *     gradients * 2^f --cast--> codes ==group==> sums --largest--> E ==max over all ranks==> sums * 2^(bias - E), cast ==groups==>
 *
 * So the first stage leaves room for the K addends of a group alone, and the second one for P/K. All
 * ranks learn E, by which results are decoded. Source: CPD's ResNet-50 script. */
#include "base/err.h"
#include "comm/algo/algo_step.h"

int algo_rescale(struct comm *c, const struct fold *f, struct algo_range r, uint8_t *sums)
{
    size_t n = 0;
    int8_t *scales = f->ops->scales ? f->ops->scales(f, &n) : NULL;
    if (n == 0)
        return 0;
    if (r.n > 0)
        f->ops->measure(f, r.at, sums, r.n);
    TRY(comm_max_i8(c, scales, n));
    if (r.n > 0)
        f->ops->rescale(f, r.at, sums, r.n);
    return 0;
}
