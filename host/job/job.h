/* job.h : opens the all-reduce of a run's gradients from option specs.
 *
 * This is the only place where specs become a codec, an algorithm, a transport between GPUs, cards
 * and a reducer:
 *
 *   job_settle   specs -> their meaning for these ranks, the same on all of them; opens a GPU
 *   job_open     layers -> the reducer and its cards; then
 *                reducer_run(job.reducer, ...) in each step
 *   job_close    releases everything
 *
 * All ranks make each call. Calls end in comm_agree(): one rank reports a failure, and all return
 * its code. A process may have several jobs. */
#ifndef JOB_H
#define JOB_H
#include "base/text.h"
#include "comm/algo/algo.h"
#include "job/node_sum.h"
#include "offload/offload.h"
#include "reduce/reducer.h"

enum job_if { JOB_NO, JOB_YES, JOB_AUTO };

/* Specs as in `narrowcast train --help`. Ranks may spell an option differently if the meaning
 * is the same. */
struct job_spec {
    struct codec_spec codec;
    const char *quantise; /* large or all; NULL or auto: the codec's default */
    uint64_t seed;        /* for stochastic rounding */
    const char *algo;     /* from algos.def, offload or auto; NULL means auto */
    bool sums;            /* gradients become sums over ranks, not means */
    enum job_if gpu;      /* gradients on GPUs; JOB_AUTO if every rank has one */
    bool halves;          /* on GPUs: gradients, weights and results are IEEE halves */
    enum job_if overlap;  /* reducer_set_overlap(); JOB_AUTO: only on GPUs */
    size_t bucket_bytes;
    /* cards.where: udp://..., sim, off, or auto (NARROWCAST_OFFLOAD). NULL means off. */
    struct offload_options cards;
    /* xrt, xrt:BDF: a card in rank 0's machine adds. NULL, cpu: the ranks add. */
    const char *node_sum;
    /* No cards are used, whatever the specs: exact sums have the cards' bits. */
    bool emulated;
    /* For virtual ranks only: use reducer_open_low(). The caller must call reducer_share(). */
    bool low_memory;
};

struct job {
    struct comm *comm;  /* owned by the caller; must outlive the job */
    struct codec codec; /* settled */
    /* Checksum of the specs' meaning. Jobs with equal tags make equal bits from equal gradients. */
    uint32_t tag;
    bool leaves_small;       /* small layers travel in fp32 */
    const struct algo *algo; /* for gradients that cards do not add */
    int group;
    /* No algorithm was named, so job_open() may replace algo for short steps. */
    bool chooses;
    bool on_gpu, overlap;
    /* If gradients are on GPUs: transport of codes. Otherwise: the reason why there are no GPUs, or
     * "" if they were not requested or another rank has the reason. */
    char device[256];
    size_t bucket_bytes;
    /* where is NULL without cards. Strings belong to the caller and are used until job_open(). */
    struct offload_options cards;
    const char *node_word; /* NULL, or a string of the caller's */
    /* Reason why no card is used although the environment names some, or "". */
    char no_cards[160];
    bool low_memory;
    struct reducer *reducer;
    struct offload *offload; /* NULL without cards */
    struct node_sum *node;   /* NULL unless requested */
};

/* Resolve the specs. If it returns 0, *out must be closed with job_close(). Reports -EINVAL (specs
 * or combinations), -EPROTO (ranks differ), -EIO, or an error of gpu_open(). */
int job_settle(struct comm *c, const struct job_spec *spec, struct job *out);

/* Compute the memory that job_open() will allocate on each rank. Does not communicate. */
int job_measure(const struct job *job, const struct reducer_layer *layers, int n_layers,
                struct reducer_bytes *out);

/* Open the reducer and the cards. layers: [n_layers], in forward order. After a failure the caller
 * must still call job_close(). */
int job_open(struct job *job, const struct reducer_layer *layers, int n_layers);

/* Release everything and zero *job. A zeroed job is legal. */
void job_close(struct job *job);

/* Append, on rank 0 of an open job, the path of gradients and the reason for it. Nothing is
 * appended if the algorithm's name says everything. */
void job_path(struct job *job, struct text *to);

/* ---- GPUs ---- */

/* Open a GPU for each rank if wanted, and choose the algorithm and the codec's vec_ops for the
 * transport of codes between GPUs. Sets job->on_gpu and job->device. All ranks call it after
 * parsing equal specs. Returns the same values as job_settle(). */
int job_gpu(struct job *job, enum job_if wanted);

/* ---- --quantise: layers that are too small to benefit from the codec ---- */

/* Parse all, large or auto. NULL means auto, which is the codec's default. Reports -EINVAL. */
int quantise_parse(const char *word, const struct codec *codec, bool *leaves_small);

/* Mark the smallest layers, which together have less than 1 % of all elements, to
 * travel in fp32. */
void quantise_leave_small(struct reducer_layer *layers, int n_layers);

#endif
