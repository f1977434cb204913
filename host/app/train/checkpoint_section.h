/* checkpoint_section.h : lists the sections of a checkpoint, one row each. */
#ifndef CHECKPOINT_SECTION_H
#define CHECKPOINT_SECTION_H
#include <stdbool.h>
#include <stddef.h>

struct train;

struct checkpoint_section {
    const char *name;
    bool per_rank;  /* one part for each rank; else rank 0's is used by all */
    bool in_common; /* emulated ranks share it (train.lead) */
    /* Bytes of a part: the same on all ranks and throughout the run. 0: the
     * file has no such section. */
    size_t (*bytes)(const struct train *t);
    /* Copy the state to host memory (get) and back (put). put must refuse untrusted bytes that
     * would do more harm than wrong numbers. */
    int (*get)(struct train *t, void *to);
    int (*put)(struct train *t, const void *from);
};

/* In file order. */
extern const struct checkpoint_section checkpoint_sections[];
extern const int checkpoint_n_sections;

#endif
