/* test_comm_version_mpi.c : if a rank has another library, all ranks refuse it in one line with
 * both versions and ranks. */
/* RANKS: 2 4 */
#include "comm/protocol.h"
#include "capture.h"
#include "nc_fixture.h"
#include "over_ranks.h"
#include <errno.h>
#include <mpi.h>

/* NULL: the true one. Rank 0's record: 8 bytes of magic, a number, a text. */
static const char *other_version;
static uint32_t other_protocol;

static const void *replaced(const void *buf, size_t bytes, char to[32])
{
    if (bytes != 32 || memcmp(buf, "ncjoins", 8) != 0 || !other_version)
        return buf;
    memset(to, 0, 32);
    memcpy(to, buf, 8);
    memcpy(to + 8, &other_protocol, 4);
    memcpy(to + 12, other_version, strlen(other_version));
    return to;
}

int MPI_Ibcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    static char to[32];
    int rank = 1;
    MPI_Comm_rank(comm, &rank);
    if (rank == root && type == MPI_BYTE)
        return PMPI_Ibcast((void *)(uintptr_t)replaced(buf, (size_t)n, to), n, type, root, comm,
                           request);
    return PMPI_Ibcast(buf, n, type, root, comm, request);
}

static int send_other(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    static char other[32];
    return sockets_isend(arg, to, tag, replaced(buf, bytes, other), bytes, request);
}

static struct nc_options quiet(void)
{
    struct nc_options o = nc_options_default();
    o.format = "e4m3";
    return o;
}

static void check_refused(int rc, const struct nc *nc, const char *text, const char *line)
{
    CHECK(rc == -EPROTO && !nc, "%d", rc);
    CHECK(line ? !!strstr(text, line) && capture_lines(text) == 1 : !*text,
          "said \"%s\", not \"%s\"", text, line ? line : "");
    CHECK(nc_last_error(NULL)[0], "nothing is known");
}

static const struct other {
    const char *version;
    uint32_t protocol;
    const char *line;
} others[] = {
    {"9.9.9", PROTOCOL, "and rank 0 has 9.9.9 (protocol "},
    {NC_VERSION, PROTOCOL + 1, "need the same library on all ranks"},
    {"1\n2\33[m", PROTOCOL, "and rank 0 has 1?2?[m (protocol "},
};
enum { N_OTHERS = sizeof others / sizeof *others };

static void by_mpi(void)
{
    const struct nc_options o = quiet();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N_OTHERS; i++) {
        struct capture cap;
        struct nc *nc = NULL;
        other_version = others[i].version, other_protocol = others[i].protocol;
        capture_begin(&cap);
        const int rc = nc_open(&o, layers, N_LAYERS, &nc);
        capture_end(&cap);
        check_refused(rc, nc, cap.text, rank == 1 ? others[i].line : NULL);
        CHECK(rank != 1 || strstr(cap.text, "rank 1 has narrowcast " NC_VERSION " (protocol"), "%s",
              cap.text);
    }
    other_version = NULL;
    struct nc *nc = NULL;
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0, "the same library: %s", nc_last_error(NULL));
    nc_close(nc);
}

static int over_calls(const struct nc_transport *t, void *ctx)
{
    const struct other *other = ctx;
    const struct nc_options o = quiet();
    struct nc_transport own = *t;
    struct capture cap;
    struct nc *nc = NULL;
    own.isend = send_other;
    other_version = t->rank == 0 ? other->version : NULL, other_protocol = other->protocol;
    capture_begin(&cap);
    const int rc = nc_open_over(&own, &o, layers, N_LAYERS, &nc);
    capture_end(&cap);
    check_refused(rc, nc, cap.text, t->rank == 1 ? other->line : NULL);
    other_version = NULL;
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "again: %s", nc_last_error(NULL));
    nc_close(nc);
    return 0;
}

int main(void)
{
    int rank;
    const char *first = getenv("OMPI_COMM_WORLD_RANK");
    if (!first || !strcmp(first, "0")) /* before MPI has threads */
        for (int i = 0; i < N_OTHERS; i++)
            CHECK(over_run(2, over_calls, (void *)(uintptr_t)&others[i]) == 0, "over calls, %d", i);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    by_mpi();
    MPI_Finalize();
    DONE();
}
