/* cifar10.h : CIFAR-10's binary files as a data set. */
#ifndef CIFAR10_H
#define CIFAR10_H
#include "nn/dataset.h"

/* Fills sizes and images of *d (zeroed) from the six files in DIR. What it has allocated when it
 * fails belongs to *d as well. Returns 0 or a negative errno with one line. */
int cifar10_load(const char *dir, struct dataset *d);

#endif
