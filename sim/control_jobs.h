/* control_jobs.h : whose job is which on a card that several programs control: what a register may
 * be to whom. Peers are numbers, 0 and up.
 *
 * A job belongs to the peer that committed it; what the card has seen of it is read by that peer
 * alone. It leaves at least as many slots free as it takes, unless its JOB_COMMIT says otherwise
 * (bit 1) or it is the last for which the card has an index. A stop is waited for before it is
 * answered. A shared card (more than one peer) is enabled once and for all, and its losses on
 * purpose are not the peers' to set. */
#ifndef CONTROL_JOBS_H
#define CONTROL_JOBS_H
#include "sim/shell.h"
#include <stdbool.h>

enum { CONTROL_JOBS = 64 };

struct control_jobs {
    const struct shell_ops *ops;
    void *card;
    bool shared;
    uint32_t n_jobs, n_slots;      /* of the card */
    uint32_t job_index, job_slots; /* as these registers were written last */
    int owner[CONTROL_JOBS];       /* a peer, or -1 */
    uint32_t slots[CONTROL_JOBS];  /* of a job that has an owner */
};

/* For a card that is open and stays the caller's. Returns 0 or -EIO with a line. */
int control_jobs_init(struct control_jobs *j, const struct shell_ops *ops, void *card, bool shared);

/* A register of any offset, on behalf of a peer. 0; 1: no such register, or not this peer's to read
 * or write; -EIO with a line: the card does not answer. */
int control_jobs_read(struct control_jobs *j, int peer, uint64_t at, uint32_t *value);
int control_jobs_write(struct control_jobs *j, int peer, uint64_t at, uint32_t value);

/* Stops all jobs of a peer. Returns 0 or -EIO with a line. */
int control_jobs_end(struct control_jobs *j, int peer);

/* Jobs that run. Does one of this peer's? */
int control_jobs_running(const struct control_jobs *j);
bool control_jobs_owned(const struct control_jobs *j, int peer);

#endif
