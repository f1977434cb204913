/* cmd_train.c : `narrowcast train`: options, ranks, and who speaks when it fails. */
#include "app/app.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include <signal.h>
#include <stdlib.h>

static const double DEADLINE_S = 60; /* until the options are known */

int cmd_train(int argc, char **argv)
{
    struct train_options o = {.deadline = DEADLINE_S};
    struct opt_parsed parsed = {0};
    struct comm *comm;
    err_hold();
    signal(SIGPIPE, SIG_IGN); /* if the reader of --log ends, writing fails and is reported */
    int rc = train_options_read(&train_command, argc, argv, &o, &parsed);
    int joined = comm_open(o.deadline, &comm);
    if (joined < 0) {
        err_release(true);
        return joined;
    }
    rc = comm_agree(comm, rc);
    err_hold();
    if (rc == 0 && parsed.help) {
        if (comm_rank(comm) == 0)
            opt_help(&train_command, &parsed, stdout);
    } else if (rc == 0) {
        struct train *t = buf_alloc(sizeof *t);
        if (!t)
            comm_abort(comm, -ENOMEM);
        t->o = &o;
        t->comm = comm;
        rc = train_all(t);
        train_close(t);
        free(t);
    }
    err_release(false);
    comm_close(comm);
    return rc;
}
