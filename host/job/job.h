/* job.h : opens the all-reduce of a run's gradients from option specs.
 *
 * The only place where specs become a codec, an algorithm, a transport
 * between GPUs, cards and a reducer:
 *
 *   job_settle   specs -> their meaning for these ranks, the same on all of them; takes a GPU
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

/* Specs as in `narrowcast train --help`. Ranks may spell an option
 * differently if it means the same. */
struct job_words {
    struct codec_words codec;
    const char *quantise; /* large, all; NULL, auto: the codec's default */
    uint64_t seed;        /* for stochastic rounding */
    const char *algo;     /* from algos.def, offload or auto; NULL: auto */
    bool sums;            /* gradients become sums over ranks, not means */
    enum job_if gpu;      /* gradients on GPUs; JOB_AUTO: if every rank has one */
    bool halves;          /* on GPUs: gradients, weights and results are IEEE halves */
    enum job_if overlap;  /* reducer_set_overlap(); JOB_AUTO: if on GPUs */
    size_t bucket_bytes;
    /* cards.where: udp://..., sim, off, or auto (NARROWCAST_OFFLOAD); NULL: off */
    struct offload_options cards;
    const char *node_sum; /* xrt, xrt:BDF: a card in rank 0's machine adds; NULL, cpu: none */
    /* virtual ranks only: reducer_open_low(); the caller calls reducer_share() */
    bool low_memory;
};

struct job {
    /* The caller's; outlives the job. Virtual ranks use no cards, whatever the specs: their
     * exact sums have the cards' bits. */
    struct comm *comm;
    struct codec codec; /* settled */
    /* checksum of the specs' meaning: equal tags give equal bits from equal gradients */
    uint32_t tag;
    bool leaves_small;       /* small layers travel in fp32 */
    const struct algo *algo; /* for gradients that do not go through cards */
    int group;
    bool chooses; /* no algorithm was named: job_open() may replace it for short steps */
    bool on_gpu, overlap;
    /* on GPUs: transport of codes; else the reason why there are none ("":
     * not asked, or on other ranks) */
    char device[256];
    size_t bucket_bytes;
    /* where: NULL: none. Strings of the caller, used until job_open() */
    struct offload_options cards;
    const char *node_word; /* the same */
    char no_cards[160];    /* why no card, although the environment names some; else "" */
    bool low_memory;
    struct reducer *reducer;
    struct offload *offload; /* NULL: none */
    struct node_sum *node;   /* NULL: not requested */
};

/* Resolve the specs. *out must be closed by job_close() if 0 is returned. Reports -EINVAL (specs or
 * combinations), -EPROTO (ranks differ), -EIO, or an error of gpu_open(). */
int job_settle(struct comm *c, const struct job_words *words, struct job *out);

/* Return the memory that job_open() will take on each rank. Needs no other rank. */
int job_measure(const struct job *job, const struct reducer_layer *layers, int n_layers,
                struct reducer_bytes *out);

/* Open the reducer and the cards. layers [n_layers], in forward order. After a failure the
 * caller still calls job_close(). */
int job_open(struct job *job, const struct reducer_layer *layers, int n_layers);

/* Release everything and zero *job. A zeroed job is legal. */
void job_close(struct job *job);

/* Append, on rank 0 of an open job, the path of gradients and its reason; nothing
 * if the algorithm says it all. */
void job_path(struct job *job, struct text *to);

/* ---- GPUs ---- */

/* Take a GPU for each rank if wanted, and choose the algorithm and the codec's vec_ops for the
 * transport of codes between GPUs. Sets job->on_gpu and job->device. All ranks call it after
 * parsing equal specs. Returns as job_settle(). */
int job_gpu(struct job *job, enum job_if wanted);

/* ---- --quantise: layers that are too small for the codec to pay ---- */

/* Parse all, large, or auto (also NULL): the codec's default. Reports -EINVAL. */
int quantise_parse(const char *word, const struct codec *codec, bool *leaves_small);

/* Mark the smallest layers, together less than 1 % of all elements, to travel in fp32. */
void quantise_leave_small(struct reducer_layer *layers, int n_layers);

#endif
