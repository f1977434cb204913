/* over_ranks.h : ranks of a job over a transport of their own (examples/sockets.h), each a process of the
 * test's. */
#ifndef OVER_RANKS_H
#define OVER_RANKS_H
#include "check.h"
#include "tests/examples/sockets.h"
#include <stdio.h>
#include <sys/wait.h>

enum { OVER_MOST = 8 };

/* Runs body on so many ranks. It returns what the rank exits with; its CHECKs count, too. A rank that is
 * killed is none that failed. Returns the ranks that did. */
static inline int over_run(int n_ranks, int (*body)(const struct nc_transport *t, void *ctx),
                           void *ctx)
{
    int fd[OVER_MOST][OVER_MOST], failed = 0, status;
    for (int a = 0; a < n_ranks; a++)
        for (int b = 0; b < a; b++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
                return n_ranks;
            fd[a][b] = pair[0], fd[b][a] = pair[1];
        }
    fflush(NULL);
    for (int r = 0; r < n_ranks; r++) {
        struct sockets sockets;
        if (fork() > 0)
            continue;
        check_bad = 0;
        for (int a = 0; a < n_ranks; a++) /* a rank that ends is seen to have ended */
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
