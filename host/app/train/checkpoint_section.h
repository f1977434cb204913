/* checkpoint_section.h : declares a section of a checkpoint. */
#ifndef CHECKPOINT_SECTION_H
#define CHECKPOINT_SECTION_H
#include <stdbool.h>
#include <stddef.h>

struct train;

struct checkpoint_section {
    const char *name;
    bool per_rank;  /* one part for each rank; else all use that of rank 0 */
    bool in_common; /* emulated ranks share the state (train.owner) */
    /* all ranks call get(), which fills rank 0's piece; `to` may be NULL on others */
    bool by_all;
    /* Returns the number of pieces of a part, which are in memory one at a time; NULL: 1 piece. */
    int (*n_pieces)(const struct train *t);
    /* Returns the bytes of a piece, the same on all ranks and throughout the run; 0: no section. */
    size_t (*bytes)(const struct train *t);
    /* get copies the state to host memory; put copies it back, and must refuse untrusted bytes that
     * do more harm than wrong numbers. */
    int (*get)(struct train *t, int piece, void *to);
    int (*put)(struct train *t, int piece, const void *from);
};

/* in file order */
extern const struct checkpoint_section checkpoint_sections[];
extern const int checkpoint_n_sections;

int checkpoint_pieces(const struct train *t, const struct checkpoint_section *s);

#endif
