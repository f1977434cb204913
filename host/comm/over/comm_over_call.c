/* comm_over_call.c : calls the caller's transport, and restores the floating-point mode, which
 * loading a library may change. fegetenv() and fesetenv() would need 114 ns instead of 4, too long
 * for polls. */
#include "comm/over/comm_over_inside.h"
#include "vec/fp_mode.h"
#include <errno.h>

static int over_code(int rc)
{
    const int code = comm_failure_code(rc);
    return rc == 0 || code ? rc : -EIO;
}

int over_begin(struct comm_over *o, struct over_message *m, bool sends, int tag, int peer,
               void *buf, size_t bytes)
{
    const struct nc_transport *t = &o->t;
    const uint64_t mode = fp_mode_ieee();
    *m = (struct over_message){.peer = peer};
    int rc = sends ? t->isend(t->arg, peer, tag, buf, bytes, &m->request)
                   : t->irecv(t->arg, peer, tag, buf, bytes, &m->request);
    fp_mode_back(mode);
    if (rc == 0 && !t->test && !m->request)
        rc = -EIO; /* over_test() would read it */
    m->under_way = rc == 0;
    return over_code(rc);
}

int over_test(struct comm_over *o, struct over_message *m)
{
    int done = 0, rc = 0;
    if (o->t.test) {
        const uint64_t mode = fp_mode_ieee();
        rc = o->t.test(o->t.arg, m->request, &done);
        fp_mode_back(mode);
    } else {
        done = __atomic_load_n((const int *)m->request, __ATOMIC_ACQUIRE);
    }
    if (rc == 0 && done < 0)
        rc = done;
    if (rc == 0)
        m->under_way = !done;
    return over_code(rc);
}

void over_cancel(struct comm_over *o, struct over_message *m)
{
    const uint64_t mode = fp_mode_ieee();
    if (m->under_way)
        o->t.cancel(o->t.arg, m->request);
    fp_mode_back(mode);
    m->under_way = false;
}

int over_progress(struct comm_over *o)
{
    if (!o->t.progress)
        return 0;
    const uint64_t mode = fp_mode_ieee();
    const int rc = o->t.progress(o->t.arg);
    fp_mode_back(mode);
    return over_code(rc);
}
