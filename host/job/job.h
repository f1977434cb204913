/* job.h : opens the all-reduce of a run's gradients from option specs (figure: README.md). All
 * ranks make each call, which ends in comm_agree(). A process may have several jobs. */
#ifndef JOB_H
#define JOB_H
#include "base/text.h"
#include "comm/algo/algo.h"
#include "job/node_sum.h"
#include "offload/offload.h"
#include "reduce/reducer.h"

enum job_if { JOB_NO, JOB_YES, JOB_AUTO };

/* Reduce-scatters instead of all-reduces, and all-gathers of weights (job_shard.c). */
struct job_shard {
    bool on;
    bool rounded;        /* means in the result's format, not unrounded fp32 */
    bool releases;       /* of reducer_spec */
    const size_t *range; /* [P] elements of each rank, used until job_open(); NULL: equal ones */
    struct gather_format gather;
};

/* Specs as in `narrowcast train --help`. Ranks may spell an option differently, but must mean the
 * same. */
struct job_spec {
    struct codec_spec codec;
    const char *quantise; /* large or all; NULL or auto: the codec's default */
    uint64_t seed;        /* for stochastic rounding */
    const char *algo;     /* from algos.def, offload or auto; NULL means auto */
    bool sums;            /* sums over ranks, not means */
    struct job_shard shard;
    enum job_if gpu; /* gradients on GPUs; JOB_AUTO: if every rank has one */
    /* With JOB_AUTO: use GPUs only if every rank's GPU library can also run networks. */
    bool layers;
    bool halves;         /* on GPUs: gradients, weights and results are IEEE halves */
    enum job_if overlap; /* reducer_set_overlap(); JOB_AUTO: only on GPUs */
    size_t bucket_bytes; /* 0: 1 MiB, on GPUs 8 MiB */
    /* cards.where: udp://..., sim, off, or auto (NARROWCAST_OFFLOAD); NULL: off */
    struct offload_options cards;
    /* xrt, xrt:BDF: a card in rank 0's machine adds; NULL, cpu: the ranks add */
    const char *node_sum;
    /* Use no cards; exact sums have the cards' bits. */
    bool emulated;
    /* Virtual ranks only: reducer_spec.low; the caller must call reducer_share(). */
    bool low_memory;
};

struct job {
    struct comm *comm;  /* owned by the caller; must outlive the job */
    struct codec codec; /* settled */
    /* Checksum of the specs' meaning. Equal tags make equal bits from equal gradients. */
    uint32_t tag;
    bool leaves_small; /* small layers travel in fp32 */
    struct job_shard shard;
    const struct algo *algo; /* for gradients that cards do not add */
    int group;
    /* the user named no algorithm: job_open() may choose gather-sum or group-scatter */
    bool chooses;
    int near; /* so many near ranks should add their codes first; or 0 */
    bool on_gpu, overlap;
    bool shares_gpus; /* some ranks use one GPU */
    /* With a GPU: the algorithm and how it carries codes. Else why there is no GPU, or "" if none
     * was requested or another rank knows why. */
    char device[256];
    size_t bucket_bytes;
    /* where: NULL without cards. The caller's strings are used until job_open(). */
    struct offload_options cards;
    const char *node_word; /* the caller's string, or NULL */
    /* reason for not using the cards that the environment names, or "" */
    char no_cards[160];
    bool low_memory;
    struct reducer *reducer;
    struct offload *offload; /* NULL without cards */
    struct node_sum *node;   /* NULL unless requested */
};

/* Parse the specs and settle the codec. After success *out must be closed. Reports -EINVAL (specs
 * or combinations), -EPROTO (ranks differ), -EIO, or an error of gpu_open(). */
int job_settle(struct comm *c, const struct job_spec *spec, struct job *out);

/* The memory that job_open() will allocate on each rank. No communication. */
int job_measure(const struct job *job, const struct reducer_layer *layers, int n_layers,
                struct reducer_bytes *out);

/* layers: [n_layers], in forward order. After a failure the caller must still call job_close(). */
int job_open(struct job *job, const struct reducer_layer *layers, int n_layers);

/* Release everything and zero *job. A zeroed job is legal. */
void job_close(struct job *job);

/* Append the algorithm's name, with ":K" if it has groups. */
void job_algo(const struct job *job, struct text *to);

/* On rank 0 of an open job, append how gradients travel and why; nothing if the algorithm's name
 * says it. */
void job_path(struct job *job, struct text *to);

/* ---- job_shard.c: reduce-scatters ---- */

/* Parse no (NULL), fp32 or rounded, and the format of all-gathers. Reports -EINVAL. */
int shard_parse(const char *word, const char *gather, struct job_shard *out);

/* Replace `direct` by algo_scatter if shard.on. Reports -EINVAL for other algorithms, cards and
 * options without effect. */
int shard_settle(const struct job_spec *spec, const struct algo **algo, const char **cards);

/* Append a line "name=value\n" of what ranks must have in common; nothing for all-reduces. */
void shard_describe(const struct job_shard *shard, int n_ranks, struct text *to);

/* Return the elements of a rank's equal range of n: ceil(n/P) for the first ranks, then the rest,
 * then none. */
size_t shard_equal(size_t n, int n_ranks, int rank);

/* Open job->reducer by job->shard, and prepare its all-gathers. */
int shard_reducer(struct job *job, struct reducer_spec spec);

/* ---- GPUs ---- */

/* Open a GPU per rank if wanted, and choose the algorithm and vec_ops that carry codes between
 * GPUs. layers: as in job_spec. Sets job->on_gpu, job->shares_gpus and job->device. All ranks call
 * it after parsing equal specs. Returns as job_settle(). */
int job_gpu(struct job *job, enum job_if wanted, bool layers);

/* ---- quantise.c: layers too small to benefit from the codec ---- */

/* word: all, large or auto; NULL or auto: the codec's default. Reports -EINVAL. */
int quantise_parse(const char *word, const struct codec *codec, bool *leaves_small);

/* Let the smallest layers, together less than 1 % of all elements, travel in fp32. Reports
 * -ENOMEM. */
int quantise_leave_small(struct reducer_layer *layers, int n_layers);

#endif
