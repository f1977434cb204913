/* checkpoint_section.h : what of a run stands in a checkpoint: a row for each section. */
#ifndef CHECKPOINT_SECTION_H
#define CHECKPOINT_SECTION_H
#include <stdbool.h>
#include <stddef.h>

struct train;

struct checkpoint_section {
    const char *name;
    bool per_rank;  /* every rank has its own; else rank 0's is everybody's */
    bool in_common; /* emulated ranks have it once (train.lead) */
    /* of a rank; the same on all ranks and for the whole run; 0: it stands in no file */
    size_t (*bytes)(const struct train *t);
    /* Copies the run's state to host memory, and back. What is put may be anybody's bytes: a row
     * refuses those that would do more than spoil numbers. Return 0 or a negative errno with a
     * line. */
    int (*get)(struct train *t, void *to);
    int (*put)(struct train *t, const void *from);
};

/* In the order of the file. */
extern const struct checkpoint_section checkpoint_sections[];
extern const int checkpoint_n_sections;

#endif
