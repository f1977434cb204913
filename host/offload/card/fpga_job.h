/* fpga_job.h : Registers a job on a card: a free index, a free range of slots, a key, the ranks'
 * addresses. Used by rank 0. */
#ifndef FPGA_JOB_H
#define FPGA_JOB_H
#include "offload/card/fpga.h"
#include "offload/window/frame.h"

struct fpga_caps {
    /* ranks: per job; beats: of a frame's payload */
    uint32_t slots, jobs, ranks, beats;
    bool groups; /* results may go to a multicast group */
};

struct fpga_rank {
    uint32_t ip;
    uint16_t port;
};

struct fpga_job {
    uint64_t key;
    uint32_t index, slot_base, slots;
};

/* Reads the card's capabilities and checks that it can add codes of this kind. Returns 0, or a
 * negative errno with card->why. */
int fpga_job_caps(struct fpga *card, const struct card_fit *fit, int n_ranks,
                  struct fpga_caps *caps, double timeout_s);

/* Starts a job with a new key. most_slots (a power of two): slots wanted in one piece; if they are
 * not free, half of that is tried, down to 8. 0: 64, but on a shared card at most half of its free
 * slots, unless its last free index is used. Retries until timeout_s while another job is being
 * stopped. Returns 0, -EBUSY (no index or slots are free) or another negative errno, with
 * card->why. */
int fpga_job_start(struct fpga *card, const struct fpga_caps *caps, const struct card_fit *fit,
                   const struct fpga_rank *ranks, int n_ranks, uint32_t most_slots,
                   double timeout_s, struct fpga_job *out);

/* Does the same for a job whose sums go once to a group instead of to each rank. group NULL: to
 * each. The caller must have checked caps->groups. */
int fpga_job_start_group(struct fpga *card, const struct fpga_caps *caps,
                         const struct card_fit *fit, const struct fpga_rank *ranks, int n_ranks,
                         uint32_t most_slots, const struct fpga_rank *group, double timeout_s,
                         struct fpga_job *out);

/* Ends the job and retires its key. Returns 0, or a negative errno: the card is gone. */
int fpga_job_stop(struct fpga *card, const struct fpga_job *job, double timeout_s);

/* Returns 1 if a frame with a rank's key came from another address than the registered one, with
 * the latest such rank and its source; 0 if none did; or a negative errno. */
int fpga_job_seen(struct fpga *card, const struct fpga_job *job, double timeout_s, uint32_t *rank,
                  struct fpga_rank *from);

#endif
