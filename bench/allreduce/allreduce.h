/* allreduce.h : declares what the files of bench_allreduce share. */
#ifndef ALLREDUCE_H
#define ALLREDUCE_H
#include "allreduce_peer.h"
#include "base/opt/opt.h"
#include "job/job.h"

enum { MAX_REPS = 1000 };

struct options {
    const char *algo, *format, *out_format, *scale, *sum, *sizes, *mpi, *label, *offload, *fabric,
        *layers;
    int64_t factor, reps, warmup, rest_ms, slots, virtual_ranks;
    bool json, fused;
};
extern const struct opt_command allreduce_command;

/* ---- data ---- */

/* An element is +-1 on none, one or two ranks, or +1 and -1 on two. Every partial sum is therefore
 * 0, +-1 or +-2, exact in every format and order. */
float data_of(uint64_t i, int rank, int n_ranks);

/* own[n]: this rank's addends; want[n]: the sums. */
void data_fill(float *own, float *want, size_t n, int rank, int n_ranks);
uint64_t data_wrong(const float *x, const float *want, size_t n, float divisor);

/* ---- cost on cards ---- */

struct through_card {
    struct offload *offload;      /* NULL: MPI */
    struct card_path_count start; /* before the counted runs */
    struct fpga_time start_time;  /* of all cards */
};

/* Means per run; packets and resent are this rank's, clocks those of the busiest card. */
struct card_cost {
    double packets, resent, clocks, line_s;
};

/* Refuse a job without its cards. Collective. Returns 0, or -EIO after rank 0 has reported an
 * error. */
int card_check(struct through_card *c, const struct job *job);
/* Report -EIO if the step of a job with cards did not come through them. */
int card_check_step(const struct job *job, const struct reducer_step *step);
void card_begin(struct through_card *c, bool asks);
struct card_cost card_cost_of(const struct through_card *c, bool asks, double runs);

/* ---- a row: MPI's fp32, or a job ---- */

enum { NAME_BYTES = 24 };

struct contender {
    char algo[PEER_NAME_BYTES + 8], type[2 * NAME_BYTES];
    const struct peer *peer; /* MPI's; NULL: a job */
    char format[NAME_BYTES], out[NAME_BYTES];
    struct job_spec spec;
    struct job job; /* open while a size is measured */
    struct through_card card;
    double seconds[MAX_REPS], codec_s[MAX_REPS]; /* this rank's, by run */
    uint64_t wrong, wire_bytes, port_bytes;
};

struct row {
    const char *algo, *type; /* "direct", "e3m0/e4m3"; for MPI "mpi:ring", "fp32" */
    uint64_t bytes;          /* user's fp32 bytes, for algbw */
    int n_ranks;
    double time_s, p99_s; /* over runs, slowest rank */
    double codec_s;       /* casting, slowest rank; 0 for MPI */
    double base_s;        /* time_s of MPI's fp32 */
    uint64_t wrong;       /* elements on all ranks, in the worst run */
    /* payload of the rank that sends most; for MPI, that of a ring */
    uint64_t wire_bytes;
    /* bytes that left the busiest host's interfaces, with headers; 0 within one host */
    uint64_t port_bytes;
    bool by_card;
    struct card_cost cost; /* offload: means per run */
};

/* Sorts x[n]. */
void row_times(double *x, size_t n, double *median, double *p99);
void row_head(bool cards);
void row_print(const struct row *r, bool cards);
int row_json(const struct row *r, const char *label);

/* ---- --layers ---- */

enum { LAYERS_MAX = 16 };

struct layers {
    const struct options *o;
    size_t n[LAYERS_MAX], all, longest;
    int n_layers;
};

/* Parse "N,N,...". Returns 0, or -EINVAL after reporting an error. */
int layers_read(const char *text, struct layers *l);
/* wrong: increased by the wrong elements of all ranks. */
int layers_run(const struct options *o, struct comm *comm, const struct layers *l,
               struct contender *list, int n, uint64_t *wrong);

#endif
