/* reduce_card.c : files of codes added by a simulated card (sim_sum.h), as many codes of each at a time
 * as go in at once. */
#include "app/files/reduce_card.h"
#include "app/files/sim_sum.h"
#include "base/buf.h"
#include "base/err.h"
#include "hls/card/packet.h"
#include "offload/window/card_fits.h"
#include <stdlib.h>

int reduce_card_check(const struct vec_sum *sum, int n_ranks)
{
    struct card_fit fit;
    return card_fits(sum, n_ranks, "files", &fit);
}

struct blocks {
    const struct vec_sum *sum;
    int n_in;
    size_t n_blocks;               /* of CODES_IN_BLOCK */
    uint8_t *parts[PKT_MAX_RANKS]; /* [n_blocks] */
    uint8_t *sums;
};

static int open_blocks(struct blocks *b)
{
    const size_t n = b->n_blocks * CODES_IN_BLOCK;
    b->sums = buf_alloc(vec_bytes(b->sum->out, n));
    for (int i = 0; i < b->n_in; i++) {
        b->parts[i] = buf_alloc(vec_bytes(b->sum->in, n));
        if (!b->parts[i])
            return -ENOMEM;
    }
    return b->sums ? 0 : -ENOMEM;
}

static void close_blocks(struct blocks *b)
{
    for (int i = 0; i < b->n_in; i++)
        free(b->parts[i]);
    free(b->sums);
}

static int add_all(struct blocks *b, struct sim_sum *card, struct codes_in *in,
                   struct file_out *out)
{
    for (;;) {
        size_t n;
        TRY(reduce_read(in, b->n_in, b->n_blocks, b->parts, &n));
        if (!n)
            return 0;
        TRY(sim_sum_add(card, (const uint8_t *const *)b->parts, n, b->sums));
        TRY(file_out_write(out, b->sums, vec_bytes(b->sum->out, n)));
    }
}

int reduce_card(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
                const char *model, const char *wave)
{
    struct sim_sum *card;
    char line[320];
    struct text said = text_in(line, sizeof line);
    TRY(sim_sum_open(sum, n_in, "files", model, wave, &card));
    struct blocks b = {.sum = sum, .n_in = n_in, .n_blocks = sim_sum_most(card) / CODES_IN_BLOCK};
    int rc = open_blocks(&b);
    if (!rc)
        rc = add_all(&b, card, in, out);
    if (!rc) {
        sim_sum_describe(card, &said);
        err_note("%s", line);
    }
    close_blocks(&b);
    sim_sum_close(card);
    return rc;
}
