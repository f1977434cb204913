/* quant.c : converts fp32 to packed codes and back, 16 values per clock. */
#include "hls/core/quant.h"

/* Values from `left` on become zero codes. */
static struct beat quant_part(struct beat to, uint32_t part, struct beat x, uint32_t left,
                              struct beat_fmt f, int shift, enum mf_overflow overflow)
{
    for (uint32_t i = 0; i < 16u; i++) {
        uint32_t code = i < left ? mf_enc(f.fmt, x.w[i], shift, MF_NEAREST, overflow, 0u) : 0u;
        to = beat_put(to, f.width, 16u * part + i, code);
    }
    return to;
}

static struct beat unquant_part(struct beat codes, uint32_t part, uint32_t left, struct beat_fmt f,
                                int shift)
{
    struct beat x = beat_zero();
    for (uint32_t i = 0; i < 16u; i++)
        x.w[i] = i < left ? mf_dec(f.fmt, beat_get(codes, f.width, 16u * part + i), shift) : 0u;
    return x;
}

/* Returns log2 of 32 / width, the fp32 beats that fill a beat of codes. */
static uint32_t parts_log2(uint32_t width)
{
    return width == 4u ? 3u : width == 8u ? 2u : 1u;
}

static uint32_t legal(struct beat_fmt f, int32_t shift, uint32_t saturate)
{
    return f.width != 0u && shift <= QUANT_MAX_SHIFT && shift >= -QUANT_MAX_SHIFT && saturate < 2u
               ? 1u
               : 0u;
}

void quant_kernel(const struct beat *x, struct beat *codes, uint32_t n, uint32_t fmt, int32_t shift,
                  uint32_t saturate, uint32_t *status)
{
#pragma HLS INTERFACE m_axi port = x bundle = gmem0 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = codes bundle = gmem1 offset = slave max_write_burst_length = 64
#pragma HLS INTERFACE s_axilite port = n
#pragma HLS INTERFACE s_axilite port = fmt
#pragma HLS INTERFACE s_axilite port = shift
#pragma HLS INTERFACE s_axilite port = saturate
#pragma HLS INTERFACE m_axi port = status bundle = gmem2 offset = slave
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS AGGREGATE variable = x compact = bit
#pragma HLS AGGREGATE variable = codes compact = bit
    struct beat_fmt f = beat_format(fmt);
    uint32_t log2 = parts_log2(f.width), last_part = (1u << log2) - 1u;
    uint32_t good = legal(f, shift, saturate),
             n_beats = good != 0u ? n / 16u + (n % 16u != 0u ? 1u : 0u) : 0u;
    enum mf_overflow overflow = saturate != 0u ? MF_SATURATE : MF_INF;
    struct beat held = beat_zero();
beats:
    for (uint32_t i = 0; i < n_beats; i++) {
#pragma HLS PIPELINE II = 1
        uint32_t part = i & last_part;
        held = quant_part(part == 0u ? beat_zero() : held, part, x[i], n - 16u * i, f, shift,
                          overflow);
        if (part == last_part || i + 1u == n_beats)
            codes[i >> log2] = held;
    }
    *status = good != 0u ? 0u : (uint32_t)QUANT_REFUSED;
}

void unquant_kernel(const struct beat *codes, struct beat *x, uint32_t n, uint32_t fmt,
                    int32_t shift, uint32_t *status)
{
#pragma HLS INTERFACE m_axi port = codes bundle = gmem0 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE m_axi port = x bundle = gmem1 offset = slave max_write_burst_length = 64
#pragma HLS INTERFACE s_axilite port = n
#pragma HLS INTERFACE s_axilite port = fmt
#pragma HLS INTERFACE s_axilite port = shift
#pragma HLS INTERFACE m_axi port = status bundle = gmem2 offset = slave
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS AGGREGATE variable = codes compact = bit
#pragma HLS AGGREGATE variable = x compact = bit
    struct beat_fmt f = beat_format(fmt);
    uint32_t log2 = parts_log2(f.width), last_part = (1u << log2) - 1u;
    uint32_t good = legal(f, shift, 0u),
             n_beats = good != 0u ? n / 16u + (n % 16u != 0u ? 1u : 0u) : 0u;
    struct beat held = beat_zero();
beats:
    for (uint32_t i = 0; i < n_beats; i++) {
#pragma HLS PIPELINE II = 1
        uint32_t part = i & last_part;
        if (part == 0u)
            held = codes[i >> log2];
        x[i] = unquant_part(held, part, n - 16u * i, f, shift);
    }
    *status = good != 0u ? 0u : (uint32_t)QUANT_REFUSED;
}
