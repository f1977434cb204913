/* test_algo.c : algorithms are found by their names, and by no others. */
#include "base/err.h"
#include "check.h"
#include "comm/algo.h"
#include <string.h>

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
                                        "group-scatter:99999999999999999999",
                                        "direct:",
                                        ":2"};
    static const char *const right[] = {
        "self", "direct", "ring", "gather", "native", "group-master:3", "group-scatter:12"};
    const struct algo *a = NULL;
    int k = -7;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err_hold();
        CHECK(algo_find(wrong[i], 4, &a, &k) == -EINVAL && !a && k == -7, "\"%s\"", wrong[i]);
        err_release(false);
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        CHECK(algo_find(right[i], 4, &a, &k) == 0 &&
                  strncmp(a->name, right[i], strlen(a->name)) == 0,
              "\"%s\"", right[i]);
        CHECK(k == (i == 5 ? 3 : i == 6 ? 12 : 0), "\"%s\": %d", right[i], k);
    }
    CHECK(algo_find("auto", 1, &a, &k) == 0 && a == &algo_self, "auto alone");
    CHECK(algo_find("auto", 2, &a, &k) == 0 && a == &algo_direct && k == 0, "auto");
    CHECK(algo_at(-1) == NULL && algo_at(7) == NULL && algo_at(6) == &algo_native, "the list");
    DONE();
}
