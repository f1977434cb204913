/* fpga_job.h : registers a job on a card, for rank 0: a free index, free slots, a key and the
 * ranks' addresses. Functions return 0 (on success, unless noted) or a negative errno with
 * card->why. */
#ifndef FPGA_JOB_H
#define FPGA_JOB_H
#include "offload/card/fpga.h"
#include "offload/window/frame.h"

/* Slots of a job by default, and packets in flight to a card. */
enum { FPGA_JOB_SLOTS = 64 };

struct fpga_caps {
    /* limits; ranks: per job; beats: of a frame's payload */
    uint32_t slots, jobs, ranks, beats;
    uint32_t formats; /* CAP_FORMATS */
    bool groups;
};

struct fpga_rank {
    uint32_t ip;
    uint16_t port;
};

struct fpga_job {
    uint64_t key;
    uint32_t index, slot_base, slots;
};

/* Reads capabilities and checks that the card can add codes as `fit` describes. */
int fpga_job_caps(struct fpga *card, const struct card_fit *fit, int n_ranks,
                  struct fpga_caps *caps, double timeout_s);

/* Starts a job with a new key. most_slots: consecutive slots wanted, a power of two; if they are
 * not free, half as many, and so on down to 8. 0: FPGA_JOB_SLOTS, but on a shared card at most half
 * of its free slots (the job with the card's last free index may use all free slots). Retries until
 * timeout_s while another job is being stopped. -EBUSY: no index or too few slots are free. */
int fpga_job_start(struct fpga *card, const struct fpga_caps *caps, const struct card_fit *fit,
                   const struct fpga_rank *ranks, int n_ranks, uint32_t most_slots,
                   double timeout_s, struct fpga_job *out);

/* Like fpga_job_start(), with sums sent once to a multicast group. group NULL: to each rank. The
 * caller has checked caps->groups. */
int fpga_job_start_group(struct fpga *card, const struct fpga_caps *caps,
                         const struct card_fit *fit, const struct fpga_rank *ranks, int n_ranks,
                         uint32_t most_slots, const struct fpga_rank *group, double timeout_s,
                         struct fpga_job *out);

/* Starts exactly *job, which fits the card's limits, with its key. -EBUSY: the card refuses it. */
int fpga_job_start_as(struct fpga *card, const struct fpga_caps *caps, const struct card_fit *fit,
                      const struct fpga_rank *ranks, int n_ranks, const struct fpga_rank *group,
                      double timeout_s, const struct fpga_job *job);

/* Ends the job and retires its key. */
int fpga_job_stop(struct fpga *card, const struct fpga_job *job, double timeout_s);

/* The card remembers the last frame from an address other than the one registered for its rank.
 * Returns 1 if that frame had this job's key; *rank and *from: its rank and source. Else returns
 * 0. */
int fpga_job_seen(struct fpga *card, const struct fpga_job *job, double timeout_s, uint32_t *rank,
                  struct fpga_rank *from);

#endif
