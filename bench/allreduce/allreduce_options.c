/* allreduce_options.c : defines the options and the help of bench_allreduce. */
#include "allreduce.h"

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"algo", "LIST", "direct,ring",
     "Algorithms, as in `narrowcast train --algo`, separated by commas; offload-each: offload, but "
     "near ranks do not add first.",
     TEXT_AT(algo)},
    {"offload", "WHERE", NULL,
     "Cards, as in `narrowcast train --offload`, for algorithms offload and offload-each.",
     TEXT_AT(offload)},
    {"card-slots", "N", "64", "Slots to request from each card. Two formats share a card of 128.",
     INT_AT(slots, 8, 1024)},
    {"fabric", "NAME", NULL, "How packets reach cards, as in `narrowcast train --fabric`.",
     TEXT_AT(fabric)},
    {"format", "LIST", "e5m2",
     "Formats: FORMAT, or FORMAT/OUT where sums are sent back in another format.", TEXT_AT(format)},
    {"out-format", "FORMAT", NULL, "Format of the sums where --format names none: auto.",
     TEXT_AT(out_format)},
    {"scale", "WORD", NULL, "none, const:K, aps[:G], aps-tight[:G], quantile[:q=X,...].",
     TEXT_AT(scale)},
    {"sum", "WORD", NULL, "auto, exact, fp32, nearest, kahan, trunc.", TEXT_AT(sum)},
    {"sizes", "FROM:TO", "1k:256M", "Bytes of fp32 per rank: one size or a range.", TEXT_AT(sizes)},
    {"factor", "N", "4", "Factor from one size to the next.", INT_AT(factor, 2, 1024)},
    {"reps", "N", "20", "Runs at each size. With fewer than 100, p99 is the slowest run.",
     INT_AT(reps, 1, MAX_REPS)},
    {"warmup", "N", "2", "Runs before those, which are not counted.", INT_AT(warmup, 0, 100)},
    {"rest-ms", "N", "0",
     "With --sizes: milliseconds of rest before each run, as during the computation of a step. A "
     "port shaped by a token bucket has its burst again after that.",
     INT_AT(rest_ms, 0, 10000)},
    {"mpi", "WORD", NULL,
     "Compare with this algorithm of Open MPI (ring, rabenseifner, ...) instead of the fastest "
     "one.",
     TEXT_AT(mpi)},
    {"layers", "N,N,...", NULL,
     "Instead of --sizes: layers of these numbers of elements, each in an all-reduce of its own, "
     "in fp16 without a scale and in --format with aps. Also prints the share of the message for "
     "the exponents. With only one rank: the bytes and messages of virtual ranks.",
     TEXT_AT(layers)},
    {"fused", NULL, NULL, "With --layers: also send all layers in one message (lazy all-reduce).",
     FLAG_AT(fused)},
    {"virtual-ranks", "N", "32", "With --layers on one rank: number of virtual ranks.",
     INT_AT(virtual_ranks, 2, 256)},
    {"json", NULL, NULL,
     "Print JSON lines: \"phase\" per row of --layers (bytes and rounds of messages, for real "
     "ranks "
     "times in us), \"allreduce\" per row, \"mpi\" per trial of one of MPI's algorithms.",
     FLAG_AT(json)},
    {"label", "TEXT", NULL, "Label to put into every JSON row, to tell several runs apart.",
     TEXT_AT(label)},
};
const struct opt_command allreduce_command = {
    .name = "bench_allreduce",
    .args = "",
    .about = "Times an all-reduce of fp32 gradients to their fp32 mean, including all casts.\n\n"
             "Columns and units are those of nccl-tests. Times are medians over the runs, of the "
             "slowest rank.\n"
             "  algbw       fp32 bytes / time\n"
             "  busbw       algbw * 2(P-1)/P\n"
             "  #wrong      elements on all ranks that differ from the known sum\n"
             "              (the exit status is 1 if there are any)\n"
             "  p99         99th percentile of the times\n"
             "  wire_bytes  payload sent by a rank (MPI does not report it: that of a ring)\n"
             "  port_bytes  bytes that left the busiest host's interfaces, with headers\n"
             "              (0 within one host)\n"
             "  ratio       speed-up over MPI_Allreduce of fp32\n"
             "  packets     sent by a rank (this and the next three only with offload)\n"
             "  resent      packets that a rank sent again\n"
             "  cycles      clocks of the busiest card\n"
             "  line_us     time of those clocks at the card's estimated clock rate\n"
             "  codec_us    time of casts on the slowest rank; with `direct` much of it\n"
             "              overlaps with messages\n\n"
             "The first row of a size is MPI_Allreduce of fp32 by the fastest algorithm of Open "
             "MPI. All its algorithms are tried first, except those that were four times slower "
             "than the best one at the previous size. The rows of a size are measured in turn.\n",
    .examples = "  host/ranks.sh 4 build/bench_allreduce --sizes 1M:64M\n"
                "  host/ranks.sh 4 build/bench_allreduce --algo direct,gather \\\n"
                "      --format e5m2,e3m0/e3m0,fp32 --scale aps\n"
                "  bench/netlab.sh -n 4 -r 1gbit -- bash -c \\\n"
                "      'mpirun $NETLAB_MPI -np 4 build/bench_allreduce --sizes 4M:64M'\n"
                "  host/ranks.sh 4 build/bench_allreduce --layers 1048576,2359296,1048576 --fused\n"
                "  host/ranks.sh 4 build/bench_allreduce --json >build/bench_allreduce.json\n"
                "  FILE=build/bench_allreduce.json gnuplot bench/allreduce/bench_allreduce.gp "
                ">build/bench_allreduce.svg\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};
