/* allreduce_options.h : defines the options and the help of bench_allreduce. */
#ifndef ALLREDUCE_OPTIONS_H
#define ALLREDUCE_OPTIONS_H
#include "base/opt/opt.h"

enum { MAX_REPS = 1000 };

struct options {
    const char *algo, *format, *out_format, *scale, *sum, *sizes, *mpi, *label, *offload, *fabric,
        *layers;
    int64_t factor, reps, warmup, rest_ms, slots, virtual_ranks;
    bool json, fused;
};

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"algo", "LIST", "direct,ring",
     "Algorithms, as in `narrowcast train --algo`, with commas between.", OPT_TEXT, AT(algo), 0, 0,
     0},
    {"offload", "WHERE", NULL, "Cards for algorithm offload, as in `narrowcast train --offload`.",
     OPT_TEXT, AT(offload), 0, 0, 0},
    {"card-slots", "N", "64", "Slots wanted of each card; two formats share one of 128.", OPT_INT,
     AT(slots), 8, 1024, 0},
    {"fabric", "NAME", NULL, "How packets reach cards, as in `narrowcast train --fabric`.",
     OPT_TEXT, AT(fabric), 0, 0, 0},
    {"format", "LIST", "e5m2",
     "Formats on the wire: FORMAT, or FORMAT/OUT where sums travel back in another one.", OPT_TEXT,
     AT(format), 0, 0, 0},
    {"out-format", "FORMAT", NULL, "Of the sums where --format names none: auto.", OPT_TEXT,
     AT(out_format), 0, 0, 0},
    {"scale", "WORD", NULL, "none, const:K, aps, aps-tight.", OPT_TEXT, AT(scale), 0, 0, 0},
    {"sum", "WORD", NULL, "auto, exact, fp32, nearest, kahan, trunc.", OPT_TEXT, AT(sum), 0, 0, 0},
    {"sizes", "FROM:TO", "1k:256M", "Bytes of fp32 a rank; one size, or a range.", OPT_TEXT,
     AT(sizes), 0, 0, 0},
    {"factor", "N", "4", "From one size to the next.", OPT_INT, AT(factor), 2, 1024, 0},
    {"reps", "N", "20",
     "Runs of everything at each size. With fewer than 100 the p99 is the slowest.", OPT_INT,
     AT(reps), 1, MAX_REPS, 0},
    {"warmup", "N", "2", "Runs before those, not counted.", OPT_INT, AT(warmup), 0, 100, 0},
    {"rest-ms", "N", "0",
     "Of --sizes: milliseconds of rest before each run, as while a step computes: a port that a "
     "token bucket shapes has its burst again.",
     OPT_INT, AT(rest_ms), 0, 10000, 0},
    {"mpi", "WORD", NULL,
     "Compare with this algorithm of Open MPI (ring, rabenseifner, ...), not with the fastest.",
     OPT_TEXT, AT(mpi), 0, 0, 0},
    {"layers", "N,N,...", NULL,
     "Instead of --sizes: layers of so many elements, each in an all-reduce of its own, by fp16 "
     "without a scale and by --format with aps; what of it is the exponents' message. One rank "
     "alone: of virtual ranks, the bytes and messages.",
     OPT_TEXT, AT(layers), 0, 0, 0},
    {"fused", NULL, NULL, "--layers: also all of them in one message (lazy all-reduce).", OPT_FLAG,
     AT(fused), 0, 0, 0},
    {"virtual-ranks", "N", "32", "--layers on one rank: how many.", OPT_INT, AT(virtual_ranks), 2,
     256, 0},
    {"json", NULL, NULL,
     "JSON lines: \"phase\" a row of --layers, \"allreduce\" a row, \"mpi\" a trial of one of "
     "MPI's algorithms.",
     OPT_FLAG, AT(json), 0, 0, 0},
    {"label", "TEXT", NULL, "Stands in every JSON row; for who runs this several times.", OPT_TEXT,
     AT(label), 0, 0, 0},
};
static const struct opt_command command = {
    .name = "bench_allreduce",
    .args = "",
    .about =
        "Times an all-reduce as a user sees it: fp32 gradients in, their fp32 mean out, all casts "
        "included.\n"
        "\n"
        "Columns are those of nccl-tests, in their units; time is that of the slowest rank, the "
        "median over runs.\n"
        "  algbw       fp32 bytes by time\n"
        "  busbw       algbw * 2(P-1)/P\n"
        "  #wrong      elements, on all ranks, that are not the known sum\n"
        "  p99         the 99th percentile of the times\n"
        "  wire_bytes  payload that a rank sends (of MPI, which does not say: that of a ring)\n"
        "  port_bytes  what left the busiest host's interfaces, headers and all (0 within one "
        "host)\n"
        "  ratio       how many times faster than MPI_Allreduce of fp32\n"
        "  packets, resent, cycles, line_us (offload)   of a rank; of the busiest card; those at "
        "its estimated clock\n"
        "  codec_us    spent casting on the slowest rank; with `direct` much of it while codes "
        "travel\n"
        "\n"
        "The first row of a size is MPI_Allreduce of fp32 by the algorithm of Open MPI that is "
        "fastest there: all are\n"
        "tried before (but those that took four times the best one at the size before). All rows "
        "of a size are run in\n"
        "turn.\n",
    .examples =
        "  host/ranks.sh 4 build/bench_allreduce --sizes 1M:64M\n"
        "  host/ranks.sh 4 build/bench_allreduce --algo direct,gather --format e5m2,e3m0/e3m0,fp32 "
        "--scale aps\n"
        "  bench/netlab.sh -n 4 -r 1gbit -- bash -c 'mpirun $NETLAB_MPI -np 4 "
        "build/bench_allreduce --sizes 4M:64M'\n"
        "  host/ranks.sh 4 build/bench_allreduce --layers 1048576,2359296,1048576 --fused\n"
        "  host/ranks.sh 4 build/bench_allreduce --json >build/bench_allreduce.json\n"
        "  FILE=build/bench_allreduce.json gnuplot bench/allreduce/bench_allreduce.gp "
        ">build/bench_allreduce.svg\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};

#endif
