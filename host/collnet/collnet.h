/* collnet.h : declares the functions that the NCCL plugin's files share (figure: README.md). */
#ifndef COLLNET_H
#define COLLNET_H
#include "base/err.h"
#include "collnet/nccl_abi.h"
#include "comm/comm.h"

#define COLLNET_NAME "narrowcast"

/* ---- collnet_spec.c ---- */

struct collnet_spec {
    const char *cards; /* NARROWCAST_OFFLOAD: udp://HOST:PORT,... or eth:// */
    /* of fp32, fp16 and bf16 on the network; NULL: these types are refused */
    const char *format;
    const char *scale, *round, *out_format; /* NULL: narrowcast.h's default */
    double deadline_s;
};

/* Read the options on the first call. log: NCCL's own function. Prints the reason if they allow no
 * device. */
void collnet_begin(nccl_log *log);

/* Return NULL if the plugin offers no device. */
const struct collnet_spec *collnet_spec(void);

/* For err_turn(): prints the thread's errors to NCCL's log. */
struct err_lines collnet_lines(void);

/* Print a line if NCCL_DEBUG=INFO. */
void collnet_inform(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return NCCL's result for a negative errno. */
int collnet_result(int rc);

/* ---- collnet_nic.c: the network interface to the first card ---- */

/* Find the interface from which packets to ip:port leave. Return 0, or report a negative errno. */
int collnet_find_nic(uint32_t ip, uint16_t port);
uint32_t collnet_ip(void);

/* Describe the interface in each version's layout. */
int collnet_nic_v6(int dev, struct nic_v6 *out);
int collnet_nic_v7(int dev, struct nic_v7 *out);
int collnet_nic_v8(int dev, struct nic_v8 *out);
int collnet_nic_v9(int dev, struct nic_v9 *out); /* also for v10 */
int collnet_nic_v11(int dev, struct nic_v11 *out);
int collnet_nic_v12(int dev, struct nic_v12 *out);

/* ---- collnet_sum.c ---- */

/* Elements on the network. COLLNET_WORDS: cast to the format of the options. */
enum collnet_kind { COLLNET_WORDS, COLLNET_E4M3FN, COLLNET_E5M2, COLLNET_KINDS };

/* Return the bytes of an element of NCCL's type, or 0 if it is refused. *kind: how it travels. */
size_t collnet_type(int type, enum collnet_kind *kind);

/* Check that a card can add such codes. Returns 0, or reports a negative errno. */
int collnet_check(const struct collnet_spec *w, enum collnet_kind kind);

struct collnet_sum;

/* Open the sums of one kind. Collective; one rank prints errors. If no card answers, fails with
 * -ENOTCONN if needs_card; otherwise messages make the sums until a card answers. */
int collnet_sum_open(struct comm *c, const struct collnet_spec *w, enum collnet_kind kind,
                     bool needs_card, struct collnet_sum **out);
void collnet_sum_close(struct collnet_sum *s);

/* sums: all-reduces so far. by_card: those with all bits from a card. */
struct collnet_count {
    uint64_t sums, by_card;
};
struct collnet_count collnet_sum_counted(const struct collnet_sum *s);

/* Sum send [n] over ranks into recv [n], which may be the same buffer. type: NCCL's, of the kind of
 * s. Collective. Returns 0, or a negative errno, perhaps on this rank only: then call
 * comm_fail(). */
int collnet_sum_run(struct collnet_sum *s, int type, const void *send, void *recv, size_t n);

/* ---- collnet_comm.c ---- */

/* For NCCL's collective network tables. */
int collnet_devices(int *n);
int collnet_listen(int dev, void *handle, void **listening);
int collnet_connect(void *handles[], int n_ranks, int rank, void *listening, void **comm);
int collnet_takes(int type, int op, int *yes);
int collnet_allreduce(void *comm, void *send, void *recv, size_t n, int type, int op,
                      void **request);
int collnet_test(void *request, int *done, int *bytes);
int collnet_close(void *comm);
int collnet_close_listen(void *listening);

/* For both kinds of tables. Contexts are empty; host memory needs no registration. */
int collnet_finalize(void *context);
int collnet_register(void *comm, void *data, size_t bytes, int kind, void **mr);
int collnet_register_dma_buf(void *comm, void *data, size_t bytes, int kind, uint64_t at, int fd,
                             void **mr);
int collnet_deregister(void *comm, void *mr);

/* ---- net_socket.c ---- */

int net_listen(int dev, void *handle, void **listening);
int net_connect_to(void *handle, void **comm);
int net_accept_from(void *listening, void **comm);
int net_isend(void *comm, void *data, size_t bytes, void **request);
int net_irecv(void *comm, void *data, size_t bytes, void **request);
int net_test(void *request, int *done, int *bytes);
int net_close(void *comm);
int net_close_listen(void *listening);

#endif
