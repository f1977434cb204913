/* fpga_job.h : a job on a card: a free index, a free range of slots, a key, the ranks' addresses.
 * Rank 0 registers it. */
#ifndef FPGA_JOB_H
#define FPGA_JOB_H
#include "offload/card/fpga.h"
#include "offload/window/frame.h"

struct fpga_caps {
    uint32_t slots, jobs, ranks, beats; /* ranks: of a job; beats: of a frame's payload */
    bool groups;                        /* results may go to a group */
};

struct fpga_rank {
    uint32_t ip;
    uint16_t port;
};

struct fpga_job {
    uint64_t key;
    uint32_t index, slot_base, slots;
};

/* What the card is, and whether it is one for sums of this kind. Returns 0 or a negative errno, the
 * reason in card->why. */
int fpga_job_caps(struct fpga *card, const struct card_fit *fit, int n_ranks,
                  struct fpga_caps *caps, double timeout_s);

/* Starts a job with a new key: most_slots (a power of two) if they are free in one piece, else half
 * of that, down to 8; 0: 64, and no more than a shared card has left for others then. Tries until
 * timeout_s while another job is being stopped. Returns 0, -EBUSY (no index or slots are free), or
 * another negative errno; the reason in card->why. */
int fpga_job_start(struct fpga *card, const struct fpga_caps *caps, const struct card_fit *fit,
                   const struct fpga_rank *ranks, int n_ranks, uint32_t most_slots,
                   double timeout_s, struct fpga_job *out);

/* The same for a job whose sums go to a group, once, in place of once to each rank; group NULL: to each. caps->groups
 * is the caller's to look at. */
int fpga_job_start_group(struct fpga *card, const struct fpga_caps *caps,
                         const struct card_fit *fit, const struct fpga_rank *ranks, int n_ranks,
                         uint32_t most_slots, const struct fpga_rank *group, double timeout_s,
                         struct fpga_job *out);

/* Retires the key. Returns 0, or a negative errno: the card is gone. */
int fpga_job_stop(struct fpga *card, const struct fpga_job *job, double timeout_s);

/* Did a frame with a rank's key come from elsewhere than that rank's registered address? 1 with the
 * latest such rank and where it came from, 0, or a negative errno. */
int fpga_job_seen(struct fpga *card, const struct fpga_job *job, double timeout_s, uint32_t *rank,
                  struct fpga_rank *from);

#endif
