/* idx.h : MNIST's files (and Fashion-MNIST's) as a data set. */
#ifndef IDX_H
#define IDX_H
#include "nn/dataset.h"

/* Fills sizes and images of *d (zeroed) from the four files in DIR. What it has allocated when it
 * fails belongs to *d as well. Returns 0 or a negative errno with one line. */
int idx_load(const char *dir, struct dataset *d);

#endif
