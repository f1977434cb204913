/* collnet.h : Declares what the files of the NCCL plugin share, whose sums a card adds.
 *
 * README.md draws the data path. */
#ifndef COLLNET_H
#define COLLNET_H
#include "base/err.h"
#include "collnet/nccl_abi.h"
#include "comm/comm.h"

#define COLLNET_NAME "narrowcast"

/* ---- collnet_words.c: the options in the environment, and printing ---- */

struct collnet_words {
    const char *cards; /* NARROWCAST_OFFLOAD: udp://HOST:PORT,... or eth:// */
    /* format of fp32, fp16 and bf16 on the network; NULL: these types are refused */
    const char *format;
    const char *scale, *round, *out_format; /* NULL: the default of narrowcast.h */
    double deadline_s;
};

/* Reads the options on the first call; NCCL may call again. log: NCCL's own. Prints the reason if
 * nothing is offered. */
void collnet_begin(nccl_log *log);

/* NULL: nothing is offered. */
const struct collnet_words *collnet_words(void);

/* Errors go to NCCL's log in a thread that has called err_turn() with these. */
struct err_lines collnet_lines(void);

/* Prints a line if NCCL_DEBUG=INFO. */
void collnet_inform(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the NCCL result for a negative errno. */
int collnet_result(int rc);

/* ---- collnet_nic.c: the network interface through which this host reaches the first card ---- */

/* Finds the interface from which packets to ip:port leave. Returns 0, or a negative errno after
 * printing an error. */
int collnet_find_nic(uint32_t ip, uint16_t port);
uint32_t collnet_ip(void);

/* Describe the interface as each version of NCCL wants it. */
int collnet_nic_v6(int dev, struct nic_v6 *out);
int collnet_nic_v7(int dev, struct nic_v7 *out);
int collnet_nic_v8(int dev, struct nic_v8 *out);
int collnet_nic_v9(int dev, struct nic_v9 *out); /* and v10 */
int collnet_nic_v11(int dev, struct nic_v11 *out);
int collnet_nic_v12(int dev, struct nic_v12 *out);

/* ---- collnet_sum.c: sums of one codec ---- */

/* representation of elements on the network */
enum collnet_kind { COLLNET_WORDS, COLLNET_E4M3FN, COLLNET_E5M2, COLLNET_KINDS };

/* Returns the bytes of an element of NCCL's type, 0 if it is refused. *kind: its representation. */
size_t collnet_type(int type, enum collnet_kind *kind);

/* Can a card add them? Returns 0, or a negative errno after printing an error. */
int collnet_check(const struct collnet_words *w, enum collnet_kind kind);

struct collnet_sum;

/* Call on all ranks; one of them prints errors. needs_card: fail with -ENOTCONN if no card answers.
 * Otherwise sums are made by messages until one does. */
int collnet_sum_open(struct comm *c, const struct collnet_words *w, enum collnet_kind kind,
                     bool needs_card, struct collnet_sum **out);
void collnet_sum_close(struct collnet_sum *s);

/* All-reduces so far, and those whose bits all came from a card. */
struct collnet_count {
    uint64_t sums, by_card;
};
struct collnet_count collnet_sum_counted(const struct collnet_sum *s);

/* recv [n] = sum over ranks of send [n]. type: NCCL's, of the sum's kind. recv may be send. Call on
 * all ranks. Returns 0, or a negative errno, after which the communicator has failed. */
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

/* For both tables: contexts are empty, and host memory needs no registration. */
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
