/* test_nc_fault_mpi.c : ends ranks in mid-step, for test_nc_fault.sh. HOW is kill or stop (the
 * last rank, inside nc_wait), abort (by another thread of rank 0), or absent: all end regularly. */
/* RANKS: 2 */
#include "nc_fixture.h"
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static const char *how;
static struct nc *nc;

static void *strike(void *arg)
{
    (void)arg;
    usleep(300000);
    if (!strcmp(how, "abort"))
        nc_abort(nc, -ECANCELED);
    raise(!strcmp(how, "kill") ? SIGKILL : SIGSTOP);
    return NULL;
}

int main(int argc, char **argv)
{
    static float x[N_ALL];
    struct nc_options o = nc_options_default();
    pthread_t thread;
    void *list[N_LAYERS];
    how = argc < 2 || !strcmp(argv[1], "long") ? "none" : argv[1];
    o.deadline_s = 1.5;
    o.bucket_bytes = 300;
    o.threads = 1;
    if (nc_open(&o, layers, N_LAYERS, &nc) < 0)
        return 1;
    const int rank = nc_rank(nc), last = nc_n_ranks(nc) - 1;
    point(x, sizeof *x, list);
    fill_grads(rank, 0, x);
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, NULL) == 0, "a step");
    if (!strcmp(how, "none")) {
        nc_close(nc);
        DONE();
    }
    if (rank == (!strcmp(how, "abort") ? 0 : last))
        pthread_create(&thread, NULL, strike, NULL);
    else if (rank == 1)
        sleep(1);
    CHECK(nc_iallreduce(nc, list) == 0, "a step in which a rank ends");
    (void)nc_wait(nc, NULL);
    sleep(30);
    fprintf(stderr, "rank %d goes on\n", rank);
    return 0;
}
