/* levels.cu : encodes, sums and decodes a list of vectors as buckets of levels, with the bits of
 * level.h.
 *
 * A bucket's team is one warp up to 512 elements, else one block. Until the scale is known,
 * elements stay in the registers of a warp, or of a block for qsgd:16 (levels_warp.cuh); in other
 * blocks and in sums, in shared memory. 16 lanes compute level.h's 2-norm: slow, but rare. */
#include "device/vec/cast_list.cuh"
#include "device/vec/levels_warp.cuh"
#include "device/vec/vec.cuh"

enum {
    THREADS = 256,
    /* waves of blocks in a grid; stores are faster in many short blocks */
    ENCODE_WAVES = 4,
    /* blocks in a grid, per multiprocessor: whole waves fill the GPU to the end; FIT: at once */
    DECODE_FIT = 6,
    DECODE_PER_SM = 11 * DECODE_FIT,
    DECODE_FIT_ANY = 4, /* BITS == 0 */
    DECODE_PER_SM_ANY = 16 * DECODE_FIT_ANY
};

/* Blocks that encode at once on a multiprocessor. */
static constexpr int encode_fit(int team, int bits)
{
    return team > 32 && bits ? 3 : 4;
}

/* Codes to sum instead of x; `base` is that of levels_sum(). */
struct levels_parts {
    const uint8_t *const *parts;
    int n;
    const uint8_t *base;
};

/* Buckets of a team in a tile. */
static __host__ __device__ inline uint32_t buckets_each(uint32_t bucket)
{
    return bucket <= WARP_MAX ? 2 * WARP_MAX / bucket : 1;
}
static __host__ __device__ inline uint32_t tile_of(int team, uint32_t bucket)
{
    return THREADS / (uint32_t)team * buckets_each(bucket) * bucket;
}

/* ---- a bucket; keep[bucket] holds its elements, padded with zeros ---- */

struct levels_bucket {
    const struct vec_span *span;
    size_t first;   /* of its first element in the span */
    uint32_t n_all; /* codes: r->bucket, except in a span's last bucket */
    uint8_t *codes;
    float *keep;
    uint32_t *shared; /* [THREADS / 32 + 1] of the team */
};

template <int TEAM> CAST_FN uint32_t bucket_load(const struct levels_bucket *b)
{
    const struct vec_span *s = b->span;
    const bool whole = elements_whole(s->x, s->type) && b->first % 4 == 0;
    uint32_t largest = 0;
#pragma unroll 4
    for (uint32_t e = 4 * (threadIdx.x % TEAM); e < b->n_all; e += 4 * TEAM) {
        const float4 x = elements_get(s->x, s->type, b->first + e, s->n, whole);
        *(float4 *)(b->keep + e) = x;
        largest = max(largest, cast_largest(x));
    }
    return largest;
}

template <int TEAM>
CAST_FN uint32_t bucket_add(const struct levels_rule *r, const struct levels_bucket *b,
                            const struct levels_parts *p)
{
    const struct vec_span *s = b->span;
    const uint32_t lane = threadIdx.x % TEAM;
    uint32_t largest = 0;
    for (int k = 0; k < p->n; k++) {
        const uint8_t *from = p->parts[k] + (b->codes - p->base);
        const struct levels_reader reader = reader_of(r->scheme, from, 1);
        for (uint32_t round = 0; round < b->n_all; round += 4 * TEAM) {
            const uint32_t e = round + 4 * lane;
            const bool in = e < b->n_all;
            float value[4], sum[4] = {0, 0, 0, 0};
            values_of(&reader, r->scheme, codes_get(from, e, r->scheme.bits, in), value);
            if (!in)
                continue;
            const float4 was = k > 0 ? *(float4 *)(b->keep + e) : make_float4(0, 0, 0, 0);
            const float sums[4] = {was.x, was.y, was.z, was.w};
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (b->first + e + j < s->n)
                    sum[j] = level_add(sums[j], value[j]);
            const float4 x = make_float4(sum[0], sum[1], sum[2], sum[3]);
            *(float4 *)(b->keep + e) = x;
            largest = k + 1 < p->n ? 0 : max(largest, cast_largest(x));
        }
    }
    return largest;
}

/* keep: [n] elements, padded with zeros. shared: [THREADS / 32 + 1] of the team. */
template <int TEAM>
CAST_APART float bucket_norm2(const float *keep, uint32_t n, float max, uint32_t *shared)
{
    const struct level_power p = level_power_of(max);
    float norm = 0;
    team_sync<TEAM>();
    if (threadIdx.x % TEAM < 32) {
        float sum = 0;
#pragma unroll 8
        for (uint32_t e = threadIdx.x % LEVEL_LANES; e < n; e += LEVEL_LANES) {
            const float y = level_times(keep[e], p.up);
            sum += level_times(y, y);
        }
        norm = level_norm(half_join(sum), max, p);
        if (TEAM > 32 && threadIdx.x == 0)
            shared[TEAM / 32] = __float_as_uint(norm);
    }
    if (TEAM == 32)
        return norm;
    __syncthreads();
    return __uint_as_float(shared[TEAM / 32]);
}

template <int TEAM>
CAST_FN void bucket_put(const struct levels_rule *r, const struct levels_bucket *b, uint32_t absmax)
{
    const struct vec_span *s = b->span;
    const float max = __uint_as_float(absmax),
                scale = r->norm2 ? bucket_norm2<TEAM>(b->keep, b->n_all, max, b->shared) : max;
    const struct level_grid grid = level_grid_of(r->scheme, scale);
    const uint32_t lane = threadIdx.x % TEAM;
    if (lane == 0)
        word_put(b->codes, __float_as_uint(scale));
    for (uint32_t round = 0; round < b->n_all; round += 4 * TEAM) {
        const uint32_t e = round + 4 * lane;
        const bool in = e < b->n_all;
        uint32_t code[4] = {0, 0, 0, 0};
        if (in && b->first + e < s->n) {
            const float4 x = *(const float4 *)(b->keep + e);
            const float v[4] = {x.x, x.y, x.z, x.w};
            const struct philox_block random = words_at(s->key, s->at + b->first + e);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const uint32_t bits = __float_as_uint(v[j]);
                const float size = __uint_as_float(bits & 0x7fffffffu),
                            less = size < LEVEL_FLT_MAX ? size : LEVEL_FLT_MAX;
                const uint32_t c = r->scheme.even ? level_code_even(grid, v[j], random.w[j])
                                                  : level_code_sign(r->scheme.bits, grid, less,
                                                                    bits >> 31, random.w[j]);
                code[j] = b->first + e + j < s->n ? c : 0;
            }
        }
        codes_put(b->codes, e, r->scheme.bits, code, in);
    }
    team_sync<TEAM>(); /* wait until keep is read */
}

static __device__ inline uint32_t span_count(size_t n_left, uint32_t most)
{
    return n_left < most ? (uint32_t)n_left : most;
}

/* Encode a bucket in registers: up to WARP_MAX elements, or up to BLOCK_MAX without the 2-norm.
 * Return its largest magnitude's bits. */
template <int TEAM, int BITS, bool EVEN>
CAST_FN uint32_t bucket_quads(const struct levels_rule *r, const struct levels_bucket *b)
{
    const struct vec_span *s = b->span;
    const uint32_t n = span_count(s->n - b->first, b->n_all);
    float4 quad[TEAM == 32 ? QUADS : QUADS_BLOCK];
    quads_get<TEAM>((const uint8_t *)s->x + b->first * vec_type_bytes(s->type), s->type, n, quad);
    const uint32_t own = quads_largest(quad), max_all = team_max<TEAM>(own, b->shared);
    float scale = __uint_as_float(max_all);
    if (TEAM == 32 && r->norm2) {
#pragma unroll
        for (int i = 0; i < QUADS; i++)
            if (quad_first<>(i) < b->n_all)
                *(float4 *)(b->keep + quad_first<>(i)) = quad[i];
        scale = bucket_norm2<32>(b->keep, b->n_all, scale, NULL);
        __syncwarp();
    }
    quads_put<TEAM, BITS, EVEN>(quad, scale, n, b->n_all, s->key, s->at + b->first, b->codes,
                                (uintptr_t)b->codes % sizeof(uint32_t) == 0);
    return own;
}

/* All `each` buckets of a warp in this tile have WARP_MAX elements, in aligned floats, and begin on
 * a word, and need no 2-norm. */
CAST_FN bool tile_plain(const struct levels_rule *r, const struct vec_span *s, uint64_t tile)
{
    return r->bucket == WARP_MAX && !r->norm2 && s->type == VEC_FLOAT &&
           elements_whole(s->x, s->type) && (uintptr_t)s->codes % sizeof(uint32_t) == 0 &&
           (tile + 1) * tile_of(32, WARP_MAX) <= s->n;
}

/* Do the same as bucket_quads() for a bucket of a plain tile. */
template <int BITS, bool EVEN>
CAST_FN uint32_t bucket_plain(const struct vec_span *s, size_t first, uint8_t *codes)
{
    const float *x = (const float *)s->x + first;
    float4 quad[QUADS];
#pragma unroll
    for (int i = 0; i < QUADS; i++)
        quad[i] = *(const float4 *)(x + quad_first<>(i));
    const uint32_t own = quads_largest(quad);
    quads_put<32, BITS, EVEN>(quad, __uint_as_float(team_max<32>(own, NULL)), WARP_MAX, WARP_MAX,
                              s->key, s->at + first, codes, true);
    return own;
}

/* SUMS: adds parts; their spans have neither x nor absmax. BITS: 0 or, for buckets in registers,
 * the bits of their codes. */
template <int TEAM, bool SUMS, int BITS, bool EVEN>
static __global__ void __launch_bounds__(THREADS, encode_fit(TEAM, BITS))
    k_levels_encode(struct levels_rule r, struct vec_span *spans, int n_spans,
                    struct levels_parts p)
{
    __shared__ struct span_list<struct vec_span> list;
    __shared__ uint32_t warps[32], team_shared[THREADS / 32 + 1];
    CU_SHARED(float, keep);
    const uint32_t team = threadIdx.x / TEAM, teams = THREADS / TEAM, each = buckets_each(r.bucket);
    const uint32_t bytes = (uint32_t)levels_bytes(&r, r.bucket);
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles =
            span_list_load(&list, spans + from, n, false, tile_of(TEAM, r.bucket));
        struct span_max found = {-1, 0};
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            if (!SUMS)
                span_max_at(&found, i, spans + from, warps);
            const struct vec_span *span = &list.span[i];
            const uint64_t number = span_list_within(&list, i, tile) * teams * each + team;
            size_t first = (size_t)number * r.bucket;
            uint8_t *codes = span->codes + number * bytes;
            if constexpr (TEAM == 32 && (BITS == 4 || BITS == 8)) { /* usual with WARP_MAX */
                if (tile_plain(&r, span, span_list_within(&list, i, tile))) {
#pragma unroll 1
                    for (uint32_t k = 0; k < each; k++) {
                        const uint32_t own = bucket_plain<BITS, EVEN>(span, first, codes);
                        found.largest = max(found.largest, own);
                        first += teams * WARP_MAX, codes += teams * bytes;
                    }
                    continue;
                }
            }
            for (uint32_t k = 0; k < each && first < span->n; k++) {
                const struct levels_bucket b = {span,
                                                first,
                                                (uint32_t)levels_codes_of(&r, span->n - first),
                                                codes,
                                                keep + (size_t)team * r.bucket,
                                                team_shared};
                if constexpr (BITS != 0) {
                    found.largest = max(found.largest, bucket_quads<TEAM, BITS, EVEN>(&r, &b));
                } else {
                    const uint32_t own =
                        SUMS ? bucket_add<TEAM>(&r, &b, &p) : bucket_load<TEAM>(&b);
                    const uint32_t max_all = team_max<TEAM>(own, team_shared);
                    found.largest = max(found.largest, own);
                    bucket_put<TEAM>(&r, &b, max_all);
                }
                first += teams * r.bucket, codes += teams * bytes;
            }
        }
        if (!SUMS)
            span_max_at(&found, -1, spans + from, warps);
        __syncthreads();
    }
}

/* Decode a bucket of any length to x[n]; bucket: its codes. */
template <int TEAM>
CAST_FN void bucket_decode(const struct levels_rule *r, const uint8_t *bucket, float divisor,
                           uint32_t n, void *x, enum vec_type type)
{
    const bool whole = elements_whole(x, type);
    const struct levels_reader reader = reader_of(r->scheme, bucket, divisor);
    for (uint32_t round = 0; round < n; round += 4 * TEAM) {
        const uint32_t e = round + 4 * (threadIdx.x % TEAM);
        float v[4];
        values_of(&reader, r->scheme, codes_get(bucket, e, r->scheme.bits, e < n), v);
        if (e < n)
            elements_put(x, type, e, n, whole, make_float4(v[0], v[1], v[2], v[3]));
    }
}

template <int TEAM, int BITS, bool EVEN>
static __global__ void __launch_bounds__(THREADS, BITS ? DECODE_FIT : DECODE_FIT_ANY)
    k_levels_decode(struct levels_rule r, const struct vec_out *outs, int n_outs, float divisor)
{
    __shared__ struct span_list<struct vec_out> list;
    const uint32_t team = threadIdx.x / TEAM, teams = THREADS / TEAM, each = buckets_each(r.bucket);
    const uint32_t bytes = (uint32_t)levels_bytes(&r, r.bucket);
    for (int from = 0; from < n_outs; from += LIST_SPANS) {
        const int n = min(n_outs - from, (int)LIST_SPANS);
        const uint64_t tiles =
            span_list_load(&list, outs + from, n, false, tile_of(TEAM, r.bucket));
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            const struct vec_out *out = &list.span[i];
            const uint64_t number = span_list_within(&list, i, tile) * teams * each + team;
            size_t first = (size_t)number * r.bucket;
            const uint8_t *codes = out->codes + number * bytes;
            for (uint32_t k = 0; k < each && first < out->n; k++) {
                void *x = (uint8_t *)out->x + first * vec_type_bytes(out->type);
                const uint32_t n_here = span_count(out->n - first, r.bucket);
                if constexpr (BITS != 0)
                    quads_decode<BITS, EVEN>(codes, divisor, n_here, x, out->type);
                else
                    bucket_decode<TEAM>(&r, codes, divisor, n_here, x, out->type);
                first += teams * r.bucket, codes += teams * bytes;
            }
        }
        __syncthreads();
    }
}

template <int TEAM, bool SUMS, int BITS, bool EVEN>
static int launch(const struct levels_rule *r, struct vec_span *spans, int n_spans, size_t n_elems,
                  struct levels_parts p, struct dev_stream *s)
{
    const unsigned grid = cu_grid(n_elems / tile_of(TEAM, r->bucket) + (size_t)n_spans,
                                  encode_fit(TEAM, BITS) * ENCODE_WAVES);
    const size_t keep =
        BITS == 0 || r->norm2 ? (size_t)(THREADS / TEAM) * r->bucket * sizeof(float) : 0;
    const size_t longest = TEAM == 32 ? (size_t)WARP_MAX : (size_t)LEVEL_BUCKET_MAX;
    const int rc = cu_shared_most<k_levels_encode<TEAM, SUMS, BITS, EVEN>>(
        (size_t)(THREADS / TEAM) * longest * sizeof(float), "levels");
    if (rc < 0)
        return rc;
    k_levels_encode<TEAM, SUMS, BITS, EVEN>
        <<<grid, THREADS, keep, cu_stream(s)>>>(*r, spans, n_spans, p);
    return cu_check("levels");
}

/* BY_SCHEME(f, scheme): f<BITS, EVEN> of a scheme. */
#define BY_SCHEME(f, scheme)                                   \
    ((scheme).even        ? (scheme).bits == 1   ? f<1, true>  \
                            : (scheme).bits == 2 ? f<2, true>  \
                            : (scheme).bits == 4 ? f<4, true>  \
                            : (scheme).bits == 8 ? f<8, true>  \
                                                 : f<16, true> \
            : (scheme).bits == 2 ? f<2, false>                 \
     : (scheme).bits == 4 ? f<4, false>                        \
     : (scheme).bits == 8 ? f<8, false>                        \
                          : f<16, false>)

template <int BITS, bool EVEN>
static int encode_warps(const struct levels_rule *r, struct vec_span *spans, int n_spans,
                        size_t n_elems, struct levels_parts none, struct dev_stream *s)
{
    return launch<32, false, BITS, EVEN>(r, spans, n_spans, n_elems, none, s);
}

int vec_gpu_levels_encode(const struct levels_rule *r, struct vec_span *spans, int n_spans,
                          size_t n_elems, struct dev_stream *s)
{
    const struct levels_parts none = {NULL, 0, NULL};
    if (n_spans <= 0)
        return 0;
    if (r->bucket > WARP_MAX && r->bucket <= BLOCK_MAX && r->scheme.bits == 16 && !r->scheme.even &&
        !r->norm2)
        return launch<THREADS, false, 16, false>(r, spans, n_spans, n_elems, none, s);
    if (r->bucket > WARP_MAX)
        return launch<THREADS, false, 0, false>(r, spans, n_spans, n_elems, none, s);
    return BY_SCHEME(encode_warps, r->scheme)(r, spans, n_spans, n_elems, none, s);
}

int vec_gpu_levels_sum(const struct levels_rule *r, const uint8_t *const *parts, int n_parts,
                       struct vec_span *spans, int n_spans, size_t n_elems, const uint8_t *base,
                       struct dev_stream *s)
{
    const struct levels_parts p = {parts, n_parts, base};
    if (n_spans <= 0)
        return 0;
    return r->bucket <= WARP_MAX
               ? launch<32, true, 0, false>(r, spans, n_spans, n_elems, p, s)
               : launch<THREADS, true, 0, false>(r, spans, n_spans, n_elems, p, s);
}

template <int TEAM, int BITS, bool EVEN>
static int launch_decode(const struct levels_rule *r, float divisor, const struct vec_out *outs,
                         int n_outs, size_t n_elems, struct dev_stream *s)
{
    const unsigned grid = cu_grid(n_elems / tile_of(TEAM, r->bucket) + (size_t)n_outs,
                                  BITS ? DECODE_PER_SM : DECODE_PER_SM_ANY);
    k_levels_decode<TEAM, BITS, EVEN>
        <<<grid, THREADS, 0, cu_stream(s)>>>(*r, outs, n_outs, divisor);
    return cu_check("levels to floats");
}

template <int BITS, bool EVEN>
static int decode_warps(const struct levels_rule *r, float divisor, const struct vec_out *outs,
                        int n_outs, size_t n_elems, struct dev_stream *s)
{
    return launch_decode<32, BITS, EVEN>(r, divisor, outs, n_outs, n_elems, s);
}

int vec_gpu_levels_decode(const struct levels_rule *r, float divisor, const struct vec_out *outs,
                          int n_outs, size_t n_elems, struct dev_stream *s)
{
    if (n_outs <= 0)
        return 0;
    if (r->bucket > WARP_MAX)
        return launch_decode<THREADS, 0, false>(r, divisor, outs, n_outs, n_elems, s);
    return BY_SCHEME(decode_warps, r->scheme)(r, divisor, outs, n_outs, n_elems, s);
}
