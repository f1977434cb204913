/* target.h : the labels of a sample: as a source of samples has them, as the head of a network wants
 * them. */
#ifndef TARGET_H
#define TARGET_H

enum nn_target_kind {
    NN_CLASS,     /* one label a sample */
    NN_DENSE,     /* one for each pixel or time step */
    NN_TRANSCRIPT /* some in their order, NN_IGNORED behind the last */
};
enum { NN_TARGET_KINDS = NN_TRANSCRIPT + 1 };

/* What a network reads, or a source has: an image of w = 1 is a sequence of h steps. */
enum nn_form { NN_IMAGES, NN_SEQUENCES };

/* Where a sample has no label that counts. A label map's bytes say it by the last value, and the one
 * before is kept free. */
enum { NN_IGNORED = -1, NN_MAP_CLASSES_MAX = 254, NN_MAP_IGNORED = 255 };

struct nn_target {
    enum nn_target_kind kind;
    int n; /* labels a sample; of a transcript: at most */
};

#endif
