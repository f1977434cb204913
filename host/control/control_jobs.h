/* control_jobs.h : guards registers and jobs of a card that several programs control.
 *
 * Peers are numbers, 0 and up. A job belongs to the peer that committed it, and only this peer
 * reads what the card has seen of it. A job leaves at least as many slots free as it takes,
 * unless bit 1 of its JOB_COMMIT asks for more, or it is the last for which the card has an
 * index. A stop is complete before it is answered. A shared card (more than one peer) stays
 * enabled, and peers cannot set its artificial losses. The peer that has the card on its bus
 * (`host`) is bound only by the jobs of others. */
#ifndef CONTROL_JOBS_H
#define CONTROL_JOBS_H
#include <stdbool.h>
#include <stdint.h>

enum { CONTROL_JOBS = 64 };

/* Work of a card since it was opened. */
struct control_time {
    /* clocks: while beats moved, including pauses between beats that are too short to be sure
     * that no more follow; 0: unknown */
    uint64_t clocks, beats_in, beats_out;
};

/* A card, simulated or real, as its controllers see it. */
struct control_ops {
    /* Access a register by byte offset. Return 0, 1 if the bus answers with an error, or -EIO,
     * reported, if it does not answer. */
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
    uint32_t job_index, job_slots; /* last values written to these registers */
    int owner[CONTROL_JOBS];       /* a peer, or -1 */
    uint32_t slots[CONTROL_JOBS];  /* of an owned job */
};

/* Use an open card, which stays the caller's. Reports -EIO. */
int control_jobs_init(struct control_jobs *j, const struct control_ops *ops, void *card,
                      bool shared);

/* Access a register of any offset on behalf of a peer. Return 0; 1: no such register, or this peer
 * may not access it; -EIO, reported: the card does not answer. */
int control_jobs_read(struct control_jobs *j, int peer, uint64_t at, uint32_t *value);
int control_jobs_write(struct control_jobs *j, int peer, uint64_t at, uint32_t value);

/* Stop all jobs of a peer. Reports -EIO. */
int control_jobs_end(struct control_jobs *j, int peer);

/* Return the running jobs, and whether a job of this peer is running. */
int control_jobs_running(const struct control_jobs *j);
bool control_jobs_owned(const struct control_jobs *j, int peer);

#endif
