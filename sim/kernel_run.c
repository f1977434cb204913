/* kernel_run.c : runs an HLS kernel over card memory. */
#include "sim/kernel_run.h"
#include "hls/core/expmax.h"
#include "hls/core/quant.h"
#include "hls/core/reduce.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "beats are read where they lie");

enum {
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) ARG_##KERNEL##_##name = offset,
#include "hls/card/kernels.def"
    PIECE = 8192 /* values; whole beats even for 4-bit codes */
};

static uint32_t value(const struct kernel_run *r, int arg)
{
    return r->reg[arg / 4];
}

static uint64_t address(const struct kernel_run *r, int arg)
{
    return value(r, arg) | (uint64_t)value(r, arg + 4) << 32;
}

/* NULL: outside card memory. */
static struct beat *beats_at(const struct kernel_run *r, int arg, uint64_t beats)
{
    return card_memory_at(r->memory, address(r, arg), beats * BEAT_SIZE);
}

static uint32_t *word_at(const struct kernel_run *r, int arg)
{
    return address(r, arg) % 4 ? NULL : card_memory_at(r->memory, address(r, arg), 4);
}

static bool is_aligned(const struct kernel_run *r, int arg)
{
    return address(r, arg) % BEAT_SIZE == 0;
}

static uint32_t piece(const struct kernel_run *r, uint32_t n)
{
    return n - r->at < PIECE ? n - r->at : PIECE;
}

static uint64_t beats_of(uint32_t n, uint32_t width)
{
    return ((uint64_t)n * width + 511) / 512;
}

/* reduce_mm writes no status word. */
static bool ends(const struct kernel_run *r, uint32_t status)
{
    static const int args[N_KERNELS] = {[KERNEL_EXPMAX] = ARG_EXPMAX_status,
                                        [KERNEL_QUANT] = ARG_QUANT_status,
                                        [KERNEL_UNQUANT] = ARG_UNQUANT_status};
    uint32_t *to = args[r->which] ? word_at(r, args[r->which]) : NULL;
    if (to)
        *to = status;
    return false;
}

static struct mm_run mm_run_of(const struct kernel_run *r)
{
    return (struct mm_run){
        .in = address(r, ARG_REDUCE_MM_in),
        .out = address(r, ARG_REDUCE_MM_out),
        .parts = value(r, ARG_REDUCE_MM_parts),
        .stride = value(r, ARG_REDUCE_MM_stride),
        .beats = value(r, ARG_REDUCE_MM_beats),
        .fmt = value(r, ARG_REDUCE_MM_fmt),
        .out_fmt = value(r, ARG_REDUCE_MM_out_fmt),
        .out_shift = value(r, ARG_REDUCE_MM_out_shift),
        .saturate = value(r, ARG_REDUCE_MM_saturate),
    };
}

static uint32_t reduce_check(const struct kernel_run *r)
{
    const struct mm_run got = mm_run_of(r), *run = &got;
    const uint32_t in_width = beat_format(run->fmt).width,
                   out_width = beat_format(run->out_fmt).width;
    struct beat none = beat_zero();
    uint32_t status;
    reduce_kernel(&none, &none, run->parts, run->stride, 0, run->fmt, run->out_fmt, run->out_shift,
                  run->saturate, &status);
    if (status)
        return status;
    const uint64_t out_beats = ((uint64_t)run->beats * out_width + in_width - 1) / in_width,
                   in_beats = (uint64_t)(run->parts - 1) * run->stride + run->beats;
    if (run->in % BEAT_SIZE || run->out % BEAT_SIZE || run->beats > REDUCE_MAX_BEATS ||
        out_beats >> 32)
        return REDUCE_REFUSED;
    if (run->beats &&
        !(beats_at(r, ARG_REDUCE_MM_in, in_beats) && beats_at(r, ARG_REDUCE_MM_out, out_beats)))
        return KERNEL_NO_MEMORY;
    return 0;
}

static bool reduce_step(struct kernel_run *r)
{
    const struct mm_run run = mm_run_of(r);
    const struct beat_fmt in = beat_format(run.fmt), out = beat_format(run.out_fmt);
    const uint32_t left = run.beats - r->at, n = left < REDUCE_ROWS ? left : REDUCE_ROWS;
    uint32_t status;
    reduce_kernel(beats_at(r, ARG_REDUCE_MM_in, 0) + r->at,
                  beats_at(r, ARG_REDUCE_MM_out, 0) + (uint64_t)r->at * out.width / in.width,
                  run.parts, run.stride, n, run.fmt, run.out_fmt, run.out_shift, run.saturate,
                  &status);
    r->status |= status;
    r->at += n;
    return r->at < run.beats;
}

static bool expmax_ends(const struct kernel_run *r)
{
    struct beat most = {{r->absmax}};
    int32_t exponent;
    uint32_t absmax, status;
    expmax_kernel(&most, 1, value(r, ARG_EXPMAX_n_ranks), &exponent, &absmax, &status);
    *word_at(r, ARG_EXPMAX_exponent) = (uint32_t)exponent;
    *word_at(r, ARG_EXPMAX_absmax) = absmax;
    return ends(r, status);
}

static uint32_t expmax_check(const struct kernel_run *r)
{
    const uint32_t n = value(r, ARG_EXPMAX_n);
    if (!is_aligned(r, ARG_EXPMAX_x))
        return EXPMAX_REFUSED;
    if (!word_at(r, ARG_EXPMAX_exponent) || !word_at(r, ARG_EXPMAX_absmax) ||
        (n && !beats_at(r, ARG_EXPMAX_x, beats_of(n, 32))))
        return KERNEL_NO_MEMORY;
    return 0;
}

static bool expmax_step(struct kernel_run *r)
{
    const uint32_t n = value(r, ARG_EXPMAX_n), some = piece(r, n);
    int32_t exponent;
    uint32_t absmax, status;
    expmax_kernel(beats_at(r, ARG_EXPMAX_x, 0) + r->at / 16, some, 1, &exponent, &absmax, &status);
    r->absmax = absmax > r->absmax ? absmax : r->absmax;
    r->at += some;
    return r->at < n ? true : expmax_ends(r);
}

static uint32_t quant_check(const struct kernel_run *r)
{
    const uint32_t n = value(r, ARG_QUANT_n), fmt = value(r, ARG_QUANT_fmt);
    struct beat none = beat_zero();
    uint32_t status;
    quant_kernel(&none, &none, 0, fmt, (int32_t)value(r, ARG_QUANT_shift),
                 value(r, ARG_QUANT_saturate), &status);
    if (status || !is_aligned(r, ARG_QUANT_x) || !is_aligned(r, ARG_QUANT_codes))
        return QUANT_REFUSED;
    if (n && !(beats_at(r, ARG_QUANT_x, beats_of(n, 32)) &&
               beats_at(r, ARG_QUANT_codes, beats_of(n, beat_format(fmt).width))))
        return KERNEL_NO_MEMORY;
    return 0;
}

static bool quant_step(struct kernel_run *r)
{
    const uint32_t n = value(r, ARG_QUANT_n), fmt = value(r, ARG_QUANT_fmt), some = piece(r, n);
    uint32_t status;
    quant_kernel(beats_at(r, ARG_QUANT_x, 0) + r->at / 16,
                 beats_at(r, ARG_QUANT_codes, 0) + beats_of(r->at, beat_format(fmt).width), some,
                 fmt, (int32_t)value(r, ARG_QUANT_shift), value(r, ARG_QUANT_saturate), &status);
    r->at += some;
    return r->at < n ? true : ends(r, 0);
}

static uint32_t unquant_check(const struct kernel_run *r)
{
    const uint32_t n = value(r, ARG_UNQUANT_n), fmt = value(r, ARG_UNQUANT_fmt);
    struct beat none = beat_zero();
    uint32_t status;
    unquant_kernel(&none, &none, 0, fmt, (int32_t)value(r, ARG_UNQUANT_shift), &status);
    if (status || !is_aligned(r, ARG_UNQUANT_codes) || !is_aligned(r, ARG_UNQUANT_x))
        return QUANT_REFUSED;
    if (n && !(beats_at(r, ARG_UNQUANT_x, beats_of(n, 32)) &&
               beats_at(r, ARG_UNQUANT_codes, beats_of(n, beat_format(fmt).width))))
        return KERNEL_NO_MEMORY;
    return 0;
}

static bool unquant_step(struct kernel_run *r)
{
    const uint32_t n = value(r, ARG_UNQUANT_n), fmt = value(r, ARG_UNQUANT_fmt), some = piece(r, n);
    uint32_t status;
    unquant_kernel(beats_at(r, ARG_UNQUANT_codes, 0) + beats_of(r->at, beat_format(fmt).width),
                   beats_at(r, ARG_UNQUANT_x, 0) + r->at / 16, some, fmt,
                   (int32_t)value(r, ARG_UNQUANT_shift), &status);
    r->at += some;
    return r->at < n ? true : ends(r, 0);
}

static const struct {
    uint32_t (*check)(const struct kernel_run *r);
    bool (*step)(struct kernel_run *r);
    int count; /* argument: number of beats or values */
} runs[N_KERNELS] = {
    [KERNEL_REDUCE_MM] = {reduce_check, reduce_step, ARG_REDUCE_MM_beats},
    [KERNEL_EXPMAX] = {expmax_check, expmax_step, ARG_EXPMAX_n},
    [KERNEL_QUANT] = {quant_check, quant_step, ARG_QUANT_n},
    [KERNEL_UNQUANT] = {unquant_check, unquant_step, ARG_UNQUANT_n},
};

uint32_t kernel_run_check(const struct kernel_run *r)
{
    return runs[r->which].check(r);
}

bool kernel_run_start(struct kernel_run *r)
{
    r->at = r->absmax = 0;
    r->status = kernel_run_check(r);
    if (r->status)
        return ends(r, r->status);
    if (value(r, runs[r->which].count))
        return true;
    return r->which == KERNEL_EXPMAX ? expmax_ends(r) : ends(r, 0);
}

bool kernel_run_step(struct kernel_run *r)
{
    return runs[r->which].step(r);
}
