/* reduce.c : adds packed codes of k parts exactly, a beat per clock, and rounds 32 sums per clock:
 *
 *     per block of 32 beats:   part 0 | part 1 | ... | part k-1  -> acc[32][128] -> round -> out
 *
 * The loop's pipeline drains between parts, so no row is read before its last sum is written. */
#include "hls/core/reduce.h"

struct row {
    uint64_t acc[128]; /* first 128, 64 or 32 used, for codes of 4, 8 or 16 bits */
};

struct rule {
    struct beat_fmt in, out;
    uint32_t shift;
    enum mf_overflow overflow;
};

static struct row row_add(struct row row, uint32_t first, struct beat b, struct beat_fmt f)
{
    for (uint32_t i = 0; i < 128u; i++)
        if (i * f.width < 512u)
            row.acc[i] = mf_acc_add(f.fmt, first != 0u ? 0u : row.acc[i], beat_get(b, f.width, i));
    return row;
}

/* Round a row's 32 sums from 32 * pass on. Their codes enter beat `to` from code 32 * part on. */
static struct beat row_round(struct row row, uint32_t pass, struct beat to, uint32_t part,
                             struct rule r, uint32_t *status)
{
    for (uint32_t i = 0; i < 32u; i++) {
        uint64_t acc = row.acc[(32u * pass + i) & 127u];
        uint32_t code = mf_acc_round(r.in.fmt, acc, (int)r.shift, r.out.fmt, r.overflow);
        *status |= reduce_status(r.in.fmt, acc, r.shift, r.out.fmt);
        to = beat_put(to, r.out.width, 32u * part + i, code);
    }
    return to;
}

/* Returns log2 of 16 / width, the groups of 32 codes in a beat. */
static uint32_t thirties_log2(uint32_t width)
{
    return width == 4u ? 2u : width == 8u ? 1u : 0u;
}

void reduce_kernel(const struct beat *in, struct beat *out, uint32_t n_parts, uint32_t stride,
                   uint32_t n_beats, uint32_t fmt, uint32_t out_fmt, uint32_t out_shift,
                   uint32_t saturate, uint32_t *status)
{
#pragma HLS INTERFACE m_axi port = in bundle = gmem0 offset = slave max_read_burst_length = 32
#pragma HLS INTERFACE m_axi port = out bundle = gmem1 offset = slave max_write_burst_length = 32
#pragma HLS INTERFACE s_axilite port = n_parts
#pragma HLS INTERFACE s_axilite port = stride
#pragma HLS INTERFACE s_axilite port = n_beats
#pragma HLS INTERFACE s_axilite port = fmt
#pragma HLS INTERFACE s_axilite port = out_fmt
#pragma HLS INTERFACE s_axilite port = out_shift
#pragma HLS INTERFACE s_axilite port = saturate
#pragma HLS INTERFACE m_axi port = status bundle = gmem2 offset = slave
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS AGGREGATE variable = in compact = bit
#pragma HLS AGGREGATE variable = out compact = bit
    struct row rows[REDUCE_ROWS];
#pragma HLS AGGREGATE variable = rows
#pragma HLS BIND_STORAGE variable = rows type = ram_t2p impl = uram
    struct rule r = {beat_format(fmt), beat_format(out_fmt), out_shift,
                     saturate != 0u ? MF_SATURATE : MF_INF};
    uint32_t good = n_parts >= 1u && n_parts <= (uint32_t)PKT_MAX_RANKS && r.out.width != 0u &&
                    n_beats <= (uint32_t)REDUCE_MAX_BEATS && out_shift <= (uint32_t)PKT_MAX_SHIFT &&
                    saturate < 2u;
    good = good != 0u ? beat_fits(r.in, n_parts) : 0u;
    if (good != 0u && r.out.width > r.in.width) /* beats of sums: 2 or 4 times as many */
        good = n_beats <= 0xffffffffu >> (thirties_log2(r.in.width) - thirties_log2(r.out.width));
    uint32_t end = good != 0u ? n_beats : 0u, flags = 0u, n_out = 0u, part = 0u;
    uint32_t passes_log2 = thirties_log2(r.in.width),
             last_part = (1u << thirties_log2(r.out.width)) - 1u;
    struct beat held = beat_zero();

blocks:
    for (uint32_t at = 0; at < end; at += (uint32_t)REDUCE_ROWS) {
        uint32_t n_rows = end - at < (uint32_t)REDUCE_ROWS ? end - at : (uint32_t)REDUCE_ROWS;
    parts:
        for (uint32_t k = 0; k < n_parts; k++) {
            const struct beat *from = in + (uint64_t)k * stride + at;
        adds:
            for (uint32_t i = 0; i < n_rows; i++) {
#pragma HLS PIPELINE II = 1
                rows[i] = row_add(rows[i], k == 0u ? 1u : 0u, from[i], r.in);
            }
        }
        uint32_t n_passes = n_rows << passes_log2;
    rounds:
        for (uint32_t i = 0; i < n_passes; i++) {
#pragma HLS PIPELINE II = 1
            uint32_t pass = i & ((1u << passes_log2) - 1u);
            held = row_round(rows[i >> passes_log2], pass, part == 0u ? beat_zero() : held, part, r,
                             &flags);
            if (part == last_part || (at + n_rows == end && i + 1u == n_passes)) {
                out[n_out] = held;
                n_out++;
            }
            part = part == last_part ? 0u : part + 1u;
        }
    }
    *status = good != 0u ? flags : (uint32_t)REDUCE_REFUSED;
}
