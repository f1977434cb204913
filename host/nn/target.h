/* target.h : describes the labels of a sample, as data sets have them and as heads need them. */
#ifndef TARGET_H
#define TARGET_H

enum nn_target_kind {
    NN_CLASS,     /* one label a sample */
    NN_DENSE,     /* one a pixel or time step */
    NN_TRANSCRIPT /* a sequence, then NN_IGNORED */
};
enum { NN_TARGET_KINDS = NN_TRANSCRIPT + 1 };

/* The input of a network or data set. An image of w = 1 is a sequence of h steps. */
enum nn_form { NN_IMAGES, NN_SEQUENCES };

/* Labels that do not count. A label map stores bytes, whose last value means
 * ignored; the one before is reserved. */
enum { NN_IGNORED = -1, NN_MAP_CLASSES_MAX = 254, NN_MAP_IGNORED = 255 };

struct nn_target {
    enum nn_target_kind kind;
    int n; /* labels a sample; for transcripts the most */
};

#endif
