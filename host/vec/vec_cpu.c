/* vec_cpu.c : fills the CPU's table of operations once, from CPUID and NARROWCAST_ISA. */
#include "base/err.h"
#include "vec/vec_isa.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef VEC_X86
#include <cpuid.h>
#endif

enum { N_FILLS = 5 }; /* casts, sums, levels, signs, ratios */
static const struct {
    const char *name;
    void (*fill[N_FILLS])(struct vec_ops *ops); /* NULL: slots stay as the rows above set them */
} isas[VEC_ISAS] = {
    [VEC_SCALAR] = {.name = "scalar", .fill = {cast_c_fill, sum_c_fill}},
#ifdef VEC_X86
    [VEC_AVX2] = {.name = "avx2",
                  .fill = {cast_avx2_fill, sum_avx2_fill, levels_avx2_fill, signs_avx2_fill,
                           ratio_avx2_fill}},
    [VEC_AVX512] = {.name = "avx512",
                    .fill = {cast_avx512_fill, sum_avx512_fill, levels_avx512_fill,
                             signs_avx512_fill, ratio_avx512_fill}},
    [VEC_AVX512VBMI] = {.name = "avx512vbmi", .fill = {cast_avx512vbmi_fill, sum_avx512vbmi_fill}},
    [VEC_AVX512FP16] = {.name = "avx512fp16", .fill = {NULL, sum_avx512fp16_fill}},
#else
    [VEC_AVX2] = {.name = "avx2"},
    [VEC_AVX512] = {.name = "avx512"},
    [VEC_AVX512VBMI] = {.name = "avx512vbmi"},
    [VEC_AVX512FP16] = {.name = "avx512fp16"},
#endif
#ifdef VEC_ARM
    [VEC_NEON] = {.name = "neon", .fill = {cast_neon_fill, sum_neon_fill}},
#else
    [VEC_NEON] = {.name = "neon"},
#endif
};

const char *vec_isa_name(enum vec_isa isa)
{
    return isas[isa].name;
}

bool vec_isa_here(enum vec_isa isa)
{
    if (isa == VEC_SCALAR)
        return true;
#if defined(VEC_X86)
    if (isa == VEC_NEON)
        return false;
    unsigned a, b, c, d;
    __builtin_cpu_init();
    bool avx2 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) &&
                __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");
    if (isa == VEC_AVX2 || !avx2)
        return avx2;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    if (isa == VEC_AVX512 || !avx512)
        return avx512;
    const bool vbmi = __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
    if (isa == VEC_AVX512VBMI || !vbmi)
        return vbmi;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 23 & 1); /* AVX512-FP16 */
#elif defined(VEC_ARM)
    return isa == VEC_NEON;
#else
    return false;
#endif
}

bool vec_isa_table(enum vec_isa isa, struct vec_ops *ops)
{
    if (!vec_isa_here(isa))
        return false;
    *ops = vec_plain;
    for (int i = 0; i <= (int)isa; i++)
        for (int f = 0; f < N_FILLS; f++)
            if (isas[i].fill[f])
                isas[i].fill[f](ops);
    ops->name = isas[isa].name;
    return true;
}

/* ---- the table of the process: written once, read-only afterwards ---- */

static struct vec_ops best;

static const char *asked(void)
{
    const char *word = getenv("NARROWCAST_ISA");
    return word && *word ? word : NULL;
}

/* NULL and unknown names give the widest. */
static enum vec_isa isa_of(const char *word)
{
    int isa = 0;
    while (isa < VEC_ISAS - 1 && !(word && !strcmp(word, isas[isa].name)))
        isa++;
    return (enum vec_isa)isa;
}

static const char *widest(void)
{
    int isa = VEC_ISAS - 1;
    while (!vec_isa_here((enum vec_isa)isa))
        isa--;
    return isas[isa].name;
}

static void fill_best(void)
{
    enum vec_isa isa = isa_of(asked());
    while (!vec_isa_table(isa, &best)) /* ends: scalar always exists */
        isa--;
}

const struct vec_ops *vec_best(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_best);
    return &best;
}

int vec_best_check(void)
{
    const char *word = asked();
    if (!word || !strcmp(word, vec_best()->name))
        return 0;
    if (!strcmp(word, isas[isa_of(word)].name))
        return ERR(-EINVAL, "cannot use NARROWCAST_ISA=%s: this CPU has at most %s", word,
                   widest());
    return ERR(-EINVAL,
               "unknown NARROWCAST_ISA \"%s\": want scalar, avx2, avx512, avx512vbmi, "
               "avx512fp16 or neon",
               word);
}
