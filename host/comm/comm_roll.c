/* comm_roll.c : who has not answered a roll call, in a line. */
#include "base/err.h"
#include "base/text.h"
#include "comm/comm_inside.h"
#include <string.h>

/* "1, 4, 7", or the first few of many. Returns how many. */
static int list_missing(const struct comm *c, const bool *heard, char *text, size_t size)
{
    struct text list = text_in(text, size);
    int n = 0;
    for (int r = 0; r < c->n_ranks; r++)
        if (!heard[r] && ++n <= 16)
            text_add(&list, "%s%d", n > 1 ? ", " : "", r);
    if (n > 16)
        text_add(&list, ", ...");
    return n;
}

void comm_roll_say(const struct comm *c, const bool *heard, int code)
{
    char list[192] = "";
    const int missing = list_missing(c, heard, list, sizeof list);
    const char *s = missing > 1 ? "s" : "", *are = missing > 1 ? "are" : "is";
    if (code != -ETIMEDOUT && missing > 0)
        (void)ERR(code, "rank%s %s of %d %s gone: %s", s, list, c->n_ranks, are, strerror(-code));
    else if (code != -ETIMEDOUT)
        (void)ERR(code, "messages failed though all %d ranks answer: %s", c->n_ranks,
                  strerror(-code));
    else if (missing > 0)
        (void)ERR(code, "rank%s %s of %d did not answer for %g s", s, list, c->n_ranks,
                  c->deadline_s);
    else
        (void)ERR(code,
                  "waited %g s for each other though all %d ranks answer: they take different "
                  "steps, or the deadline is too short",
                  c->deadline_s, c->n_ranks);
}
