/* test_virtual_mpi.c : jobs on virtual and real ranks are alike. */
/* RANKS: 1 3 4 LONG: 2 6 */
#include "jobs_alike.h"

int main(void)
{
    struct comm *c;
    if (comm_open(120, &c) < 0)
        return 1;
    check_jobs(c);
    comm_close(c);
    DONE();
}
