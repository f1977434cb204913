/* reduce_xrt.c : files of codes added by a card in this machine, in its own memory
 * (offload/xrt/card_mm.h): a run of the card for each few MiB of them. */
#include "app/files/reduce_card.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "offload/xrt/card_mm.h"
#include <stdlib.h>

/* An Alveo needs seconds to take a container; a card that is simulated clock by clock adds 4 MB/s. */
static const double open_s = 60, run_s = 120;

struct xrt_job {
    const struct vec_sum *sum;
    struct card_mm mm;
    int n_in;
    uint8_t **parts, *sums; /* [n_in] of n_blocks blocks of codes; of their sums */
    size_t n_blocks;
    double card_s; /* spent in runs, transfers and all */
};

static int open_buffers(struct xrt_job *j)
{
    const size_t blocks = j->mm.run_codes / CODES_IN_BLOCK;
    j->n_blocks = blocks ? blocks : 1;
    j->parts = buf_alloc((size_t)j->n_in * sizeof *j->parts);
    j->sums = buf_alloc(vec_bytes(j->sum->out, j->n_blocks * CODES_IN_BLOCK));
    if (!j->parts || !j->sums)
        return -ENOMEM;
    for (int i = 0; i < j->n_in; i++)
        if (!(j->parts[i] = buf_alloc(vec_bytes(j->sum->in, j->n_blocks * CODES_IN_BLOCK))))
            return -ENOMEM;
    return 0;
}

static void close_buffers(struct xrt_job *j)
{
    for (int i = 0; j->parts && i < j->n_in; i++)
        free(j->parts[i]);
    free(j->parts);
    free(j->sums);
}

static int add_all(struct xrt_job *j, struct codes_in *in, struct file_out *out)
{
    for (;;) {
        size_t n;
        TRY(reduce_read(in, j->n_in, j->n_blocks, j->parts, &n));
        if (!n)
            return 0;
        const double start = clock_s();
        const int rc = card_mm_add(&j->mm, (const uint8_t *const *)j->parts, n, j->sums, run_s);
        if (rc)
            return ERR(rc, "%s", j->mm.why);
        j->card_s += clock_s() - start;
        TRY(file_out_write(out, j->sums, vec_bytes(j->sum->out, n)));
    }
}

static void report(const struct xrt_job *j)
{
    const struct card_mm *mm = &j->mm;
    err_note("%s: %llu runs, %.1f MB to the card, %.1f MB back, %.1f MB/s", mm->card.name,
             (unsigned long long)mm->runs, 1e-6 * (double)mm->in_bytes,
             1e-6 * (double)mm->out_bytes,
             1e-6 * (double)mm->in_bytes / (j->card_s > 0 ? j->card_s : 1e-9));
}

int reduce_xrt(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
               const char *card, const char *xclbin)
{
    struct xrt_job j = {.sum = sum, .n_in = n_in};
    TRY(reduce_card_check(sum, n_in));
    int rc = card_mm_open(&j.mm, card, xclbin, sum, n_in, 0, open_s);
    if (rc)
        return ERR(rc, "%s", j.mm.why);
    rc = open_buffers(&j);
    if (!rc)
        rc = add_all(&j, in, out);
    if (!rc)
        report(&j);
    close_buffers(&j);
    card_mm_close(&j.mm);
    return rc;
}
