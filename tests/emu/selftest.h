/* selftest.h : how the emulator's own tests report a failure: the line's number. */
#ifndef SELFTEST_H
#define SELFTEST_H
#define HOLDS(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define WORKS(call) HOLDS((call) == cudaSuccess)
#endif
