/* vec_cpu.c : the CPU's table of operations, filled once from what CPUID says and NARROWCAST_ISA allows. */
#include "base/err.h"
#include "vec/vec_isa.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef VEC_X86
#include <cpuid.h>
#endif

enum { N_FILLS = 2 }; /* casts, sums */
static const struct {
    const char *name;
    void (*fill[N_FILLS])(struct vec_ops *ops); /* NULL: nothing better than the rows above */
} isas[VEC_ISAS] = {
    [VEC_SCALAR] = {"scalar", {NULL, NULL}},
#ifdef VEC_X86
    [VEC_AVX2] = {"avx2", {NULL, NULL}},
    [VEC_AVX512] = {"avx512", {NULL, NULL}},
#else
    [VEC_AVX2] = {"avx2", {NULL, NULL}},
    [VEC_AVX512] = {"avx512", {NULL, NULL}},
#endif
};

const char *vec_isa_name(enum vec_isa isa)
{
    return isas[isa].name;
}

static bool isa_here(enum vec_isa isa)
{
    if (isa == VEC_SCALAR)
        return true;
#ifdef VEC_X86
    unsigned a, b, c, d;
    __builtin_cpu_init();
    bool avx2 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) && __builtin_cpu_supports("avx2") &&
                __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (isa == VEC_AVX2 || !avx2)
        return avx2;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

bool vec_isa_table(enum vec_isa isa, struct vec_ops *ops)
{
    if (!isa_here(isa))
        return false;
    *ops = vec_plain;
    for (int i = 0; i <= (int)isa; i++)
        for (int f = 0; f < N_FILLS; f++)
            if (isas[i].fill[f])
                isas[i].fill[f](ops);
    ops->name = isas[isa].name;
    return true;
}

/* ---- the one table of this process: written once, read by all after ---- */

static struct vec_ops best;

static void fill_best(void)
{
    const char *word = getenv("NARROWCAST_ISA");
    int isa = VEC_ISAS;
    while (isa-- > 0 && ((word && strcmp(word, isas[isa].name)) || !vec_isa_table((enum vec_isa)isa, &best)))
        ;
    for (isa = VEC_ISAS; !best.name && isa-- > 0;) /* vec_best_check() says why it is not the word's */
        vec_isa_table((enum vec_isa)isa, &best);
}

const struct vec_ops *vec_best(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_best);
    return &best;
}

int vec_best_check(void)
{
    const char *word = getenv("NARROWCAST_ISA");
    if (!word || !strcmp(word, vec_best()->name))
        return 0;
    for (int isa = 0; isa < VEC_ISAS; isa++)
        if (!strcmp(word, isas[isa].name))
            return ERR(-EINVAL, "cannot take NARROWCAST_ISA=%s: this CPU lacks it; it has up to %s", word,
                       vec_best()->name);
    return ERR(-EINVAL, "cannot take NARROWCAST_ISA=\"%s\": want scalar, avx2 or avx512", word);
}
