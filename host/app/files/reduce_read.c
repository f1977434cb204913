/* reduce_read.c : the next codes of all files that are added, which must be as many of each. */
#include "app/files/reduce_card.h"
#include "base/err.h"

int reduce_read(struct codes_in *in, int n_in, size_t n_blocks, uint8_t *const *to, size_t *n)
{
    size_t done = 0;
    for (size_t b = 0; b < n_blocks; b++) {
        size_t first_n = 0;
        for (int i = 0; i < n_in; i++) {
            size_t got;
            TRY(codes_in_read(&in[i], to[i] + vec_bytes(in[i].fmt, done), &got));
            if (i > 0 && got != first_n)
                return ERR(-EINVAL,
                           "'%s' and '%s' differ in length: every file must hold as many codes",
                           in[0].file.path, in[i].file.path);
            first_n = got;
        }
        done += first_n;
        if (first_n < CODES_IN_BLOCK)
            break;
    }
    *n = done;
    return 0;
}
