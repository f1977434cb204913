/* mesh.h : connects ranks over TCP with handles from NCCL, as a `struct nc_transport`, for all data
 * that does not pass through a card.
 *
 *     mesh_listen      opens a socket and makes a handle with its address and a secret
 *                      (NCCL then hands all handles to every rank)
 *     mesh_meet        connects all ranks: each connects to those with lower numbers
 *     mesh_transport   sends messages; one thread at a time may use it
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

/* Open a listening socket. ip: an address of this host. Returns 0, or reports a negative errno. */
int mesh_listen(uint32_t ip, struct mesh_listen *out);
void mesh_unlisten(struct mesh_listen *l);

struct mesh {
    int rank, n_ranks;
    struct stream *streams; /* [n_ranks]; this rank's has no socket */
    atomic_bool cut;        /* messages no longer move; any thread may set it */
};

/* Connect all ranks. Collective. handles [n_ranks]: every rank's, of mesh_listen(); own: this
 * rank's. m: all zero. Blocks for at most deadline_s. Returns 0, or reports -EINVAL (wrong
 * handles), -ETIMEDOUT, -ENOMEM or an errno of a socket. */
int mesh_meet(const struct mesh_listen *own, void *const *handles, int n_ranks, int rank,
              double deadline_s, struct mesh *m);
void mesh_close(struct mesh *m);

/* m must not move while the transport is used. */
struct nc_transport mesh_transport(struct mesh *m);

#endif
