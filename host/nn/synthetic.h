/* synthetic.h : generated images of ten classes that no linear model can tell apart: training
 * without a download. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H
#include "nn/dataset.h"

/* Fills sizes and images of *d (zeroed). arg: "n,seed" (n training images, a multiple of 10 from 40
 * on; n/4 for the test) or NULL for the default. The same n and seed give the same bytes on every
 * machine: all is integers. What it has allocated when it fails belongs to *d as well. Returns 0,
 * -EINVAL or -ENOMEM with one line. */
int synthetic_load(const char *arg, struct dataset *d);

#endif
