/* elastic.h : trains on while ranks die and new ones join (train --elastic).
 *
 *     elastic_begin  all processes agree on the last step whose state all have, or start anew
 *       the run      elastic_keep() after each step
 *     elastic_end    nothing lost: the run has ended; else again, with the processes that are left
 *
 * Weights do not depend on which process computes which block, so the run ends with the weights of
 * an undisturbed one. README.md, "Elastic runs". */
#ifndef ELASTIC_H
#define ELASTIC_H
#include "app/train/checkpoint.h"
#include "app/train/train_options.h"
#include "app/train/train_report.h"
#include "comm/comm.h"
#include <limits.h>

struct train;
struct elastic;

/* Results of an attempt. GROWS: it ends to take in a process; ENDED: nothing is left to do. */
enum { ELASTIC_GROWS = 1 << 16, ELASTIC_ENDED };

/* Makes SIGUSR2 a request for one more process. Call it as early as possible. */
void elastic_listen(void);

/* First argument of a process that was started to join. */
#define ELASTIC_JOINS "joins"

/* Makes all ranks resume --save if rank 0's file is a checkpoint of the run `id`
 * (CHECKPOINT_RUN_BYTES); with NULL, of none. */
int elastic_resume_own(struct comm *comm, const char *id, struct train_options *o);

/* comm: from comm_open_elastic(); it stays the caller's. argv: those of the command, for new
 * processes. Returns NULL if out of memory. */
struct elastic *elastic_open(const struct train_options *o, struct comm *comm, bool joins, int argc,
                             char **argv);
void elastic_close(struct elastic *e);

/* Sets *run to the options of the next attempt: those of elastic_open(), and a file to resume. All
 * processes call it. Returns ELASTIC_ENDED if an attempt ended the run, and then a process died. */
int elastic_begin(struct elastic *e, struct train_options *run);

/* Copies this block's state after t->state.step steps to memory, and to the next process. Does
 * nothing without --elastic. All blocks call it, and again only after all of them have called. */
int elastic_keep(struct train *t);

/* Returns the last test before the state that this attempt resumes, or NULL. e may be NULL. */
const struct report_epoch *elastic_tested(const struct elastic *e);

/* For tests: pauses for NARROWCAST_TEST_PAUSE seconds. Called after the last step. */
void elastic_pause(const struct train *t);

/* True if a user asked for one more process (SIGUSR2). */
bool elastic_asked(void);

/* rc: of the attempt. Returns true if there must be another one, else sets *rc for the caller. */
bool elastic_end(struct elastic *e, int *rc);

/* ---- for elastic*.c ---- */

enum { ELASTIC_OWN, ELASTIC_COPIES, ELASTIC_KINDS };

struct elastic_slot {
    uint64_t steps_1; /* steps done, plus 1; 0: nothing is kept */
    int first[ELASTIC_KINDS], n[ELASTIC_KINDS],
        to; /* to: the block that takes the copies of the own ones */
    uint8_t *common, *blocks[ELASTIC_KINDS]; /* states of all blocks together, and of each */
    struct elastic_tested {
        bool is;
        struct report_epoch last;
    } tested;
    int n_begun, n_done; /* blocks that have entered and left elastic_keep() */
};

/* states that a process can give */
struct elastic_offer {
    uint64_t last;
    uint64_t from; /* of the attempt before */
    int32_t tries, ended;
    struct {
        uint64_t steps_1;
        int32_t first[ELASTIC_KINDS], n[ELASTIC_KINDS];
    } slot[2];
};

struct elastic {
    const struct train_options *o;
    struct comm *comm;
    char **args;       /* of new processes */
    bool joins, ended; /* ended: an attempt ended the run, also for the others */
    int status;        /* with which it ended here */
    double lost_s;     /* when a loss was noticed, or 0 */
    int apart;         /* processes from one to that with its copies */
    uint64_t from;     /* steps_1 of this attempt */
    int tries;

    struct checkpoint_plan plan;
    char text[CHECKPOINT_TEXT];
    struct elastic_file {
        char path[PATH_MAX]; /* "": none */
        struct elastic_tested tested;
    } file; /* that this attempt resumes */
    size_t common_bytes, block_bytes;
    struct elastic_slot slots[2];
    int good; /* slot that the next state must not replace */
};

/* A slot without memory. */
void elastic_slot_free(struct elastic_slot *s);
/* Removes the file of elastic_restore(). */
void elastic_drop_file(struct elastic *e);

/* Returns the states that this process can give. */
struct elastic_offer elastic_offer(const struct elastic *e);
/* Sets e->from to the last state that all processes have, or 0 if none is complete, and e->ended if
 * any process has ended the run. offers: [processes] each a struct elastic_offer, perhaps not
 * aligned. */
void elastic_choose(struct elastic *e, const uint8_t *const *offers);
/* Writes the state e->from to a file of process 0, whose name all learn. All processes call it. */
int elastic_restore(struct elastic *e, const uint8_t *const *offers);

#endif
