/* segmentation.h : how well label maps were found: what a table of confusions amounts to. */
#ifndef SEGMENTATION_H
#define SEGMENTATION_H

struct segmentation {
    double mean_iou; /* over classes that are there or were found: right ones / (there or found) */
    double mean_accuracy; /* over classes that are there: right ones / there */
};

/* confusion [classes][classes]: pixels of one class (row) that were taken for another (column).
 * Both are nan where there is no pixel. Source: MMSegmentation's mIoU and mAcc. */
struct segmentation segmentation_of(const double *confusion, int classes);

#endif
