/* check.h : harness of C tests. Exit 0 pass, 1 fail, 77 skip with a printed reason. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>

static int check_bad;

/* Prints the arguments of the first ten failures. */
#define CHECK(cond, ...)                                               \
    do {                                                               \
        if (!(cond) && check_bad++ < 10) {                             \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond); \
            fprintf(stderr, __VA_ARGS__);                              \
            fputc('\n', stderr);                                       \
        }                                                              \
    } while (0)

#define SKIP(why)           \
    do {                    \
        puts("skip: " why); \
        exit(77);           \
    } while (0)

/* The larger number; unlike fmax(), nan if one of them is. */
static inline double check_max(double a, double b)
{
    return b > a || b != b ? b : a;
}

#define DONE()                                                \
    do {                                                      \
        if (check_bad)                                        \
            fprintf(stderr, "%d checks failed\n", check_bad); \
        return check_bad != 0;                                \
    } while (0)

#endif
