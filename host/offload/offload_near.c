/* offload_near.c : lets near ranks add their codes on their master, who sends the sums to cards and
 * passes results on. */
#include "base/buf.h"
#include "base/err.h"
#include "offload/offload_inside.h"
#include <stdlib.h>

/* Only the first steps allocate. The others already wait for the master. */
static uint8_t *grow(struct offload *o, uint8_t **to, size_t *have, size_t bytes)
{
    if (bytes <= *have)
        return *to;
    free(*to);
    *to = buf_alloc(bytes);
    *have = bytes;
    if (!*to)
        comm_abort(o->comm, -ENOMEM);
    return *to;
}

/* A later failure changes nothing: all calls of the job fail then. */
static void on_need(void *arg, size_t at, size_t n)
{
    struct offload *o = arg;
    struct algo_near *a = &o->passing;
    const uint8_t *const *parts;
    struct algo_range r;
    while (!o->passing_rc && a->needed * a->each < at + n) {
        o->passing_rc = algo_near_parts(a, &r, &parts);
        if (o->passing_rc)
            break;
        vec_best()->sum(&o->near_sum, parts, o->near, r.n, o->near_sum.out, o->near_sum.out_shift,
                        o->near_sums + vec_bytes(o->near_sum.out, r.at));
    }
}

static void on_have(void *arg, size_t at, size_t n)
{
    struct offload *o = arg;
    if (!o->passing_rc)
        o->passing_rc = algo_near_give(&o->passing, at + n);
    algo_have(&o->passed.flow, at, n);
}

int offload_near_begin(struct offload *o, struct card_path_sum *own)
{
    o->passed = *own;
    o->passing_rc = 0;
    o->passing = (struct algo_near){.comm = o->comm,
                                    .group = o->near,
                                    .n = own->n,
                                    .in_bits = mf_width(o->near_sum.in),
                                    .out_bits = mf_width(o->sum.out),
                                    .codes = own->codes,
                                    .result = own->result,
                                    .flow = &o->passed.flow};
    if (offload_is_master(o)) {
        o->passing.store = grow(o, &o->near_codes, &o->near_codes_bytes,
                                algo_near_store_bytes(own->n, o->passing.in_bits, o->near) + 8);
        own->codec = NULL;
        own->codes =
            grow(o, &o->near_sums, &o->near_sums_bytes, vec_bytes(o->near_sum.out, own->n) + 8);
        own->flow = (struct algo_flow){on_need, on_have, o};
    }
    return algo_near_begin(&o->passing);
}

/* The verdict is rc, 0 or CARD_PATH_ABANDONED. */
static int take_verdict(struct offload *o, uint8_t verdict)
{
    o->abandoned = verdict != 0;
    return verdict ? CARD_PATH_ABANDONED : 0;
}

int offload_near_end(struct offload *o, int rc)
{
    uint8_t verdict = rc != 0;
    if (rc < 0 || o->passing_rc) {
        (void)comm_wait(o->comm); /* buffers are this rank's again */
        return rc < 0 ? rc : o->passing_rc;
    }
    TRY(algo_near_end(&o->passing, &verdict));
    return take_verdict(o, verdict);
}

int offload_near_max(struct offload *o, int8_t *x, size_t n)
{
    uint8_t *store = NULL;
    if (offload_is_master(o))
        store = grow(o, &o->near_codes, &o->near_codes_bytes, (size_t)(o->near - 1) * n);
    return algo_near_max(o->comm, o->near, x, n, store);
}

int offload_near_tell(struct offload *o, int8_t *x, size_t n, int rc)
{
    uint8_t verdict = rc != 0;
    TRY(algo_near_tell(o->comm, o->near, x, n, &verdict));
    return take_verdict(o, verdict);
}
