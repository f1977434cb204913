/* mean.c : the mean of gradients over ranks in e4m3, and its bytes; then the same in parts, while
 * gradients are made.
 *
 *     cc mean.c $(pkg-config --cflags --libs narrowcast) -o mean && mpirun -np 4 ./mean */
#include <narrowcast.h>
#include <stdio.h>

enum { N_WEIGHT = 1000, N_BIAS = 10 };

static float weight[N_WEIGHT], bias[N_BIAS];

/* This rank's gradients: 1 on rank 0, 2 on rank 1, ... */
static void make(float *x, int n, int rank)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)(rank + 1);
}

static int check(const float *x, int n, float want)
{
    for (int i = 0; i < n; i++)
        if (x[i] != want) {
            fprintf(stderr, "element %d is %g, not %g\n", i, (double)x[i], (double)want);
            return 1;
        }
    return 0;
}

static int fail(const char *what, int rc, const struct nc *nc)
{
    fprintf(stderr, "%s: %s (%s)\n", what, nc_strerror(rc), nc_last_error(nc));
    return 1;
}

int main(void)
{
    const struct nc_layer layers[] = {{.name = "weight", .n = N_WEIGHT},
                                      {.name = "bias", .n = N_BIAS}};
    float *const grads[] = {weight, bias};
    struct nc_options options = nc_options_default();
    struct nc_report report;
    struct nc *nc;
    options.format = "e4m3";
    options.scale = "aps";
    int rc = nc_open(&options, layers, 2, &nc);
    if (rc < 0)
        return fail("nc_open", rc, NULL);
    const int rank = nc_rank(nc), n_ranks = nc_n_ranks(nc);
    const float mean = (float)(n_ranks + 1) / 2;
    make(weight, N_WEIGHT, rank);
    make(bias, N_BIAS, rank);
    rc = nc_allreduce(nc, grads, &report);
    if (rc != 0)
        return fail("nc_allreduce", rc, nc);
    int bad = check(weight, N_WEIGHT, mean) || check(bias, N_BIAS, mean);

    rc = nc_iallreduce(nc, grads);
    make(bias, N_BIAS, rank); /* the last layer first, as in a backward pass */
    if (rc == 0)
        rc = nc_ready(nc, 1, 1);
    make(weight, N_WEIGHT, rank); /* meanwhile the last one travels */
    if (rc == 0)
        rc = nc_wait(nc, NULL);
    if (rc != 0)
        return fail("a step in parts", rc, nc);
    bad = bad || check(weight, N_WEIGHT, mean) || check(bias, N_BIAS, mean);
    if (rank == 0)
        printf("mean %g of %d ranks, %d bytes of codes, %d in fp32\n", (double)mean, n_ranks,
               (int)report.code_bytes, (int)report.fp32_bytes);
    nc_close(nc);
    return bad;
}
