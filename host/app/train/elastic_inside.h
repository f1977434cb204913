/* elastic_inside.h : declares the states that a process keeps, for elastic*.c. */
#ifndef ELASTIC_INSIDE_H
#define ELASTIC_INSIDE_H
#include "app/train/checkpoint.h"
#include "app/train/elastic.h"

enum { OWN, COPIES, KINDS };

struct elastic_slot {
    uint64_t steps_1;                /* steps done, plus 1; 0: nothing is kept */
    int first[KINDS], n[KINDS], to;  /* to: the block that takes the copies of the own ones */
    uint8_t *common, *blocks[KINDS]; /* states of all blocks together, and of each */
    int n_begun, n_done;             /* blocks that have entered and left elastic_keep() */
};

/* what a process can give */
struct elastic_offer {
    uint64_t last;
    uint64_t from; /* of the attempt before */
    int32_t tries;
    struct {
        uint64_t steps_1;
        int32_t first[KINDS], n[KINDS];
    } slot[2];
};

struct elastic {
    const struct train_options *o;
    struct comm *comm;
    char **args; /* of new processes */
    bool joins;
    double lost_s; /* when a loss was noticed, or 0 */
    int apart;     /* processes from one to that with its copies */
    uint64_t from; /* steps_1 of this attempt */
    int tries;

    struct checkpoint_plan plan;
    char text[CHECKPOINT_TEXT], path[128];
    size_t common_bytes, block_bytes;
    struct elastic_slot slots[2];
    int good; /* slot that the next state must not replace */
};

/* A slot without memory. */
void elastic_slot_free(struct elastic_slot *s);
/* Removes the file of elastic_restore(). */
void elastic_drop_file(struct elastic *e);

/* What this process can give. */
struct elastic_offer elastic_offer(const struct elastic *e);
/* Sets e->from to the last state that all processes have, or 0 if none is complete. offers:
 * [processes] each a struct elastic_offer, perhaps not aligned. */
void elastic_choose(struct elastic *e, const uint8_t *const *offers);
/* Writes the state e->from to a file of process 0, whose name all learn. All processes call it. */
int elastic_restore(struct elastic *e, const uint8_t *const *offers);

#endif
