/* sum_exact.c : decides whether an exact sum can use fp32 or fp64, and computes the constants. */
#include "vec/sum/sum_exact.h"
#include "base/bits.h"

enum { FP32_BITS = 24, FP64_BITS = 53, HALF_BIAS = 15, HALF_M = 10, SCALE_MAX = 60 };

static float power_of_two(int exp)
{
    return float_of((uint32_t)(127 + exp) << 23);
}

bool sum_exact_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                    struct sum_exact *plan)
{
    const struct mf_fmt in = sum->in;
    const unsigned in_width = mf_width(in), out_width = mf_width(out);
    const bool halves = in.e == 5 && in.m == HALF_M && in.flavour == MF_IEEE;
    const int span = halves      ? 30
                     : in.e == 5 ? 15
                                 : (1 << in.e) - 1 + mf_uses_top(in),
              scale = HALF_BIAS - mf_bias(in) - shift;
    if (sum->rule != VEC_EXACT || (in_width != 8 && in_width != 4 && !halves) || in.e > 5 ||
        (in.flavour != MF_IEEE && in.e > 4))
        return false;
    if (span + in.m + log2_up(n_parts) > (halves ? FP64_BITS : FP32_BITS) || scale > SCALE_MAX ||
        scale < -SCALE_MAX)
        return false;
    if (halves && out_width == 4)
        return false;
    const bool floats = mf_same(out, mf_fp32()) && in.e <= 4;
    if (out_width != 4 && out_width != 8 && out_width != 16 && !floats) /* hence m <= 14 */
        return false;
    *plan = (struct sum_exact){
        .halves = halves,
        .nibbles = in_width == 4,
        .m = in.m,
        .unit = halves ? 1 : 0x1p-14f / (float)(1u << in.m),
        .right = halves ? 0 : in.m - 2,
        .special = (int)mf_special(in),
        .special_add = (31 - (1 << in.e) + 1) << HALF_M,
        .two = in.e == 5 && !halves,
        .out_width = out_width,
        .scale = power_of_two(scale),
        .drop = 23u - out.m,
        .first = (uint32_t)(128 - mf_bias(out)) << 23,
        .half = floats ? 0 : (1u << (22 - out.m)) - 1,
        .odd = out.m == 0,
        .rebias = (uint32_t)(127 - mf_bias(out)) << out.m,
        .low = (uint32_t)(127 + 24 - mf_bias(out) - out.m) << 23,
        .beyond = sum->overflow == MF_SATURATE ? mf_max(out) : mf_inf(out),
        .nan = mf_nan(out),
        .code = enc_plan_make(out, MF_NEAREST, sum->overflow, 1 - mf_bias(in) - in.m - shift),
    };
    for (uint32_t code = 0; code < 16 && plan->nibbles; code++) {
        plan->half_of[code] = (uint8_t)(dec_half_of(in, code) >> 8);
        plan->value_of[code] = (uint8_t)mf_acc_add(in, 0, code);
    }
    return true;
}
