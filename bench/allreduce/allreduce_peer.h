/* allreduce_peer.h : declares MPI_Allreduce of fp32 with each of Open MPI's algorithms. */
#ifndef ALLREDUCE_PEER_H
#define ALLREDUCE_PEER_H
#include <mpi.h>
#include <stddef.h>

enum { PEERS_MAX = 16, PEER_NAME_BYTES = 40 };

struct peer {
    char name[PEER_NAME_BYTES];
    MPI_Comm comm;
    double seconds; /* per run, when last tried */
    size_t n;       /* elements then; 0: not tried yet */
};

struct peers {
    struct peer peer[PEERS_MAX];
    int n;
};

/* Call before MPI_Init; otherwise coll/tuned ignores the setting. */
void peers_prepare(void);

/* Open a peer for each value of the setting; only: or for this one. p->n is 0 if there is none. */
void peers_open(struct peers *p, const char *only);
void peers_close(struct peers *p);
void peer_run(const struct peer *p, const float *x, float *sum, size_t n);

#endif
