/* fp_mode.h : sets the CPU's floating-point mode to IEEE 754's defaults and restores the caller's.
 *
 *     const uint64_t was = fp_mode_ieee();   nearest-even, subnormals kept, no traps
 *     noinline_loop(...);                    not inlined: compilers would move its arithmetic
 *     fp_mode_back(was);                     out from between these two calls
 *
 *     fp_mode_to_zero();                     in IEEE mode: round toward zero (x86 and 64-bit ARM)
 *
 *     fenv_t callers;
 *     fp_env_enter(&callers);                the whole environment: on x86 also the x87, whose
 *     ...                                    mode strtod() and printf() obey. 114 ns instead of 4
 *     fesetenv(&callers); */
#ifndef FP_MODE_H
#define FP_MODE_H
#include <fenv.h>
#include <stdint.h>

static inline void fp_env_enter(fenv_t *callers)
{
    fegetenv(callers);
    fesetenv(FE_DFL_ENV);
}

#if defined(__x86_64__)
#include <xmmintrin.h>
static inline uint64_t fp_mode_ieee(void)
{
    const unsigned was = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return was;
}
static inline uint64_t fp_mode_to_zero(void)
{
    const unsigned was = _mm_getcsr();
    _mm_setcsr(was | _MM_ROUND_TOWARD_ZERO);
    return was;
}
static inline void fp_mode_back(uint64_t was)
{
    _mm_setcsr((unsigned)was);
}
#elif defined(__aarch64__)
static inline uint64_t fp_mode_ieee(void)
{
    uint64_t was;
    __asm__ volatile("mrs %0, fpcr" : "=r"(was));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    return was;
}
static inline uint64_t fp_mode_to_zero(void)
{
    uint64_t was;
    __asm__ volatile("mrs %0, fpcr" : "=r"(was));
    __asm__ volatile("msr fpcr, %0" : : "r"(was | 3u << 22));
    return was;
}
static inline void fp_mode_back(uint64_t was)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(was));
}
#else
static inline uint64_t fp_mode_ieee(void)
{
    return 0;
}
static inline void fp_mode_back(uint64_t was)
{
    (void)was;
}
#endif

#endif
