/* segmentation.h : computes the quality of predicted label maps from a confusion table. */
#ifndef SEGMENTATION_H
#define SEGMENTATION_H

struct segmentation {
    /* Mean over classes that occur or were predicted: correct / (occurring or predicted pixels). */
    double mean_iou;
    /* Mean over classes that occur: correct / occurring pixels. */
    double mean_accuracy;
};

/* confusion: [classes][classes] pixels of a class (row) predicted as another (column). Both means
 * are nan without pixels. Source: mIoU and mAcc of MMSegmentation. */
struct segmentation segmentation_of(const double *confusion, int classes);

#endif
