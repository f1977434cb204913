/* fpga_job.h : Registers a job on a card: a free index, a free range of slots, a key and
 * the ranks' addresses. Used by rank 0. */
#ifndef FPGA_JOB_H
#define FPGA_JOB_H
#include "offload/card/fpga.h"
#include "offload/window/frame.h"

struct fpga_caps {
    /* ranks: limit per job. beats: limit of a frame's payload. */
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

/* Reads the card's capabilities and checks that it can add codes as `fit` describes. Returns 0,
 * or a negative errno with the reason in card->why. */
int fpga_job_caps(struct fpga *card, const struct card_fit *fit, int n_ranks,
                  struct fpga_caps *caps, double timeout_s);

/* Starts a job with a new key. most_slots, a power of two, is the number of consecutive slots
 * wanted. If they are not free, tries half as many, then half of that, down to 8. 0 means 64,
 * but on a shared card at most half of its free slots (the job with the last free index may use
 * all). Retries until timeout_s while another job is being stopped. Returns 0, -EBUSY if no
 * index or too few slots are free, or another negative errno, with the reason in card->why. */
int fpga_job_start(struct fpga *card, const struct fpga_caps *caps, const struct card_fit *fit,
                   const struct fpga_rank *ranks, int n_ranks, uint32_t most_slots,
                   double timeout_s, struct fpga_job *out);

/* Like fpga_job_start(), but the job's sums go once to a multicast group. If group is NULL, they
 * go to each rank. The caller must have checked caps->groups. */
int fpga_job_start_group(struct fpga *card, const struct fpga_caps *caps,
                         const struct card_fit *fit, const struct fpga_rank *ranks, int n_ranks,
                         uint32_t most_slots, const struct fpga_rank *group, double timeout_s,
                         struct fpga_job *out);

/* Ends the job and retires its key. Returns 0, or a negative errno if the card is gone. */
int fpga_job_stop(struct fpga *card, const struct fpga_job *job, double timeout_s);

/* Returns 1 if a frame with a rank's key came from an address that was not registered for
 * the rank. *rank and *from are the latest such rank and its address. Returns 0 if no
 * such frame came, or a negative errno. */
int fpga_job_seen(struct fpga *card, const struct fpga_job *job, double timeout_s, uint32_t *rank,
                  struct fpga_rank *from);

#endif
