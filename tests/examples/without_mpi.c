/* without_mpi.c : four processes average their gradients without MPI, over their own sockets
 * (sockets.h, nc_open_over()).
 *
 *     cc without_mpi.c $(pkg-config --cflags --libs narrowcast) -o without_mpi && ./without_mpi */
#include "sockets.h"
#include <narrowcast.h>
#include <stdio.h>
#include <sys/wait.h>

enum { RANKS = 4, N = 1000 };

static int rank_of(int rank, const int *fd)
{
    static float weight[N];
    const struct nc_layer layers[] = {{.name = "weight", .n = N}};
    float *const grads[] = {weight};
    struct nc_options options = nc_options_default();
    struct sockets sockets;
    struct nc *nc;
    options.format = "e4m3";
    options.scale = "aps";
    if (sockets_open(&sockets, rank, RANKS, fd) < 0)
        return 1;
    const struct nc_transport transport = sockets_transport(&sockets);
    int rc = nc_open_over(&transport, &options, layers, 1, &nc);
    if (rc < 0) {
        fprintf(stderr, "nc_open_over: %s (%s)\n", nc_strerror(rc), nc_last_error(NULL));
        return 1;
    }
    for (int i = 0; i < N; i++)
        weight[i] = (float)(rank + 1);
    rc = nc_allreduce(nc, grads, NULL);
    if (rc < 0)
        fprintf(stderr, "nc_allreduce: %s (%s)\n", nc_strerror(rc), nc_last_error(nc));
    else if (rank == 0)
        printf("mean %g of %d ranks\n", (double)weight[N - 1], nc_n_ranks(nc));
    fflush(stdout);
    nc_close(nc);
    sockets_close(&sockets);
    return rc < 0;
}

int main(void)
{
    int fd[RANKS][RANKS], bad = 0, status;
    for (int a = 0; a < RANKS; a++)
        for (int b = 0; b < a; b++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
                return 1;
            fd[a][b] = pair[0], fd[b][a] = pair[1];
        }
    for (int r = 0; r < RANKS; r++)
        if (fork() == 0) {
            for (int a = 0; a < RANKS; a++) /* so that a rank's end closes its sockets */
                for (int b = 0; b < RANKS; b++)
                    if (a != r && a != b)
                        close(fd[a][b]);
            _exit(rank_of(r, fd[r]));
        }
    for (int a = 0; a < RANKS; a++)
        for (int b = 0; b < RANKS; b++)
            if (a != b)
                close(fd[a][b]);
    while (wait(&status) > 0)
        bad |= status;
    return bad != 0;
}
