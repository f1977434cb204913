/* narrowcast.h : the mean of gradients over all ranks of an MPI job, sent as narrow floats.
 *
 * A call takes the fp32 gradients of one step, layer by layer, and replaces them by their mean over
 * ranks. On the way they are cast to a format of 2 to 32 bits, with a power-of-two scale for each
 * layer, packed, added, and cast back. With exact sums (the default where the format allows) the
 * result has the same bits for every algorithm, order and run.
 *
 *     #include <narrowcast.h>
 *     #include <stdio.h>
 *
 *     static float weight[784 * 10], bias[10];
 *
 *     int main(void)
 *     {
 *         const struct nc_layer layers[] = {{.name = "fc.weight", .n = 784 * 10},
 *                                           {.name = "fc.bias", .n = 10}};
 *         float *const grads[] = {weight, bias};
 *         struct nc_options options = nc_options_default();
 *         struct nc_report report;
 *         struct nc *nc;
 *         options.format = "e4m3";
 *         options.scale = "aps";
 *         if (nc_open(&options, layers, 2, &nc) < 0)
 *             return 1;
 *         for (int step = 0; step < 100; step++) {
 *             // ... this rank's gradients into weight and bias ...
 *             int rc = nc_allreduce(nc, grads, &report);
 *             if (rc < 0)
 *                 return 1;
 *             if (rc == 1)
 *                 continue;  // inf or nan on some rank: no rank takes this step
 *             // ... an update with the mean gradients ...
 *         }
 *         if (nc_rank(nc) == 0)
 *             printf("%.0f bytes a step\n", (double)report.sent_bytes);
 *         nc_close(nc);
 *         return 0;
 *     }
 *
 *     cc train.c -Ihost/include -Lbuild -Wl,-rpath=$PWD/build -lnarrowcast; host/ranks.sh 4 ./a.out
 *
 * Errors are negative errno values, after one line on stderr by one rank. One thread, the one that
 * opened, makes all calls.
 *
 * A rank that does not come within the deadline ends the whole job, after a line that names it. The
 * deadline counts only while some rank waits inside a call, and not while that rank is itself
 * stopped: what a rank does between calls (validation, a checkpoint) may take as long as it likes
 * if no other waits for it meanwhile, else as long as the deadline, 10 minutes unless set. */
#ifndef NARROWCAST_H
#define NARROWCAST_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NC_VERSION "0.1.0"

/* What the library exports; all else in it is hidden. */
#ifndef NC_API
#define NC_API __attribute__((visibility("default")))
#endif

/* Of the library: equals NC_VERSION of the header it was built with. */
NC_API const char *nc_version(void);

/* Words as in `narrowcast train --help`; NULL takes the default. All ranks must mean the same. */
struct nc_options {
    const char *format;     /* fp32 fp16 bf16 e5m2 e4m3 e4m3fn e3m0 or eXmY */
    const char *scale;      /* none, const:K, aps, aps-tight, quantile */
    const char *sum;        /* auto exact fp32 nearest kahan trunc */
    const char *out_format; /* auto or a format: what the sum travels back in */
    const char *overflow;   /* saturate inf */
    const char *round;      /* nearest stochastic zero */
    /* auto, offload, or one that `narrowcast train --help` lists: direct, ring, group-master:4 */
    const char *algo;
    /* cards that add packets: udp://host:port,..., sim or xrt; off; auto: NARROWCAST_OFFLOAD names
     * them */
    const char *offload;
    size_t bucket_bytes; /* layers are fused into messages of this size; > 0 */
    double deadline_s;   /* a rank that another waits for so long is gone; > 0 */
    uint64_t seed;       /* of stochastic rounding */
    const char *device;  /* where gradients are: cpu, or cuda (below) */
    /* minifloat, which the first six words describe; qsgd:B, onebit[:D|column], ternary,
     * relgrad[:...] */
    const char *codec;
    const char *xclbin; /* of xrt: the card's container; NULL: NARROWCAST_XCLBIN names it */
    /* cpu, or, with algo group-scatter:K of K ranks, xrt: a card in rank 0's machine adds */
    const char *node_sum;
    const char *quantise;   /* large: the smallest layers travel in fp32; all: none; auto */
    const char *acc_format; /* auto, or of partial sums (sum nearest or kahan): e5m2 in e6m9 */
    int rescale; /* not 0: scale aps, sum nearest, algo group-*:K: groups' sums are scaled anew */
};

/* Gradients on GPUs (device "cuda"): every rank takes one, number (rank on its machine) modulo the
 * number it can see, or the only one it can see (CUDA_VISIBLE_DEVICES); ranks may share.
 * nc_allreduce() then takes device pointers into that GPU's memory. What writes them must have
 * ended on the device before the call (cudaStreamSynchronize), and the means stand there when it
 * returns. The library libnarrowcast_cuda.so is loaded at run time: NARROWCAST_CUDA=PATH, or beside
 * the program, or by the loader's path. Bits are those of the CPU. NARROWCAST_GPU_TRANSPORT=nccl,
 * ipc, mpi or pinned says by what codes travel; auto finds the best. */

/* The defaults: every word NULL (offload: off, device: cpu), buckets of 1 MiB, a deadline of 600 s,
 * seed 1. */
NC_API struct nc_options nc_options_default(void);

/* Name the fields ({.name = "fc.bias", .n = 10}), or begin with zeroes: there may be more one day. */
struct nc_layer {
    const char *name; /* for messages; need not outlive nc_open */
    size_t n;         /* elements, > 0 */
    int fp32;         /* not 0: travels in fp32 whatever the format */
    /* For codec onebit:column: a column has so many elements, so far apart, and columns lie side by
     * side in runs of column * stride, of which n is a multiple. A linear layer [out][in]: out and
     * in; a convolution [out][ky][kx][in]: kx and in; [out][in][ky][kx]: kx and 1. Both 0: the
     * layer is one column, as a bias is. */
    size_t column, stride;
    /* For codec relgrad, which looks at layers that are not fp32: [n] what gradients are gradients
     * of, of the same bits on every rank, where gradients are (with "cuda" a device pointer). They
     * are read by each nc_allreduce(), and stay in place until nc_close. NULL: not known */
    const float *weights;
};

struct nc_report {
    uint64_t sent_bytes; /* this rank's, this step */
    uint64_t code_bytes; /* of all packed gradients of this rank */
    uint64_t fp32_bytes; /* 4 an element, to compare with */
    double codec_s;      /* seconds of casting */
    double comm_s;       /* seconds of sending, adding and waiting */
    /* 1: all sums came through cards; 0: some or all by MPI, with the same bits */
    int offload;
};

struct nc;

/* Joins the job (MPI_Init unless the caller has called it) and prepares for steps of these layers,
 * in forward order.
 *   options   NULL for the defaults      layers   [n_layers], the same on every rank
 *   *out   closed by nc_close
 * Every rank returns the same: 0, -EINVAL (words, combinations), -EPROTO (ranks differ), -ENOMEM,
 * -EIO; with "cuda" also -ENODEV, -ENOENT, -ELIBACC, -ELIBBAD (no GPU, or no library that serves
 * it). After a failure it may be called again; MPI goes on, and ends when the process exits if
 * nc_open began it. */
NC_API int nc_open(const struct nc_options *options, const struct nc_layer *layers, int n_layers,
                   struct nc **out);

/* Leaves the job, with all ranks; NULL is legal. The last one calls MPI_Finalize if nc_open called
 * MPI_Init. */
NC_API void nc_close(struct nc *nc);

NC_API int nc_rank(const struct nc *nc);
NC_API int nc_n_ranks(const struct nc *nc);

/* grads: [n_layers] pointers to this rank's gradients (with "cuda": device pointers, in a list that
 * is not), replaced by the mean over ranks. report: NULL if not wanted. Returns 0; 1 when a
 * gradient was inf or nan on some rank: then nothing changed, and the step must not be taken; or a
 * negative errno, after which only nc_close may follow. */
NC_API int nc_allreduce(struct nc *nc, float *const *grads, struct nc_report *report);

/* From now on all layers travel in fp32 (on != 0), or as configured. All ranks call it between the
 * same steps. */
NC_API void nc_force_fp32(struct nc *nc, int on);

#ifdef __cplusplus
}
#endif
#endif
