/* train_agree.c : all ranks agree whether a phase went well; behind it every rank holds its lines
 * again. */
#include "app/train/train.h"
#include "base/err.h"

int train_agree(struct train *t, int rc)
{
    rc = comm_agree(t->comm, rc);
    t->agreed = rc < 0;
    err_hold();
    return rc;
}
