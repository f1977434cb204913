/* test_virtual_mpi.c : jobs on virtual and real ranks are alike. */
/* RANKS: 1 2 4 6 */
#include "capture.h"
#include "jobs_alike.h"

static void test_native(void)
{
    static struct trial t = {.spec = {.codec = {.format = "fp32"}, .algo = "native"}};
    struct comm_virtual *v;
    struct capture cap;
    if (comm_virtual_open(4, NULL, &v) < 0)
        exit(1);
    capture_begin(&cap);
    const int rc = comm_virtual_run(v, run_job, &t);
    capture_end(&cap);
    CHECK(rc == -EINVAL, "%d", rc);
    CHECK(strcmp(cap.text, "narrowcast: cannot run \"native\" with virtual ranks: MPI chooses "
                           "its order of additions\n") == 0,
          "\"%s\"", cap.text);
    comm_virtual_close(v);
}

int main(void)
{
    struct comm *c;
    if (comm_open(120, &c) < 0)
        return 1;
    check_jobs(c);
    if (c->rank == 0)
        test_native();
    comm_close(c);
    DONE();
}
