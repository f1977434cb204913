/* reduce_hls.c : files of codes added by the HLS core as this machine's compiler has it
 * (hls/core/reduce.c). */
#include "app/files/reduce_card.h"
#include "base/buf.h"
#include "base/err.h"
#include "hls/core/reduce.h"
#include <stdlib.h>
#include <string.h>

struct hls_job {
    uint8_t **parts, *result; /* [n_in] a block of packed codes, whole beats */
    struct beat *in, *out;    /* the same as beats */
};

static int open_buffers(struct hls_job *j, int n_in, size_t in_bytes, size_t out_bytes)
{
    j->parts = buf_alloc((size_t)n_in * sizeof *j->parts);
    j->result = buf_alloc(out_bytes);
    j->in = buf_alloc((size_t)n_in * in_bytes);
    j->out = buf_alloc(out_bytes);
    if (!j->parts || !j->result || !j->in || !j->out)
        return -ENOMEM;
    for (int i = 0; i < n_in; i++)
        if (!(j->parts[i] = buf_alloc(in_bytes)))
            return -ENOMEM;
    return 0;
}

static void close_buffers(struct hls_job *j, int n_in)
{
    for (int i = 0; j->parts && i < n_in; i++)
        free(j->parts[i]);
    free(j->parts);
    free(j->result);
    free(j->in);
    free(j->out);
}

/* The n codes in j->parts to their sums in j->result. */
static int add_block(struct hls_job *j, const struct vec_sum *sum, int n_in, size_t n)
{
    const size_t held = vec_bytes(sum->in, n), n_beats = (held + BEAT_SIZE - 1) / BEAT_SIZE;
    uint32_t status;
    for (int i = 0; i < n_in; i++) {
        memset(j->parts[i] + held, 0, n_beats * BEAT_SIZE - held);
        if (n * mf_width(sum->in) % 8)
            j->parts[i][held - 1] &= 15;
        for (size_t b = 0; b < n_beats; b++)
            j->in[(size_t)i * n_beats + b] = beat_load(j->parts[i] + b * BEAT_SIZE);
    }
    reduce_kernel(j->in, j->out, (uint32_t)n_in, (uint32_t)n_beats, (uint32_t)n_beats,
                  beat_format_byte(sum->in), beat_format_byte(sum->out), (uint32_t)sum->out_shift,
                  sum->overflow == MF_SATURATE, &status);
    if (status & REDUCE_REFUSED)
        return ERR(-EINVAL, "the HLS core refused the sum");
    for (size_t b = 0; b * BEAT_SIZE < vec_bytes(sum->out, n); b++)
        beat_store(j->out[b], j->result + b * BEAT_SIZE);
    return 0;
}

int reduce_hls(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out)
{
    TRY(reduce_card_check(sum, n_in));
    struct hls_job j = {0};
    int rc = open_buffers(&j, n_in, vec_bytes(sum->in, CODES_IN_BLOCK),
                          vec_bytes(sum->out, CODES_IN_BLOCK) * 4);
    for (size_t n = 1; !rc && n;) {
        rc = reduce_read(in, n_in, 1, j.parts, &n);
        if (!rc && n)
            rc = add_block(&j, sum, n_in, n);
        if (!rc)
            rc = file_out_write(out, j.result, vec_bytes(sum->out, n));
    }
    close_buffers(&j, n_in);
    return rc;
}
