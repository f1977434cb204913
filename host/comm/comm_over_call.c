/* comm_over_call.c : one message, by the caller's own calls. */
#include "comm/comm_over_inside.h"
#include <errno.h>

int over_code(int rc)
{
    return rc == 0 || (rc < 0 && rc > -4096) ? rc : -EIO;
}

int over_begin(struct comm_over *o, struct over_message *m, bool sends, int tag, int peer,
               void *buf, size_t bytes)
{
    const struct nc_transport *t = &o->t;
    *m = (struct over_message){.peer = peer};
    const int rc = sends ? t->isend(t->arg, peer, tag, buf, bytes, &m->request)
                         : t->irecv(t->arg, peer, tag, buf, bytes, &m->request);
    m->under_way = rc == 0;
    return over_code(rc);
}

int over_test(struct comm_over *o, struct over_message *m)
{
    int done = 0, rc = 0;
    if (o->t.test)
        rc = o->t.test(o->t.arg, m->request, &done);
    else
        done = __atomic_load_n((const int *)m->request, __ATOMIC_ACQUIRE);
    if (rc == 0 && done < 0)
        rc = done;
    if (rc == 0)
        m->under_way = !done;
    return over_code(rc);
}

void over_cancel(struct comm_over *o, struct over_message *m)
{
    if (m->under_way)
        o->t.cancel(o->t.arg, m->request);
    m->under_way = false;
}
