/* test_algo.c : algorithms are found by their names only. */
#include "base/err.h"
#include "check.h"
#include "comm/algo/algo.h"
#include <limits.h>
#include <stdio.h>

int main(void)
{
    static const char *const wrong[] = {"",
                                        "rin",
                                        "ring:2",
                                        "auto:2",
                                        "group-master",
                                        "group-master:",
                                        "group-master:0",
                                        "group-master:-1",
                                        "group-master:2x",
                                        "group-scatter: 2",
                                        "group-scatter:2147483648",
                                        "group-scatter:99999999999999999999",
                                        "direct:",
                                        ":2"};
    const struct algo *a = NULL;
    int k = -7;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err_hold();
        CHECK(algo_find(wrong[i], 4, &a, &k) == -EINVAL && !a && k == -7, "\"%s\"", wrong[i]);
        err_release(false);
    }
    const struct algo *listed;
    int n = 0;
    for (; (listed = algo_at(n)); n++) {
        char word[64];
        snprintf(word, sizeof word, "%s%s", listed->name, listed->grouped ? ":12" : "");
        CHECK(algo_find(word, 4, &a, &k) == 0 && a == listed && k == (a->grouped ? 12 : 0) &&
                  a->help,
              "\"%s\": %d", word, k);
    }
    CHECK(algo_find("auto", 1, &a, &k) == 0 && a == &algo_self, "auto alone");
    CHECK(algo_find("auto", 2, &a, &k) == 0 && a == &algo_direct && k == 0, "auto");
    CHECK(algo_find("group-scatter:2147483647", 4, &a, &k) == 0 && k == INT_MAX, "%d", k);
    CHECK(n >= 7 && algo_at(-1) == NULL && algo_at(n + 1) == NULL, "the list: %d", n);
    DONE();
}
