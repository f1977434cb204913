/* dataset_scale.c : sets the image size that networks get. */
#include "base/err.h"
#include "nn/data/dataset.h"

int dataset_scale(struct dataset *d, int side)
{
    if (side == 0)
        return 0;
    if (!d->samples->scales)
        return ERR(-EINVAL, "cannot scale %s of '%s' (--image %d): leave --image out",
                   d->samples->name, d->name, side);
    if (side < d->h || side < d->w || side > DATASET_SCALED_MAX)
        return ERR(-EINVAL,
                   "cannot scale images of '%s' from %dx%d to %dx%d pixels: need at least their "
                   "own size and at most %d",
                   d->name, d->h, d->w, side, side, DATASET_SCALED_MAX);
    d->side = side;
    return 0;
}

struct nn_shape dataset_shape(const struct dataset *d)
{
    return d->side ? (struct nn_shape){d->side, d->side, d->c}
                   : (struct nn_shape){d->h, d->w, d->c};
}
