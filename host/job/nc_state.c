/* nc_state.c : saves and loads a communicator's state between steps.
 *
 *    | "ncstate\0" | options tag | layers tag | ranks | rank | step | size | CRC | 0 |
 *          8              4            4          4      4      8      8     4    4
 *
 * After this head come `size` bytes, the codec's state of all layers. With blocks, each block of a
 * process has its own head and state; ranks counts blocks, and rank is the block's index. */
#include "base/crc.h"
#include "job/nc_inside.h"
#include <stdlib.h>
#include <string.h>

struct head {
    char magic[8];
    uint32_t options, layers; /* tags */
    int32_t n_ranks, rank;
    uint64_t step, bytes;
    uint32_t crc, zero; /* crc: of the head with crc = 0, then of the state */
};
_Static_assert(sizeof(struct head) == 48, "no gaps");

static struct head head_of(const struct nc *nc, const struct nc_block *b)
{
    return (struct head){.magic = "ncstate", /* and a terminating zero */
                         .options = b->job.tag,
                         .layers = nc->layers_tag,
                         .n_ranks = comm_n_ranks(b->comm),
                         .rank = comm_rank(b->comm),
                         .step = nc->step,
                         .bytes = reducer_state_bytes(b->job.reducer)};
}

static uint32_t checksum(struct head head, const uint8_t *state)
{
    head.crc = 0;
    return crc_more(crc_of(&head, sizeof head), state, head.bytes);
}

uint64_t nc_step(const struct nc *nc)
{
    return nc ? nc->step : 0;
}

int nc_set_step(struct nc *nc, uint64_t step)
{
    TRY(nc_enter_between(nc));
    nc->step = step;
    return nc_leave(nc, 0);
}

/* All blocks have states of equal length. */
static size_t block_bytes(const struct nc *nc)
{
    return sizeof(struct head) + reducer_state_bytes(nc->blocks->job.reducer);
}

size_t nc_state_bytes(const struct nc *nc)
{
    return nc ? (size_t)nc->n_blocks * block_bytes(nc) : 0;
}

int nc_state_save(struct nc *nc, void *to)
{
    int rc = 0;
    TRY(nc_enter_between(nc));
    if (!to)
        return nc_leave_refused(nc,
                                ERR(-EINVAL, "cannot save a state: the pointer for it is NULL"));
    for (int k = 0; k < nc->n_blocks && rc == 0; k++) {
        struct head head = head_of(nc, &nc->blocks[k]);
        uint8_t *at = (uint8_t *)to + (size_t)k * block_bytes(nc), *state = at + sizeof head;
        rc = reducer_state_get(nc->blocks[k].job.reducer, state);
        head.crc = checksum(head, state);
        memcpy(at, &head, sizeof head);
    }
    return nc_leave(nc, rc);
}

static int check_block(const struct nc *nc, const struct nc_block *b, const uint8_t *from,
                       size_t bytes, uint64_t *step)
{
    const struct head want = head_of(nc, b);
    const char *rank = comm_rank_word(b->comm);
    struct head got;
    memcpy(&got, from, bytes < sizeof got ? bytes : sizeof got);
    if (bytes < sizeof got || memcmp(got.magic, want.magic, sizeof got.magic) != 0)
        return ERR(-EPROTO, "cannot load a state: the bytes are not a state");
    if (got.options != want.options || got.layers != want.layers)
        return ERR(-EPROTO, "cannot load a state: it belongs to a job of other %s",
                   got.layers != want.layers ? "layers" : "options");
    if (bytes != sizeof got + want.bytes)
        return ERR(-EPROTO, "cannot load a state of %zu bytes: this job's state has %zu", bytes,
                   sizeof got + (size_t)want.bytes);
    if (got.bytes != want.bytes)
        return ERR(-EPROTO, "cannot load a state: its number of bytes is damaged");
    if (got.n_ranks != want.n_ranks || got.rank != want.rank)
        return ERR(-EPROTO, "cannot load a state on %s %d of %d: it belongs to %s %d of %d", rank,
                   want.rank, want.n_ranks, rank, got.rank, got.n_ranks);
    if (got.crc != checksum(got, from + sizeof got))
        return ERR(-EPROTO, "cannot load a state: its checksum is wrong");
    if (b != nc->blocks && got.step != *step)
        return ERR(-EPROTO, "cannot load a state: its blocks are of different steps");
    *step = got.step;
    return reducer_state_check(b->job.reducer, from + sizeof got);
}

static int check(const struct nc *nc, const void *from, size_t bytes, uint64_t *step)
{
    const size_t each = block_bytes(nc);
    if (!from)
        return ERR(-EINVAL, "cannot load a state: its pointer is NULL");
    if (nc->virtual && bytes != (size_t)nc->n_blocks * each)
        return ERR(-EPROTO,
                   "cannot load a state of %zu bytes: the %d blocks of this process have %zu",
                   bytes, nc->n_blocks, (size_t)nc->n_blocks * each);
    for (int k = 0; k < nc->n_blocks; k++)
        TRY(check_block(nc, &nc->blocks[k], (const uint8_t *)from + (size_t)k * each,
                        nc->virtual ? each : bytes, step));
    return 0;
}

int nc_state_load(struct nc *nc, const void *from, size_t bytes)
{
    uint64_t step = 0;
    TRY(nc_enter_between(nc));
    err_hold();
    int rc = comm_agree(nc->comm, check(nc, from, bytes, &step));
    if (rc == 0)
        rc = comm_check_equal(nc->comm, &step, sizeof step, "the step of a state");
    if (rc < 0)
        return nc_leave_refused(nc, rc);
    for (int k = 0; k < nc->n_blocks && rc == 0; k++) {
        struct reducer *r = nc->blocks[k].job.reducer;
        reducer_forget_gathered(r);
        rc = reducer_state_put(r, (const uint8_t *)from + (size_t)k * block_bytes(nc) +
                                      sizeof(struct head));
    }
    if (rc == 0)
        nc->step = step;
    return nc_leave(nc, rc);
}
