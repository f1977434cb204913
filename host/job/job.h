/* job.h : the all-reduce of a run's gradients, opened from words: the one place where these become
 * a codec, an algorithm, a way between GPUs, cards and a reducer.
 *
 *     job_settle   words -> what they mean for these ranks, the same on all of them; a GPU is taken
 *     job_open     layers -> the reducer and the cards it goes by; then reducer_run(job.reducer, ...)
 *     job_close
 *
 * All ranks make each call. It ends in comm_agree(): one rank says what failed, and all get its
 * code. A process may have several jobs. */
#ifndef JOB_H
#define JOB_H
#include "base/text.h"
#include "comm/algo/algo.h"
#include "job/node_sum.h"
#include "offload/offload.h"
#include "reduce/reducer.h"

enum job_if { JOB_NO, JOB_YES, JOB_AUTO };

/* As `narrowcast train --help` has them. What all ranks must mean alike may be said in other words.
 */
struct job_words {
    struct codec_words codec;
    const char *quantise; /* large, all; NULL, auto: as the kind of codec has it */
    uint64_t seed;        /* of stochastic rounding */
    const char *algo;     /* one of algos.def, offload or auto; NULL: auto */
    bool sums;            /* gradients become sums over ranks, not means */
    enum job_if gpu;      /* are gradients on GPUs? JOB_AUTO: if every rank has one */
    bool halves;          /* on GPUs: they and weights are IEEE halves, and come back as such */
    enum job_if overlap;  /* reducer_set_overlap(); JOB_AUTO: if they are on GPUs */
    size_t bucket_bytes;
    /* where: udp://..., sim, off, or auto: what NARROWCAST_OFFLOAD names; NULL: off */
    struct offload_options cards;
    const char *node_sum; /* a card in rank 0's machine adds: xrt, xrt:BDF; NULL, cpu: none does */
    bool low_memory; /* of virtual ranks: reducer_open_low(); reducer_share() is the caller's */
};

struct job {
    /* The caller's; outlives the job. Virtual ranks ask no card, whatever the words: they add as
     * cards do, exactly. */
    struct comm *comm;
    struct codec codec;      /* settled */
    uint32_t tag;            /* of what all ranks mean: the same bits of the same gradients */
    bool leaves_small;       /* small layers travel in fp32 */
    const struct algo *algo; /* of what does not go through cards */
    int group;
    bool chooses; /* nobody has named it: job_open() may take another for short steps */
    bool on_gpu, overlap;
    /* on GPUs: by what codes travel; else why there is none ("": not asked, or of other ranks) */
    char device[256];
    size_t bucket_bytes;
    struct offload_options cards; /* where: NULL: none. Words of the caller, until job_open() */
    const char *node_word;        /* likewise */
    char no_cards[160];           /* why not, though the environment names some; else "" */
    bool low_memory;
    struct reducer *reducer;
    struct offload *offload; /* NULL: none */
    struct node_sum *node;   /* NULL: none asked for */
};

/* out: as job_close() takes it, if 0 is returned. -EINVAL: words or combinations; -EPROTO: ranks
 * differ; -EIO; of a GPU also what gpu_open() returns. */
int job_settle(struct comm *c, const struct job_words *words, struct job *out);

/* What job_open() will take on each rank. One may ask alone. Returns 0 or a negative errno with a
 * line. */
int job_measure(const struct job *job, const struct reducer_layer *layers, int n_layers,
                struct reducer_bytes *out);

/* layers [n_layers], in forward order. After a failure job_close() remains to be called. */
int job_open(struct job *job, const struct reducer_layer *layers, int n_layers);

/* Leaves it all zero; of such a job: nothing. */
void job_close(struct job *job);

/* Of an open job, on rank 0: by which way gradients go, and why, where that is more than the
 * algorithm; else nothing is added. */
void job_path(struct job *job, struct text *to);

/* ---- the GPUs of a job whose gradients are there ---- */

/* All ranks, the words read and the same: takes a GPU for each if they are wanted, and the algorithm
 * and the codec's vec_ops by which codes travel between them; job->on_gpu and job->device say how it
 * came out. Returns as job_settle(). */
int job_gpu(struct job *job, enum job_if wanted);

/* ---- --quantise: which layers travel by the codec, and which are too small to pay for it ---- */

/* all, large, or auto (NULL is the same): as the kind of codec has it. Returns 0 or -EINVAL with a
 * line. */
int quantise_parse(const char *word, const struct codec *codec, bool *leaves_small);

/* Marks the smallest layers that together have less than 1 % of all elements: they travel in
 * fp32. */
void quantise_leave_small(struct reducer_layer *layers, int n_layers);

#endif
