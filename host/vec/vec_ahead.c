/* vec_ahead.c : does this CPU stream better when it is asked for what comes? */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include <cpuid.h>

/* AMD's family; 0 of others. */
static unsigned amd_family(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx || c != signature_AMD_ecx ||
        d != signature_AMD_edx || !__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    return (a >> 8 & 0xf) + (a >> 20 & 0xff);
}
#endif

/* As measured (bench/casts/README.md); of other CPUs nothing is known. */
unsigned vec_isa_asks(void)
{
#ifdef VEC_X86
    enum { ZEN_4 = 25, ZEN_5 = 26 };
    const unsigned family = amd_family();
    if (family == ZEN_4)
        return 0;
    if (family == ZEN_5)
        return VEC_ASKS_CASTS;
#endif
    return VEC_ASKS_CASTS | VEC_ASKS_SCANS;
}
