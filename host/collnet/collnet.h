/* collnet.h : a plugin for NCCL whose sums are added by a card in the network: what its files share.
 *
 *     NCCL --ncclCollNetPlugin_vN--> collnet_tables.c --> collnet_comm.c: a group of ranks, its queue and thread
 *                                                              | one request after the other
 *                                                         collnet_sum.c: codes --card--> sums; by the mesh, if not
 *     NCCL --ncclNetPlugin_vN------> net_tables.c ------> net_socket.c: NCCL's other messages, over TCP */
#ifndef COLLNET_H
#define COLLNET_H
#include "base/err.h"
#include "collnet/nccl_abi.h"
#include "comm/comm.h"

#define COLLNET_NAME "narrowcast"

/* ---- collnet_words.c: what the environment asks for, and where lines go ---- */

struct collnet_words {
    const char *cards; /* NARROWCAST_OFFLOAD: udp://HOST:PORT,... or eth:// */
    /* of fp32, fp16 and bf16 while they travel; NULL: these are not taken */
    const char *format;
    const char *scale, *round, *out_format; /* NULL: as narrowcast.h has them */
    double deadline_s;
};

/* NCCL begins, with its own log; as often as it likes. A line says why nothing is offered. */
void collnet_begin(nccl_log *log);

/* NULL: nothing is offered. */
const struct collnet_words *collnet_words(void);

/* Lines of a thread that has err_turn() of these go to NCCL's log. */
struct err_lines collnet_lines(void);

/* A line for who asks NCCL for more than warnings (NCCL_DEBUG=INFO). */
void collnet_inform(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What NCCL is told of a negative errno. */
int collnet_result(int rc);

/* ---- collnet_nic.c: the network card by which this host reaches the first card that adds ---- */

/* By the address that packets to ip:port leave from. Returns 0 or a negative errno with a line. */
int collnet_find_nic(uint32_t ip, uint16_t port);
uint32_t collnet_ip(void);

/* It, as each version of NCCL has it described. */
int collnet_nic_v6(int dev, struct nic_v6 *out);
int collnet_nic_v7(int dev, struct nic_v7 *out);
int collnet_nic_v8(int dev, struct nic_v8 *out);
int collnet_nic_v9(int dev, struct nic_v9 *out); /* and v10 */
int collnet_nic_v11(int dev, struct nic_v11 *out);
int collnet_nic_v12(int dev, struct nic_v12 *out);

/* ---- collnet_sum.c: sums of one codec ---- */

/* How elements travel. */
enum collnet_kind { COLLNET_WORDS, COLLNET_E4M3FN, COLLNET_E5M2, COLLNET_KINDS };

/* Elements of NCCL's type: their bytes; 0: they are not taken. *kind: how they travel. */
size_t collnet_type(int type, enum collnet_kind *kind);

/* Can a card add them? Returns 0, or a negative errno with a line. */
int collnet_check(const struct collnet_words *w, enum collnet_kind kind);

struct collnet_sum;

/* All ranks; a line by one of them. needs_card: fails with -ENOTCONN if no card answers; else sums
 * are made by messages until one does. */
int collnet_sum_open(struct comm *c, const struct collnet_words *w, enum collnet_kind kind,
                     bool needs_card, struct collnet_sum **out);
void collnet_sum_close(struct collnet_sum *s);

/* So far: all-reduces, and those among them of which every bit came from a card. */
struct collnet_count {
    uint64_t sums, by_card;
};
struct collnet_count collnet_sum_counted(const struct collnet_sum *s);

/* recv [n] = the sum over ranks of send [n], of NCCL's type, whose kind is the sum's; they may be the same
 * memory. All ranks. Returns 0, or a negative errno after which the communicator has failed. */
int collnet_sum_run(struct collnet_sum *s, int type, const void *send, void *recv, size_t n);

/* ---- collnet_comm.c: a group of ranks ---- */

/* Slots of NCCL's tables. */
int collnet_devices(int *n);
int collnet_listen(int dev, void *handle, void **listening);
int collnet_connect(void *handles[], int n_ranks, int rank, void *listening, void **comm);
int collnet_takes(int type, int op, int *yes);
int collnet_allreduce(void *comm, void *send, void *recv, size_t n, int type, int op,
                      void **request);
int collnet_test(void *request, int *done, int *bytes);
int collnet_close(void *comm);
int collnet_close_listen(void *listening);

/* Both tables': a context is nothing; memory of the host needs no preparation. */
int collnet_finalize(void *context);
int collnet_register(void *comm, void *data, size_t bytes, int kind, void **mr);
int collnet_register_dma_buf(void *comm, void *data, size_t bytes, int kind, uint64_t at, int fd,
                             void **mr);
int collnet_deregister(void *comm, void *mr);

/* ---- net_socket.c: slots of the other table ---- */

int net_listen(int dev, void *handle, void **listening);
int net_connect_to(void *handle, void **comm);
int net_accept_from(void *listening, void **comm);
int net_isend(void *comm, void *data, size_t bytes, void **request);
int net_irecv(void *comm, void *data, size_t bytes, void **request);
int net_test(void *request, int *done, int *bytes);
int net_close(void *comm);
int net_close_listen(void *listening);

#endif
