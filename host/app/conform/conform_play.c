/* conform_play.c : reads values of a vector for a library, and compares the results. */
#include "app/conform/conform_library.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char conform_no_random[] = "no call of narrowcast.h takes its random words",
           conform_no_residual[] = "no call of narrowcast.h takes its residuals";

int conform_returns(struct conform_play *p, const char *call, int64_t rc, int64_t wanted)
{
    struct conform_fault *f = p->fault;
    snprintf(f->what, sizeof f->what, "%s", call);
    snprintf(f->field, sizeof f->field, "result");
    snprintf(f->received, sizeof f->received, "%" PRId64 "%s%s%s", rc, *p->said ? " (" : "",
             p->said, *p->said ? ")" : "");
    snprintf(f->wanted, sizeof f->wanted, "%" PRId64, wanted);
    return CONFORM_FAILED;
}

int conform_compare(struct conform_play *p, const char *call, const uint32_t *got,
                    const uint32_t *wanted, size_t n, bool free)
{
    struct conform_fault *f = p->fault;
    size_t i = 0;
    while (i < n && (got[i] == wanted[i] || (free && (got[i] & 0x7fffffff) > 0x7f800000 &&
                                             (wanted[i] & 0x7fffffff) > 0x7f800000)))
        i++;
    if (i == n)
        return CONFORM_PASSED;
    snprintf(f->what, sizeof f->what, "%s", call);
    snprintf(f->field, sizeof f->field, "element %zu", i);
    snprintf(f->received, sizeof f->received, "%08x", got[i]);
    snprintf(f->wanted, sizeof f->wanted, "%08x", wanted[i]);
    return CONFORM_FAILED;
}

int conform_leave(struct conform_play *p, const char *why)
{
    snprintf(p->fault->what, sizeof p->fault->what, "%s", why);
    return CONFORM_NOT_RUN;
}

bool conform_int(const struct conform_play *p, const char *key, int *to)
{
    double value;
    if (!jsonl_in_real(p->in, key, &value) || fabs(value) > INT32_MAX)
        return false;
    *to = (int)value;
    return true;
}

const char *conform_text(const struct conform_play *p, const char *key, char to[CONFORM_WORD])
{
    return jsonl_in_text(p->in, key, to, CONFORM_WORD) ? to : NULL;
}

bool conform_power(struct conform_play *p, int shift, char to[CONFORM_WORD])
{
    snprintf(to, CONFORM_WORD, "const:%.17g", ldexp(1, shift));
    p->options.scale = to;
    return shift >= -149 && shift <= 127;
}
