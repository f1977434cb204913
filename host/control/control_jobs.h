/* control_jobs.h : guards registers and jobs of a card that several programs control.
 *
 * Peers are numbers from 0 on. A job belongs to the peer that committed it. Only this peer can read
 * which wrong sources the card has seen for the job. A job must leave at least as many slots free
 * as it takes, unless its JOB_COMMIT sets TAKE_MOST, or it takes the card's last free job
 * index.
 *
 * A stop is complete before its answer. A shared card (more than one peer) stays enabled, and peers
 * cannot set its artificial losses. Only others' jobs restrict the peer that has the card on its
 * bus (`host`).
 *
 * Functions that access the card return 0, -ETIME (CONTROL_JOBS_STUCK), or -EIO if the bus has
 * failed, which may know the reason. They print nothing. */
#ifndef CONTROL_JOBS_H
#define CONTROL_JOBS_H
#include <stdbool.h>
#include <stdint.h>

enum { CONTROL_JOBS = 64 };
#define CONTROL_JOBS_STUCK "a job on the card does not stop"

/* A card's work since it was opened. */
struct control_time {
    /* clocks: in which beats moved, including short pauses; 0 if unknown */
    uint64_t clocks, beats_in, beats_out;
};

struct control_ops {
    /* By byte offset. 1: the bus answers with an error. */
    int (*write)(void *card, uint32_t at, uint32_t value);
    int (*read)(void *card, uint32_t at, uint32_t *value);
    struct control_time (*time)(const void *card);
};

struct control_jobs {
    const struct control_ops *ops;
    void *card;
    bool shared;
    int host;                      /* a peer, or -1 */
    uint32_t n_jobs, n_slots;      /* of the card */
    uint32_t job_index, job_slots; /* last values written to these */
    int owner[CONTROL_JOBS];       /* a peer, or -1 */
    uint32_t slots[CONTROL_JOBS];  /* [job] if it has an owner */
};

/* Begin to guard an open card, which remains the caller's, and stop all its jobs. Returns 0, or as
 * control_jobs_end(). */
int control_jobs_init(struct control_jobs *j, const struct control_ops *ops, void *card,
                      bool shared);

/* Access a register of any offset for a peer. Return 1 if there is none or the peer may not access
 * it. */
int control_jobs_read(struct control_jobs *j, int peer, uint64_t at, uint32_t *value);
int control_jobs_write(struct control_jobs *j, int peer, uint64_t at, uint32_t value);

/* Stop all jobs of a peer. */
int control_jobs_end(struct control_jobs *j, int peer);

/* Return the number of running jobs, and whether this peer has one. */
int control_jobs_running(const struct control_jobs *j);
bool control_jobs_owned(const struct control_jobs *j, int peer);

#endif
