/* reduce_card.c : adds files of codes on the HLS core or a card of this machine. */
#include "app/files/reduce_card.h"
#include "base/buf.h"
#include "base/err.h"
#include "offload/window/frame.h"
#include "hls/core/reduce.h"
#include "base/clock.h"
#include "offload/xrt/card_mm.h"
#include <stdlib.h>
#include <string.h>

static int reduce_card_check(const struct vec_sum *sum, int n_ranks)
{
    struct card_fit fit;
    return card_fits(sum, n_ranks, "files", &fit);
}

uint8_t *reduce_blocks_sums(const struct reduce_blocks *b)
{
    return buf_alloc(vec_bytes(b->sum->out, b->n_blocks * CODES_IN_BLOCK));
}

int reduce_blocks_open(struct reduce_blocks *b)
{
    b->sums = reduce_blocks_sums(b);
    for (int i = 0; i < b->n_in; i++) {
        b->parts[i] = buf_alloc(vec_bytes(b->sum->in, b->n_blocks * CODES_IN_BLOCK));
        if (!b->parts[i])
            return -ENOMEM;
    }
    return b->sums ? 0 : -ENOMEM;
}

void reduce_blocks_close(struct reduce_blocks *b)
{
    for (int i = 0; i < b->n_in; i++)
        free(b->parts[i]);
    free(b->sums);
}

struct hls_job {
    struct reduce_blocks b; /* one block, in whole beats */
    struct beat *in, *out;  /* the same as beats */
};

static int open_beats(struct hls_job *j)
{
    TRY(reduce_blocks_open(&j->b));
    j->in = buf_alloc((size_t)j->b.n_in * vec_bytes(j->b.sum->in, CODES_IN_BLOCK));
    j->out = buf_alloc(vec_bytes(j->b.sum->out, CODES_IN_BLOCK));
    return j->in && j->out ? 0 : -ENOMEM;
}

static int add_block(struct hls_job *j, size_t n)
{
    const struct vec_sum *sum = j->b.sum;
    const int n_in = j->b.n_in;
    const size_t held = vec_bytes(sum->in, n), n_beats = (held + BEAT_SIZE - 1) / BEAT_SIZE;
    uint32_t status;
    for (int i = 0; i < n_in; i++) {
        memset(j->b.parts[i] + held, 0, n_beats * BEAT_SIZE - held);
        if (n * mf_width(sum->in) % 8)
            j->b.parts[i][held - 1] &= 15;
        for (size_t b = 0; b < n_beats; b++)
            j->in[(size_t)i * n_beats + b] = beat_load(j->b.parts[i] + b * BEAT_SIZE);
    }
    reduce_kernel(j->in, j->out, (uint32_t)n_in, (uint32_t)n_beats, (uint32_t)n_beats,
                  beat_format_byte(sum->in), beat_format_byte(sum->out), (uint32_t)sum->out_shift,
                  sum->overflow == MF_SATURATE, &status);
    if (status & REDUCE_REFUSED)
        return ERR(-EINVAL, "the HLS core refused the sum");
    for (size_t b = 0; b * BEAT_SIZE < vec_bytes(sum->out, n); b++)
        beat_store(j->out[b], j->b.sums + b * BEAT_SIZE);
    return 0;
}

int reduce_hls(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out)
{
    TRY(reduce_card_check(sum, n_in));
    struct hls_job j = {.b = {.sum = sum, .n_in = n_in, .n_blocks = 1}};
    int rc = open_beats(&j);
    for (size_t n = 1; !rc && n;) {
        rc = codes_in_read_all(in, n_in, 1, j.b.parts, &n);
        if (!rc && n)
            rc = add_block(&j, n);
        if (!rc)
            rc = file_out_write(out, j.b.sums, vec_bytes(sum->out, n));
    }
    reduce_blocks_close(&j.b);
    free(j.in);
    free(j.out);
    return rc;
}

/* An Alveo needs seconds to load a container; a card in Verilator adds 4 MB/s. */
static const double open_s = 60, run_s = 120;

struct xrt_job {
    struct reduce_blocks b;
    struct card_mm mm;
    double card_s; /* of runs, with transfers */
};

static int add_by_xrt(struct xrt_job *j, struct codes_in *in, struct file_out *out)
{
    for (;;) {
        size_t n;
        TRY(codes_in_read_all(in, j->b.n_in, j->b.n_blocks, j->b.parts, &n));
        if (!n)
            return 0;
        const double start = clock_s();
        const int rc = card_mm_add(&j->mm, (const uint8_t *const *)j->b.parts, n, j->b.sums, run_s);
        if (rc)
            return ERR(rc, "%s", j->mm.why);
        j->card_s += clock_s() - start;
        TRY(file_out_write(out, j->b.sums, vec_bytes(j->b.sum->out, n)));
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
    struct xrt_job j = {.b = {.sum = sum, .n_in = n_in}};
    TRY(reduce_card_check(sum, n_in));
    int rc = card_mm_open(&j.mm, card, xclbin, sum, n_in, 0, open_s);
    if (rc)
        return ERR(rc, "%s", j.mm.why);
    const size_t blocks = j.mm.run_codes / CODES_IN_BLOCK;
    j.b.n_blocks = blocks ? blocks : 1;
    rc = reduce_blocks_open(&j.b);
    if (!rc)
        rc = add_by_xrt(&j, in, out);
    if (!rc)
        report(&j);
    reduce_blocks_close(&j.b);
    card_mm_close(&j.mm);
    return rc;
}
