/* test_nc_fork_mpi.c : ranks fork children after nc_open has started MPI. The children's exits
 * must not end MPI, the job, or a rank's simulated card.
 * usage: test_nc_fork_mpi [OFFLOAD]   sim:c, or another card */
/* RANKS: 1 2 */
#include "nc_fixture.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void quiet(void *arg, int level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static void fork_and_exit(struct nc *nc, const char *when)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        nc_abort(nc, -EIO);
        nc_close(nc);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%s: status %d", when, status);
}

static void steps(struct nc *nc, int by_card, const char *when)
{
    static float x[N_ALL];
    void *list[N_LAYERS];
    struct nc_report report = {0};
    point(x, sizeof *x, list);
    fill_grads(nc_rank(nc), nc_step(nc), x);
    CHECK(nc_allreduce(nc, list, &report) == 0, "%s: %s", when, nc_last_error(nc));
    CHECK(report.offload == by_card, "%s: by %s", when, report.path);
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, &report) == 0, "%s: in parts", when);
    CHECK(report.offload == by_card, "%s: by %s", when, report.path);
}

static int find_card(void)
{
    const char *b = getenv("B") ? getenv("B") : "build", *before = getenv("PATH");
    char path[4096];
    snprintf(path, sizeof path, "%s/narrowcast-sim", b);
    if (access(path, X_OK))
        return 0;
    snprintf(path, sizeof path, "%s:%s", b, before ? before : "");
    return setenv("PATH", path, 1) == 0;
}

static void check_job(struct nc_options o, int by_card, const char *when)
{
    struct nc *nc = NULL;
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    if (!nc)
        return;
    steps(nc, by_card, "before");
    fork_and_exit(nc, when);
    steps(nc, by_card, "after");
    nc_close(nc);
}

int main(int argc, char **argv)
{
    struct nc_options o = nc_options_default();
    struct nc *keep = NULL; /* keeps MPI running */
    o.log = quiet;
    o.format = "e9m9";
    CHECK(nc_open(&o, layers, N_LAYERS, &keep) == -EINVAL, "a wrong word");
    fork_and_exit(NULL, "MPI is begun, and no job is open");
    o.format = "e4m3", o.scale = "aps";
    CHECK(nc_open(&o, layers, N_LAYERS, &keep) == 0, "open: %s", nc_last_error(NULL));
    check_job(o, 0, "over MPI");
    o.offload = argc > 1 ? argv[1] : "sim:c";
    if (find_card())
        check_job(o, 1, "through a card");
    else
        puts("not run: a card (narrowcast-sim was not built)");
    nc_close(keep);
    DONE();
}
