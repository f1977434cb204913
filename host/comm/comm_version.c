/* comm_version.c : checks that all ranks of a job have the same library. Its messages are the first of a
 * job: rank 0's record to all ranks, then comm_agree(). They stay as they are in all versions. */
#include "base/err.h"
#include "comm/comm_inside.h"
#include "comm/protocol.h"
#include <narrowcast.h>
#include <string.h>

struct record {
    char magic[8];
    uint32_t protocol;
    char version[20]; /* ends with a zero */
};
_Static_assert(sizeof(struct record) == 32, "no gaps");
_Static_assert(sizeof NC_VERSION <= sizeof((struct record *)0)->version, "has room");

static const struct record own = {.magic = "ncjoins", .protocol = PROTOCOL, .version = NC_VERSION};

/* Compare the record of rank 0 with this rank's. Return 0 or -EPROTO with a line. */
static int compare(const struct comm *c, struct record *r)
{
    if (memcmp(r, &own, sizeof own) == 0)
        return 0;
    r->version[sizeof r->version - 1] = 0;
    return ERR(-EPROTO,
               "cannot join the job: rank %d has narrowcast %s (protocol %u), and rank 0 has %s "
               "(protocol %u): need the same library on all ranks",
               c->rank, own.version, own.protocol, r->version, r->protocol);
}

int comm_check_version(struct comm *c)
{
    struct record first = own;
    TRY(c->ops->bcast(c, &first, sizeof first, 0));
    err_hold();
    return comm_agree(c, compare(c, &first));
}
