/* segmentation.h : computes quality measures of label maps from a confusion table. */
#ifndef SEGMENTATION_H
#define SEGMENTATION_H

struct segmentation {
    /* Mean over classes that occur or were predicted: correct pixels / pixels with that label or
     * prediction. */
    double mean_iou;
    /* Mean over classes that occur: correct pixels / pixels of the class. */
    double mean_accuracy;
};

/* Returns both means; nan without pixels. confusion: [classes][classes] pixels by true (row) and
 * predicted class (column). Source: mIoU and mAcc of MMSegmentation. */
struct segmentation segmentation_of(const double *confusion, int classes);

#endif
