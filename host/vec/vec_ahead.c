/* vec_ahead.c : does this CPU stream better when it is asked for what comes? */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include <cpuid.h>
#endif

/* AMD's Zen 4 (family 25, with VBMI) streams better by itself: scans 24.5 -> 30.3 GB/s, casts 26.9 ->
 * 27.7. Zen 5 casts at 0.68 of the speed of reading without, at 0.93 with (bench/README.md); others
 * have not been measured. */
bool vec_isa_asks_ahead(void)
{
#ifdef VEC_X86
    enum { ZEN_4 = 0xf + 0xa };
    unsigned a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx &&
        d == signature_AMD_edx && __get_cpuid(1, &a, &b, &c, &d))
        return (a >> 8 & 0xf) + (a >> 20 & 0xff) != ZEN_4;
#endif
    return true;
}
