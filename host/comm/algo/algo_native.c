/* algo_native.c : all-reduces by MPI_Iallreduce, as a baseline. MPI adds fp32; our MPI_Op adds
 * packed codes of fp16, bf16 and e5m2.
 *
 * MPI's sum then passes through the reduce op, like a sum of one addend: zeros are +0, overflows
 * follow --overflow, and any --out-format works. MPI chooses the order of additions and hides its
 * messages: no rounds are counted, and bytes handed to MPI count once.
 *
 * Source of the MPI_Op on a packed vector type: fp8 paper, section 3. Its items have 128 bits; ours
 * have 8 codes, so that buckets are whole items. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/mpi/comm_mpi.h"
#include <assert.h>

enum { ITEM = 8 }; /* codes per MPI item; layers are padded to as many */

/* An MPI_Op gets no context, so each format, rule and overflow needs a function. */
#define ADDER(name, E, M, RULE, OVERFLOW)                                                         \
    static void name(void *in, void *inout, int *n_items, MPI_Datatype *type)                     \
    {                                                                                             \
        static const struct vec_sum sum = {                                                       \
            .rule = RULE, .overflow = OVERFLOW, .in = {E, M, 0}, .out = {E, M, 0}, .n_ranks = 2}; \
        (void)type;                                                                               \
        const uint8_t *const parts[] = {in, inout};                                               \
        vec_best()->sum(&sum, parts, 2, (size_t)*n_items *ITEM, sum.in, 0, inout);                \
    }
ADDER(add_fp16_saturate, 5, 10, VEC_NEAREST, MF_SATURATE)
ADDER(add_fp16_inf, 5, 10, VEC_NEAREST, MF_INF)
ADDER(add_bf16_saturate, 8, 7, VEC_NEAREST, MF_SATURATE)
ADDER(add_bf16_inf, 8, 7, VEC_NEAREST, MF_INF)
ADDER(add_e5m2_saturate, 5, 2, VEC_NEAREST, MF_SATURATE)
ADDER(add_e5m2_inf, 5, 2, VEC_NEAREST, MF_INF)
ADDER(add_e5m2_trunc, 5, 2, VEC_TRUNC, MF_SATURATE)

static const struct choice {
    struct mf_fmt fmt;
    enum vec_rule rule;
    enum mf_overflow overflow;
    MPI_User_function *add; /* NULL selects MPI_SUM */
} choices[] = {
    {{8, 23, 0}, VEC_FP32, MF_SATURATE, NULL},
    {{8, 23, 0}, VEC_FP32, MF_INF, NULL},
    {{5, 10, 0}, VEC_NEAREST, MF_SATURATE, add_fp16_saturate},
    {{5, 10, 0}, VEC_NEAREST, MF_INF, add_fp16_inf},
    {{8, 7, 0}, VEC_NEAREST, MF_SATURATE, add_bf16_saturate},
    {{8, 7, 0}, VEC_NEAREST, MF_INF, add_bf16_inf},
    {{5, 2, 0}, VEC_NEAREST, MF_SATURATE, add_e5m2_saturate},
    {{5, 2, 0}, VEC_NEAREST, MF_INF, add_e5m2_inf},
    {{5, 2, 0}, VEC_TRUNC, MF_SATURATE, add_e5m2_trunc},
};
enum { N_CHOICES = sizeof choices / sizeof choices[0] };

static bool native_adds(const struct vec_sum *sum)
{
    for (int i = 0; i < N_CHOICES; i++)
        if (mf_same(choices[i].fmt, sum->in) && choices[i].rule == sum->rule)
            return true;
    return false;
}

static const struct choice *find_choice(const struct vec_sum *sum)
{
    for (int i = 0; i < N_CHOICES; i++)
        if (mf_same(choices[i].fmt, sum->in) && choices[i].rule == sum->rule &&
            choices[i].overflow == sum->overflow)
            return &choices[i];
    return NULL;
}

struct layout {
    void *acc;
    uint8_t *sum; /* [in_bytes(n)] MPI's sum */
};

static size_t lay_out(const struct reduce_op *f, size_t n, void *scratch, struct layout *l)
{
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->sum = algo_take(&a, algo_bytes(f, ALGO_IN, n));
    return a.used;
}

static size_t native_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)n_ranks, (void)group;
    struct layout l;
    return lay_out(f, n, NULL, &l);
}

/* MPI counts in int, so long vectors go in chunks. */
static int reduce_items(struct comm *c, const struct algo_call *call, MPI_Datatype item,
                        size_t item_bytes, MPI_Op op, uint8_t *sum)
{
    const size_t bytes = algo_bytes(&call->op, ALGO_IN, call->n);
    const size_t longest = c->chunk_bytes / item_bytes * item_bytes;
    for (size_t at = 0, k; at < bytes; at += k) {
        k = bytes - at < longest ? bytes - at : longest;
        MPI_Request *req = comm_mpi_request(c);
        if (!req)
            return -ENOMEM;
        TRY(comm_mpi_check(mpilib->Iallreduce(call->codes + at, sum + at, (int)(k / item_bytes),
                                              item, op, comm_mpi(c)->mpi, req),
                           "all-reduce"));
        c->n_req++;
        TRY(comm_wait(c));
    }
    c->count.sent_bytes += c->n_ranks > 1 ? bytes : 0;
    return 0;
}

static int reduce_codes(struct comm *c, const struct algo_call *call, MPI_User_function *add,
                        uint8_t *sum)
{
    const size_t item_bytes = algo_bytes(&call->op, ALGO_IN, ITEM);
    MPI_Datatype item;
    MPI_Op op;
    TRY(comm_mpi_check(mpilib->Type_contiguous((int)item_bytes, mpilib->byte, &item),
                       "describe codes to MPI"));
    int rc = comm_mpi_check(mpilib->Type_commit(&item), "describe codes to MPI");
    if (rc < 0)
        goto free_item;
    rc = comm_mpi_check(mpilib->Op_create(add, 1, &op), "register a sum with MPI");
    if (rc < 0)
        goto free_item;
    rc = reduce_items(c, call, item, item_bytes, op, sum);
    mpilib->Op_free(&op);
free_item:
    mpilib->Type_free(&item);
    return rc;
}

static int native_run(struct comm *c, const struct algo_call *call)
{
    assert(!comm_is_virtual(c)); /* checked by algo_here() */
    MPI_User_function *add = find_choice(codec_sum(call->codec))->add;
    struct layout l;
    lay_out(&call->op, call->n, call->scratch, &l);
    TRY(add ? reduce_codes(c, call, add, l.sum)
            : reduce_items(c, call, mpilib->fp32, sizeof(float), mpilib->sum, l.sum));
    const uint8_t *const one[] = {l.sum};
    algo_add_parts(&call->op, (struct algo_range){.n = call->n}, ALGO_IN, one, 1, l.acc, ALGO_OUT,
                   call->result);
    return 0;
}

const struct algo algo_native = {
    .name = "native",
    .help = "MPI's own all-reduce: fp32, or fp16, bf16 and e5m2 rounded at every addition",
    .adds = native_adds,
    .takes = "fp32, fp16, bf16 or e5m2",
    .scratch_bytes = native_scratch_bytes,
    .run = native_run,
    .by_nccl = &algo_native_nccl,
    .mpis_order = true,
};
