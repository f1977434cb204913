/* selftest.h : reports the line of a failure in the emulator's own tests. */
#ifndef SELFTEST_H
#define SELFTEST_H
#define HOLDS(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define WORKS(call) HOLDS((call) == cudaSuccess)
#endif
