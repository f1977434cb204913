/* mesh.h : Connects ranks over TCP by handles that NCCL distributes, as a `struct nc_transport`.
 *
 * Used for everything that does not pass through a card.
 *
 *     mesh_listen      a socket, and a handle with its address and a secret
 *     NCCL hands every rank all handles
 *     mesh_meet        connects all ranks: a rank connects to those below it, accepts those above
 *     mesh_transport   messages, by one thread at a time
 *     mesh_close */
#ifndef MESH_H
#define MESH_H
#include "collnet/nccl_abi.h"
#include "collnet/stream.h"
#include <narrowcast.h>
#include <stdatomic.h>

struct mesh_handle {
    uint32_t magic, ip; /* 127.0.0.1 is 0x7f000001 */
    uint32_t port, zero;
    uint64_t secret;
};
static_assert(sizeof(struct mesh_handle) <= NCCL_HANDLE_BYTES, "NCCL carries no more");

struct mesh_listen {
    int fd;
    struct mesh_handle handle;
};

/* ip: an address of this host. Returns 0, or a negative errno after printing an error. */
int mesh_listen(uint32_t ip, struct mesh_listen *out);
void mesh_unlisten(struct mesh_listen *l);

struct mesh {
    int rank, n_ranks;
    struct stream *streams; /* [n_ranks]; its own has no socket */
    atomic_bool cut;        /* set by any thread: nothing moves any more */
};

/* Connects all ranks; all call it. handles [n_ranks]: of every rank's mesh_listen(). own: this
 * rank's. m: all zero. Blocks for at most deadline_s. Returns 0, or after printing an error -EINVAL
 * (handles), -ETIMEDOUT, -ENOMEM or a socket's errno. */
int mesh_meet(const struct mesh_listen *own, void *const *handles, int n_ranks, int rank,
              double deadline_s, struct mesh *m);
void mesh_close(struct mesh *m);

/* m must stay in place until the last call. */
struct nc_transport mesh_transport(struct mesh *m);

#endif
