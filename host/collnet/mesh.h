/* mesh.h : ranks that find each other by what NCCL hands around, and reach each other over TCP: a transport
 * (struct nc_transport) for all that does not go through a card.
 *
 *     mesh_listen      a socket, and a handle that says where it is and how to prove that one was told
 *     NCCL hands every rank all handles
 *     mesh_meet        a connection to each: a rank calls those below it, is called by those above
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

/* ip: an address of this host. Returns 0 or a negative errno with a line. */
int mesh_listen(uint32_t ip, struct mesh_listen *out);
void mesh_unlisten(struct mesh_listen *l);

struct mesh {
    int rank, n_ranks;
    struct stream *streams; /* [n_ranks]; its own has no socket */
    atomic_bool cut;        /* any thread may set it: no message will move any more */
};

/* handles [n_ranks]: of mesh_listen() of every rank; own: this one's. All ranks call it. Waits until all are
 * connected, deadline_s at most. m: all zero. Returns 0 or a negative errno with a line: -EINVAL (handles), -ETIMEDOUT,
 * -ENOMEM, that of a socket. */
int mesh_meet(const struct mesh_listen *own, void *const *handles, int n_ranks, int rank,
              double deadline_s, struct mesh *m);
void mesh_close(struct mesh *m);

/* m stays where it is until the last call. */
struct nc_transport mesh_transport(struct mesh *m);

#endif
