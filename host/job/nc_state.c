/* nc_state.c : saves and loads the state that a communicator keeps between steps.
 *
 *    | "ncstate\0" | options tag | layers tag | ranks | rank | step | size | CRC | 0 |
 *          8              4            4          4      4      8      8     4    4
 *
 * After this head come `size` bytes, the codec's state of all layers, from the reducer. */
#include "base/buf.h"
#include "base/crc.h"
#include "job/nc_inside.h"
#include <stdlib.h>
#include <string.h>

struct head {
    char magic[8];
    uint32_t words, layers;
    int32_t n_ranks, rank;
    uint64_t step, bytes;
    uint32_t crc, zero; /* crc: of the head with crc = 0, and of the state */
};
_Static_assert(sizeof(struct head) == 48, "no gaps");

static struct head head_of(const struct nc *nc)
{
    return (struct head){.magic = "ncstate", /* and a terminating zero */
                         .words = nc->job.tag,
                         .layers = nc->layers_tag,
                         .n_ranks = comm_n_ranks(nc->comm),
                         .rank = comm_rank(nc->comm),
                         .step = nc->step,
                         .bytes = reducer_state_bytes(nc->job.reducer)};
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

size_t nc_state_bytes(const struct nc *nc)
{
    return nc ? sizeof(struct head) + reducer_state_bytes(nc->job.reducer) : 0;
}

int nc_state_save(struct nc *nc, void *to)
{
    TRY(nc_enter_between(nc));
    if (!to)
        return nc_leave_refused(nc,
                                ERR(-EINVAL, "cannot save a state: the pointer for it is NULL"));
    struct head head = head_of(nc);
    uint8_t *state = (uint8_t *)to + sizeof head;
    const int rc = reducer_state_get(nc->job.reducer, state);
    head.crc = checksum(head, state);
    memcpy(to, &head, sizeof head);
    return nc_leave(nc, rc);
}

/* Checks whether this rank can have saved the state. *step: the step of the state. */
static int check(const struct nc *nc, const void *from, size_t bytes, uint64_t *step)
{
    const struct head want = head_of(nc);
    struct head got;
    if (!from)
        return ERR(-EINVAL, "cannot load a state: its pointer is NULL");
    memcpy(&got, from, bytes < sizeof got ? bytes : sizeof got);
    if (bytes < sizeof got || memcmp(got.magic, want.magic, sizeof got.magic) != 0)
        return ERR(-EPROTO, "cannot load a state: the bytes are not a state");
    if (got.words != want.words || got.layers != want.layers)
        return ERR(-EPROTO, "cannot load a state: it belongs to a job of other %s",
                   got.layers != want.layers ? "layers" : "options");
    if (bytes != sizeof got + want.bytes || got.bytes != want.bytes)
        return ERR(-EPROTO, "cannot load a state of %zu bytes: this job's state has %zu", bytes,
                   sizeof got + (size_t)want.bytes);
    if (got.n_ranks != want.n_ranks || got.rank != want.rank)
        return ERR(-EPROTO, "cannot load a state on rank %d of %d: it belongs to rank %d of %d",
                   want.rank, want.n_ranks, got.rank, got.n_ranks);
    if (got.crc != checksum(got, (const uint8_t *)from + sizeof got))
        return ERR(-EPROTO, "cannot load a state: its checksum is wrong");
    *step = got.step;
    return reducer_state_check(nc->job.reducer, (const uint8_t *)from + sizeof got);
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
    rc = reducer_state_put(nc->job.reducer, (const uint8_t *)from + sizeof(struct head));
    if (rc == 0)
        nc->step = step;
    return nc_leave(nc, rc);
}
