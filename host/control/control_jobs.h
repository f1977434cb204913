/* control_jobs.h : whose job is which on a card that several programs control: what a register may
 * be to whom. Peers are numbers, 0 and up.
 *
 * A job belongs to the peer that committed it; what the card has seen of it is read by that peer
 * alone. It leaves at least as many slots free as it takes, unless its JOB_COMMIT says otherwise
 * (bit 1) or it is the last for which the card has an index. A stop is waited for before it is
 * answered. A shared card (more than one peer) is enabled once and for all, and its losses on
 * purpose are not the peers' to set. None of that binds the peer that has the card on its bus
 * (`host`), but for the jobs of others. */
#ifndef CONTROL_JOBS_H
#define CONTROL_JOBS_H
#include <stdbool.h>
#include <stdint.h>

enum { CONTROL_JOBS = 64 };

/* What a card has done since it was opened. */
struct control_time {
    /* clocks: between beats that are no longer apart than it takes to be sure that nothing more
     * comes; 0: it does not say */
    uint64_t clocks, beats_in, beats_out;
};

/* A card, simulated or real, as those who control it see it. */
struct control_ops {
    /* A register by its byte offset. 0, 1 where the bus answers with an error, -EIO with a line
     * when it does not answer. */
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
    uint32_t job_index, job_slots; /* as these registers were written last */
    int owner[CONTROL_JOBS];       /* a peer, or -1 */
    uint32_t slots[CONTROL_JOBS];  /* of a job that has an owner */
};

/* For a card that is open and stays the caller's. Returns 0 or -EIO with a line. */
int control_jobs_init(struct control_jobs *j, const struct control_ops *ops, void *card,
                      bool shared);

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
