/* comm_node.c : which ranks share a machine. */
#include "comm/comm_node.h"
#include "base/err.h"
#include "comm/comm_inside.h"

int comm_rank_on_node(struct comm *c)
{
    int rank;
    TRY(c->ops->nodes(c, &rank, NULL));
    return rank;
}

int comm_nodes(struct comm *c, int32_t *nodes)
{
    int rank;
    return c->ops->nodes(c, &rank, nodes);
}
