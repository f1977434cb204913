/* train_all.c : runs a training job of one rank from start to end. */
#include "app/train/train.h"

int train_all(struct train *t)
{
    int rc = train_open(t);
    if (rc == 0)
        rc = train_run(t);
    if (rc == 0 && t->grows)
        return ELASTIC_GROWS;
    if (rc == 0) {
        rc = t->ends_early ? 0 : report_end(t);
        /* reports a failed final save after the table */
        rc = train_agree(t, rc < 0 ? rc : t->pending);
    }
    if (t->saved_early)
        report_stopped(t);
    if (rc < 0 && !t->agreed && !comm_failed(t->comm))
        comm_abort(t->comm, rc); /* out of step: the ranks cannot agree */
    if (rc < 0 || !t->stopped_by)
        return rc;
    report_stopped(t);
    return 128 + t->stopped_by->number; /* as shells do */
}
