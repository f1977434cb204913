/* vec.c : implements functions that all tables of operations share. */
#include "vec/vec.h"
#include "vec/vec_groups.h"
#include "vec/vec_isa.h"
#include <assert.h>
#include <string.h>

size_t vec_acc_bytes(const struct vec_sum *sum, size_t n)
{
    switch (sum->rule) {
    case VEC_EXACT:
        return n * sizeof(uint64_t);
    case VEC_KAHAN:
        return n * 2 * sizeof(uint32_t);
    default:
        return n * sizeof(uint32_t);
    }
}

void vec_absmax_each(const struct vec_ops *ops, struct vec_span *spans, int n_spans)
{
    for (int i = 0; i < n_spans; i++) {
        assert(spans[i].type == VEC_FLOAT);
        spans[i].absmax = ops->absmax(spans[i].x, spans[i].n);
    }
}

static struct vec_cast cast_of(const struct vec_cast *cast, const struct vec_span *span)
{
    struct vec_cast own = *cast;
    assert(span->type == VEC_FLOAT);
    own.key = span->key;
    return own;
}

static void pad(struct mf_fmt fmt, const struct vec_span *span)
{
    const size_t used = vec_bytes(fmt, span->n);
    memset(span->codes + used, 0, vec_bytes(fmt, span->padded) - used);
}

void vec_encode_each(const struct vec_ops *ops, const struct vec_cast *cast, struct vec_span *spans,
                     int n_spans)
{
    for (int i = 0; i < n_spans; i++) {
        const struct vec_cast own = cast_of(cast, &spans[i]);
        if (spans[i].group)
            vec_groups_encode(ops, &own, &spans[i]);
        else
            ops->encode(&own, spans[i].x, spans[i].n, spans[i].at, spans[i].shift, spans[i].codes);
        pad(cast->fmt, &spans[i]);
    }
}

void vec_scan_encode_each(const struct vec_ops *ops, const struct vec_cast *cast,
                          struct vec_span *spans, int n_spans)
{
    for (int i = 0; i < n_spans; i++) {
        const struct vec_cast own = cast_of(cast, &spans[i]);
        assert(!spans[i].group);
        spans[i].absmax = ops->scan_encode(&own, spans[i].x, spans[i].n, spans[i].at,
                                           spans[i].shift, spans[i].codes);
        pad(cast->fmt, &spans[i]);
    }
}

void vec_decode_each(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                     int n_spans, float divisor)
{
    for (int i = 0; i < n_spans; i++) {
        assert(spans[i].type == VEC_FLOAT);
        if (spans[i].group || spans[i].block)
            vec_groups_decode(ops, fmt, &spans[i], divisor);
        else
            ops->decode(fmt, spans[i].codes, spans[i].n, spans[i].shift, divisor, spans[i].x);
    }
}

#ifdef VEC_X86
#include <cpuid.h>

/* Returns 0 for other vendors. */
static unsigned amd_family(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx || c != signature_AMD_ecx ||
        d != signature_AMD_edx || !__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    return (a >> 8 & 0xf) + (a >> 20 & 0xff);
}
#endif

/* Which loops prefetch on AMD's families was measured (bench/casts/README.md). */
unsigned vec_isa_prefetches(void)
{
#ifdef VEC_X86
    enum { ZEN_4 = 25, ZEN_5 = 26 };
    const unsigned family = amd_family();
    if (family == ZEN_4)
        return 0;
    if (family == ZEN_5)
        return VEC_PREFETCH_CASTS;
#endif
    return VEC_PREFETCH_CASTS | VEC_PREFETCH_SCANS;
}
