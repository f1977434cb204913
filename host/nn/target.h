/* target.h : describes the labels that a sample has and that a head needs. */
#ifndef TARGET_H
#define TARGET_H

enum nn_target_kind {
    NN_CLASS,     /* one label */
    NN_DENSE,     /* a label per pixel or time step */
    NN_TRANSCRIPT /* a sequence of labels, filled up with NN_IGNORED */
};
enum { NN_TARGET_KINDS = NN_TRANSCRIPT + 1 };

/* Input of a network or data set. An image with w = 1 is a sequence of h steps. */
enum nn_form { NN_IMAGES, NN_SEQUENCES };

/* NN_IGNORED: a label that does not count. Label maps (a label per pixel) store bytes: 0 to 253 are
 * classes, 254 is reserved, 255 is ignored. */
enum { NN_IGNORED = -1, NN_MAP_CLASSES_MAX = 254, NN_MAP_IGNORED = 255 };

struct nn_target {
    enum nn_target_kind kind;
    int n; /* per sample; for transcripts the most */
};

#endif
