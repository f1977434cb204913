/* test_nc_refuse_mpi.c : nc_open refuses with one line and one code on all ranks. Also tests the
 * seed. */
/* RANKS: 1 4 */
#include <mpi.h>
#include <narrowcast.h>
#include "capture.h"
#include "check.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static int rank, n_ranks;
static char said[1024]; /* by the last refused() on this rank */
static const struct nc_layer fine[] = {{.name = "a", .n = 10}, {.name = "b", .n = 20}};

static int lines_of_all(const char *text)
{
    int n = capture_lines(text), sum = 0;
    MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void refused(const struct nc_options *o, const struct nc_layer *layers, int n_layers,
                    int want, const char *what)
{
    struct capture cap;
    struct nc *nc = NULL;
    capture_begin(&cap);
    int rc = nc_open(o, layers, n_layers, &nc);
    capture_end(&cap);
    CHECK(rc == want && (nc != NULL) == (want == 0), "%s: %d", what, rc);
    CHECK(lines_of_all(cap.text) == (want < 0), "%s: said \"%s\"", what, cap.text);
    if (rc == 0)
        nc_close(nc);
    snprintf(said, sizeof said, "%s", cap.text);
}

static struct nc_options with(struct nc_options o)
{
    const struct nc_options d = nc_options_default();
    o.size = d.size;
    o.bucket_bytes = d.bucket_bytes;
    o.deadline_s = d.deadline_s;
    return o;
}

static void refused_words(struct nc_options o, const char *what)
{
    o = with(o);
    refused(&o, fine, 2, -EINVAL, what);
}

static void test_ranks_differ(void)
{
    const bool odd = rank == n_ranks - 1 && n_ranks > 1;
    const int want = n_ranks > 1 ? -EPROTO : 0;
    struct nc_options o = nc_options_default();
    const struct nc_layer other_n[] = {{.n = odd ? 11 : 10}, {.n = 20}},
                          other_fp32[] = {{.n = 10}, {.n = 20, .fp32 = odd}},
                          other_columns[] = {{.n = 10},
                                             {.n = 20, .column = 5, .stride = odd ? 2 : 4}};
    refused(&o, other_n, 2, want, "layer sizes differ");
    refused(&o, other_fp32, 2, want, "fp32 layers differ");
    refused(&o, other_columns, 2, want, "columns differ");
    refused(&o, fine, odd ? 1 : 2, want, "numbers of layers differ");
    o.scale = odd ? "aps" : "none";
    refused(&o, fine, 2, want, "scales differ");
    o = nc_options_default();
    o.bucket_bytes += odd ? 1 : 0;
    refused(&o, fine, 2, want, "bucket sizes differ");
    CHECK(rank > 0 || n_ranks == 1 || strstr(said, "bucket_bytes is '1' on rank 3, '0' on rank 0"),
          "bucket sizes: \"%s\"", said);
    o = nc_options_default();
    o.shard = odd ? "rounded" : "fp32";
    refused(&o, fine, 2, want, "shards differ");
    CHECK(rank > 0 || n_ranks == 1 || strstr(said, "shard is "), "shards: \"%s\"", said);
    o = nc_options_default();
    o.offload = "auto";
    if (odd)
        setenv("NARROWCAST_OFFLOAD", "sim:c", 1);
    refused(&o, fine, 2, want, "cards are named in one rank's environment");
    unsetenv("NARROWCAST_OFFLOAD");
    o.offload = odd ? NULL : "off";
    o.format = odd ? NULL : "e5m2";
    refused(&o, fine, 2, 0, "the defaults by other words");
    o = nc_options_default();
    o.format = odd ? "e9m9" : "e4m3";
    refused(&o, fine, 2, n_ranks > 1 ? -EINVAL : 0, "one rank has a wrong format");
}

static void refused_card(const char *where, const char *algo, int want, const char *what)
{
    struct nc_options o = nc_options_default();
    o.algo = algo;
    o.offload = where;
    refused(&o, fine, 2, want, what);
    o.offload = "auto";
    setenv("NARROWCAST_OFFLOAD", where, 1);
    refused(&o, fine, 2, want, what);
    unsetenv("NARROWCAST_OFFLOAD");
}

static void test_cards(void)
{
    refused_card("udp://no..invalid:4711", NULL, -ENXIO, "an unknown host");
    refused_card("udp://127.0.0.1:9,eth://no..invalid:4711", NULL, -ENXIO,
                 "an unknown host after a dead port");
    refused_card("udp://[::1]:4711", NULL, -EINVAL, "an IPv6 address");
    refused_card("udp://127.0.0.1:9", "offload", -ENOTCONN, "a dead port, needed");
    setenv("NARROWCAST_XCLBIN", "nosuch.xclbin", 1);
    refused_card("xrt", NULL, -EINVAL, "a container that is not there");
    unsetenv("NARROWCAST_XCLBIN");
    struct capture cap;
    struct nc *nc = NULL;
    struct nc_options o = nc_options_default();
    o.offload = "udp://127.0.0.1:9";
    capture_begin(&cap);
    const int rc = nc_open(&o, fine, 2, &nc);
    capture_end(&cap);
    CHECK(rc == 0 && lines_of_all(cap.text) == 1, "a dead port: %d, said \"%s\"", rc, cap.text);
    nc_close(nc);
}

static void mean_with_seed(uint64_t seed, float mean[30])
{
    struct nc_options o = nc_options_default();
    struct nc *nc;
    float *const grads[] = {mean, mean + 10};
    o.round = "stochastic";
    o.seed = seed;
    for (int i = 0; i < 30; i++)
        mean[i] = 1.0f + (float)i / 30;
    CHECK(nc_open(&o, fine, 2, &nc) == 0 && nc_allreduce(nc, grads, NULL) == 0, "seed %d",
          (int)seed);
    nc_close(nc);
}

static void test_seed(void)
{
    float a[30], b[30];
    mean_with_seed(7, a);
    mean_with_seed(7, b);
    CHECK(memcmp(a, b, sizeof a) == 0, "the same seed gives the same bits");
    mean_with_seed(8, b);
    CHECK(memcmp(a, b, sizeof a) != 0, "another seed gives others");
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    refused_words((struct nc_options){.format = "e9m9"}, "format");
    refused_words((struct nc_options){.scale = "const:3"}, "scale");
    refused_words((struct nc_options){.algo = "tree"}, "algorithm");
    refused_words((struct nc_options){.algo = "ring", .sum = "exact"}, "ring adds exactly");
    refused_words((struct nc_options){.acc_format = "e6m9"}, "a format of sums that have none");
    refused_words((struct nc_options){.rescale = 1}, "scaled anew without aps");
    refused_words((struct nc_options){.algo = "group-scatter:3"}, "4 ranks in threes, 1 in threes");
    refused_words((struct nc_options){.algo = "ring", .scale = "aps-tight"},
                  "aps-tight without exact");
    refused_words((struct nc_options){.algo = "native", .format = "e4m3"}, "native e4m3");
    refused_words((struct nc_options){.node_sum = "xrt"}, "a card in a node, and direct");
    refused_words((struct nc_options){.node_sum = "fpga"}, "no card of this name");
    refused_words((struct nc_options){.offload = "udp://nowhere"}, "a card without a port");
    struct nc_options o = nc_options_default();
    refused(&o, fine, 0, -EINVAL, "no layers");
    refused(&o, &(struct nc_layer){.name = "empty"}, 1, -EINVAL, "an empty layer");
    refused(&o, NULL, 2, -EINVAL, "no list of layers");
    const struct nc_layer huge[] = {{.name = "a", .n = (size_t)1 << 40}, {.name = "b", .n = 1}};
    refused(&o, huge, 2, -EINVAL, "layers of more than 2^40 elements");
    refused(&o, &(struct nc_layer){.name = "wraps", .n = SIZE_MAX}, 1, -EINVAL, "sizes that wrap");
    o.size -= sizeof(void *) / 2;
    refused(&o, fine, 2, -EINVAL, "options that end inside a field");
    o = nc_options_default();
    o.deadline_s = 0;
    refused(&o, fine, 2, -EINVAL, "no deadline");
    refused(NULL, fine, 2, 0, "the defaults are fine");
    test_ranks_differ();
    test_cards();
    test_seed();
    MPI_Finalize();
    DONE();
}
