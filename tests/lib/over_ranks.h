/* over_ranks.h : runs ranks, child processes of the test, over their own transport
 * (examples/sockets.h). */
#ifndef OVER_RANKS_H
#define OVER_RANKS_H
#include "check.h"
#include "tests/examples/sockets.h"
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { OVER_MAX = 9 };
static _Atomic int *over_met;

/* Call it once per run. */
static inline void over_meet(int n_ranks)
{
    atomic_fetch_add(over_met, 1);
    for (int ms = 0; ms < 60000 && atomic_load(over_met) < n_ranks; ms++)
        usleep(1000);
}

/* Returns the number of ranks whose body returned nonzero or failed a CHECK, except killed ones. */
static inline int over_run(int n_ranks, int (*body)(const struct nc_transport *t, void *ctx),
                           void *ctx)
{
    int fd[OVER_MAX][OVER_MAX], failed = 0, status;
    for (int a = 0; a < n_ranks; a++)
        for (int b = 0; b < a; b++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
                return n_ranks;
            fd[a][b] = pair[0], fd[b][a] = pair[1];
        }
    if (!over_met)
        over_met =
            mmap(NULL, sizeof *over_met, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (over_met == MAP_FAILED)
        return n_ranks;
    atomic_store(over_met, 0);
    fflush(NULL);
    for (int r = 0; r < n_ranks; r++) {
        struct sockets sockets;
        if (fork() > 0)
            continue;
        check_bad = 0;
        for (int a = 0; a < n_ranks; a++) /* so that a rank's end closes its sockets */
            for (int b = 0; b < n_ranks; b++)
                if (a != r && a != b)
                    close(fd[a][b]);
        if (sockets_open(&sockets, r, n_ranks, fd[r]) < 0)
            _exit(1);
        const struct nc_transport t = sockets_transport(&sockets);
        const int rc = body(&t, ctx);
        sockets_close(&sockets);
        fflush(NULL);
        exit(rc || check_bad);
    }
    for (int a = 0; a < n_ranks; a++)
        for (int b = 0; b < n_ranks; b++)
            if (a != b)
                close(fd[a][b]);
    while (wait(&status) > 0)
        failed += !(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
                  !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return failed;
}

#endif
