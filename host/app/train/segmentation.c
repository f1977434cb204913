/* segmentation.c : means over classes. */
#include "app/train/segmentation.h"
#include <math.h>

struct segmentation segmentation_of(const double *confusion, int classes)
{
    double ious = 0, accuracies = 0;
    int n_either = 0, n_there = 0;
    for (int i = 0; i < classes; i++) {
        const double right = confusion[i * classes + i];
        double there = 0, found = 0;
        for (int j = 0; j < classes; j++) {
            there += confusion[i * classes + j];
            found += confusion[j * classes + i];
        }
        if (there > 0) {
            accuracies += right / there;
            n_there++;
        }
        if (there + found > 0) {
            ious += right / (there + found - right);
            n_either++;
        }
    }
    return (struct segmentation){n_either ? ious / n_either : (double)NAN,
                                 n_there ? accuracies / n_there : (double)NAN};
}
