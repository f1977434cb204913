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
    static const struct {
        const char *word;
        int k;
    } right[] = {
        {"self", 0},   {"direct", 0}, {"ring", 0}, {"group-master:3", 3}, {"group-scatter:12", 12},
        {"gather", 0}, {"native", 0},
    };
    const int n_right = sizeof right / sizeof right[0];
    const struct algo *a = NULL;
    int k = -7;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err_hold();
        CHECK(algo_find(wrong[i], 4, &a, &k) == -EINVAL && !a && k == -7, "\"%s\"", wrong[i]);
        err_release(false);
    }
    for (int i = 0; i < n_right; i++) {
        CHECK(algo_find(right[i].word, 4, &a, &k) == 0 && a == algo_at(i) && a->help, "\"%s\"",
              right[i].word);
        CHECK(k == right[i].k && !a->grouped == !k, "\"%s\": %d", right[i].word, k);
    }
    CHECK(algo_find("auto", 1, &a, &k) == 0 && a == &algo_self, "auto alone");
    CHECK(algo_find("auto", 2, &a, &k) == 0 && a == &algo_direct && k == 0, "auto");
    CHECK(algo_at(-1) == NULL && algo_at(n_right) == NULL, "the list");
    DONE();
}
