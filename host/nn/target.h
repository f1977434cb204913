/* target.h : describes which labels a sample has in a data set, and which labels a head needs. */
#ifndef TARGET_H
#define TARGET_H

enum nn_target_kind {
    NN_CLASS,     /* one label per sample */
    NN_DENSE,     /* one label per pixel or time step */
    NN_TRANSCRIPT /* a sequence of labels, filled up with NN_IGNORED */
};
enum { NN_TARGET_KINDS = NN_TRANSCRIPT + 1 };

/* The input of a network or data set. An image with w = 1 is a sequence of h steps. */
enum nn_form { NN_IMAGES, NN_SEQUENCES };

/* NN_IGNORED marks a label that does not count. A label map (a label for each pixel) stores bytes:
 * value 255 means ignored, 254 is reserved, and 0 to 253 are classes. */
enum { NN_IGNORED = -1, NN_MAP_CLASSES_MAX = 254, NN_MAP_IGNORED = 255 };

struct nn_target {
    enum nn_target_kind kind;
    int n; /* labels per sample; for transcripts the largest number */
};

#endif
