/* test_segmentation.c : checks mIoU and mAcc against tables worked out by hand. */
#include <math.h>
#include "app/train/train_report.h"
#include "check.h"

static void check(const char *what, const double *confusion, int classes, double iou,
                  double accuracy)
{
    const struct segmentation s = segmentation_of(confusion, classes);
    CHECK(isnan(iou) ? isnan(s.mean_iou) : fabs(s.mean_iou - iou) < 1e-15, "%s: mIoU %g, not %g",
          what, s.mean_iou, iou);
    CHECK(isnan(accuracy) ? isnan(s.mean_accuracy) : fabs(s.mean_accuracy - accuracy) < 1e-15,
          "%s: mAcc %g, not %g", what, s.mean_accuracy, accuracy);
}

int main(void)
{
    check("two", (const double[]){8, 2, 1, 4}, 2, (8 / 11.0 + 4 / 7.0) / 2, (0.8 + 0.8) / 2);
    check("all right", (const double[]){3, 0, 0, 0, 9, 0, 0, 0, 1}, 3, 1, 1);
    /* class 2 is found once but never occurs, so it counts only for mIoU */
    check("not there", (const double[]){5, 0, 1, 0, 6, 0, 0, 0, 0}, 3, (5 / 6.0 + 1 + 0) / 3,
          (5 / 6.0 + 1) / 2);
    check("neither", (const double[]){4, 0, 0, 0, 0, 0, 2, 0, 2}, 3, (4 / 6.0 + 2 / 4.0) / 2,
          (1 + 0.5) / 2);
    check("none", (const double[4]){0}, 2, (double)NAN, (double)NAN);
    DONE();
}
