/* pmpi_comm.c : keeps the state of the program's communicators. A narrowed one has one duplicate,
 * and an `nc` for each length and root of sums. These use the duplicate in turn. All ranks open and
 * close them in the same sums. */
#include "pmpi/pmpi.h"
#include "job/nc_lent.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LENGTHS = 32 }; /* per communicator; the least recently used one is replaced */

struct length {
    int count, root;
    unsigned long long used; /* number of the communicator's last call that used it */
    struct nc *nc;
};

struct pmpi_comm {
    bool narrows;
    MPI_Comm ours; /* a duplicate, once `duplicating` is done */
    MPI_Request duplicating;
    struct length lengths[LENGTHS];
    int n_lengths;
    unsigned long long n_calls;
    bool refused; /* nc_open_lent() failed: MPI makes the sums */
    bool has_persistent;
    long long n_numbers; /* of persistent sums, and of those after the first one */
    struct pmpi_queue *queue;
    struct pmpi_comm *next;
};

static struct {
    pthread_mutex_t lock;
    struct pmpi_comm *first; /* in order of creation */
    int key;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .key = MPI_KEYVAL_INVALID};
static atomic_ullong n_narrowed, n_bytes, n_code_bytes;
static atomic_bool any_narrows;
static _Thread_local int inside;

void pmpi_counts(unsigned long long *n, unsigned long long *bytes, unsigned long long *code_bytes)
{
    *n = n_narrowed, *bytes = n_bytes, *code_bytes = n_code_bytes;
}

bool pmpi_any_comm(void)
{
    return any_narrows;
}

static bool is_float(MPI_Datatype type)
{
    return type == MPI_FLOAT || (MPI_REAL != MPI_DATATYPE_NULL && type == MPI_REAL) ||
           (MPI_REAL4 != MPI_DATATYPE_NULL && type == MPI_REAL4);
}

static bool lists(const char *names, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = names; n > 0;) {
        const size_t k = strcspn(at, ",");
        if (k == n && !strncmp(at, name, n))
            return true;
        if (!at[k])
            break;
        at += k + 1;
    }
    return false;
}

/* Ranks of other worlds (MPI_Comm_spawn, MPI_Comm_accept) may have other variables or no library */
static bool is_in_world(MPI_Comm comm, int n_ranks)
{
    MPI_Group group, world, both;
    int n_both = 0;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_intersection(group, world, &both);
    PMPI_Group_size(both, &n_both);
    PMPI_Group_free(&both);
    PMPI_Group_free(&world);
    PMPI_Group_free(&group);
    return n_both == n_ranks;
}

static bool is_wanted(MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int is_inter = 0, n_ranks = 1, length = 0;
    const char *comms = pmpi_spec()->comms;
    PMPI_Comm_test_inter(comm, &is_inter);
    PMPI_Comm_size(comm, &n_ranks);
    if (is_inter || n_ranks < 2 || !is_in_world(comm, n_ranks))
        return false;
    if (!strcmp(comms, "all"))
        return true;
    if (!strcmp(comms, "world"))
        return comm == MPI_COMM_WORLD;
    PMPI_Comm_get_name(comm, name, &length);
    return lists(comms, name);
}

/* Begin to duplicate the communicator. Returns false if it cannot be: MPI also copies the program's
 * attributes, by functions of the program. */
static bool duplicate(struct pmpi_comm *c, MPI_Comm comm)
{
    MPI_Errhandler programs;
    char why[MPI_MAX_ERROR_STRING] = "", line[MPI_MAX_ERROR_STRING + 80];
    int length = 0, rank = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_get_errhandler(comm, &programs);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int rc = PMPI_Comm_idup(comm, &c->ours, &c->duplicating);
    PMPI_Comm_set_errhandler(comm, programs);
    PMPI_Errhandler_free(&programs);
    if (rc == MPI_SUCCESS)
        return true;
    c->ours = MPI_COMM_NULL;
    c->duplicating = MPI_REQUEST_NULL;
    PMPI_Error_string(rc, why, &length);
    snprintf(line, sizeof line,
             "sums of a communicator are not narrowed: MPI cannot duplicate it: %s", why);
    if (rank == 0)
        pmpi_say_once(NULL, NC_LOG_WARNING, line);
    return false;
}

/* All ranks call a communicator in the same order, so all create its state in the same call. */
static struct pmpi_comm *make(MPI_Comm comm)
{
    struct pmpi_comm *c = calloc(1, sizeof *c), **last;
    if (!c) {
        /* the other ranks will duplicate the communicator */
        fprintf(stderr, "narrowcast: out of memory\n");
        PMPI_Abort(comm, 1);
        return NULL;
    }
    c->ours = MPI_COMM_NULL;
    c->duplicating = MPI_REQUEST_NULL;
    c->narrows = is_wanted(comm) && duplicate(c, comm);
    if (c->narrows)
        any_narrows = true;
    pthread_mutex_lock(&all.lock);
    PMPI_Comm_set_attr(comm, all.key, c);
    for (last = &all.first; *last; last = &(*last)->next)
        ;
    *last = c;
    pthread_mutex_unlock(&all.lock);
    return c;
}

static struct pmpi_comm *find(MPI_Comm comm)
{
    struct pmpi_comm *c = NULL;
    int there = 0;
    if (all.key != MPI_KEYVAL_INVALID)
        PMPI_Comm_get_attr(comm, all.key, &c, &there);
    return there ? c : NULL;
}

void pmpi_comm_begin(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &all.key, NULL);
}

/* Returns true if MPI refuses this rank's buffers, or the root. */
static bool is_wrong(const struct pmpi_call *call, MPI_Comm comm)
{
    int rank = 0, n_ranks = 0;
    if (call->root != PMPI_ALL) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &n_ranks);
        if (call->root >= n_ranks || rank != call->root)
            return call->root >= n_ranks || !call->send || call->send == MPI_IN_PLACE;
    }
    return call->recv == MPI_IN_PLACE || call->recv == call->send;
}

struct pmpi_comm *pmpi_takes(const struct pmpi_call *call, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm)
{
    if (op != MPI_SUM || call->count <= 0 || !is_float(type) || inside || !pmpi_is_on() ||
        (size_t)call->count * sizeof(float) < pmpi_spec()->least_bytes || comm == MPI_COMM_NULL ||
        is_wrong(call, comm))
        return NULL;
    struct pmpi_comm *c = find(comm);
    if (!c)
        c = make(comm);
    return c && c->narrows ? c : NULL;
}

static struct length *oldest(struct pmpi_comm *c)
{
    struct length *found = &c->lengths[0];
    for (int i = 1; i < c->n_lengths; i++)
        if (c->lengths[i].used < found->used)
            found = &c->lengths[i];
    return found;
}

/* The root of a reduce owns all elements of a reduce-scatter, which needs the algorithm direct. */
static struct nc *open_length(struct pmpi_comm *c, int count, int root)
{
    const struct pmpi_spec *w = pmpi_spec();
    const struct nc_layer layer = {.name = root == PMPI_ALL ? "all-reduce" : "reduce",
                                   .n = (size_t)count};
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    size_t *owned = NULL;
    o.format = w->format, o.scale = w->scale, o.sum = w->sum, o.round = w->round;
    o.algo = w->algo, o.out_format = w->out_format;
    o.quantise = "all";
    o.op = "sum";
    o.deadline_s = w->deadline_s;
    o.log = pmpi_say_once;
    if (root != PMPI_ALL) {
        int n_ranks;
        PMPI_Comm_size(c->ours, &n_ranks);
        owned = calloc((size_t)n_ranks, sizeof *owned);
        if (!owned) {
            fprintf(stderr, "narrowcast: out of memory\n");
            PMPI_Abort(c->ours, 1); /* the other ranks will open it */
            return NULL;
        }
        owned[root] = (size_t)count;
        o.algo = NULL, o.shard = "rounded", o.shard_n = owned;
    }
    const int rc = nc_open_lent(&c->ours, &o, &layer, 1, &nc);
    free(owned);
    if (rc == 0)
        return nc;
    int rank;
    PMPI_Comm_rank(c->ours, &rank);
    if (rank == 0)
        pmpi_say_once(NULL, NC_LOG_ERROR,
                      "sums are not narrowed: correct the variable of that option, such as "
                      "NARROWCAST_ROUND for --round");
    return NULL;
}

/* Reduces do not use NARROWCAST_ALGO. If the first sum is one, an all-reduce that is only opened
 * finds a wrong value, before some sums are narrowed and others are not. */
static bool algo_fits(struct pmpi_comm *c, int count)
{
    struct nc *nc = open_length(c, count, PMPI_ALL);
    nc_close(nc);
    return nc;
}

/* Returns NULL, on all ranks, if the options are refused. */
static struct nc *of_length(struct pmpi_comm *c, int count, int root)
{
    struct length *l = NULL;
    for (int i = 0; i < c->n_lengths && !l; i++)
        if (c->lengths[i].count == count && c->lengths[i].root == root)
            l = &c->lengths[i];
    if (!l) {
        if (root != PMPI_ALL && c->n_lengths == 0 && pmpi_spec()->algo && !algo_fits(c, count))
            return NULL;
        struct nc *nc = open_length(c, count, root);
        if (!nc)
            return NULL;
        if (c->n_lengths < LENGTHS)
            l = &c->lengths[c->n_lengths++];
        else
            nc_close((l = oldest(c))->nc);
        *l = (struct length){.count = count, .root = root, .nc = nc};
    }
    l->used = ++c->n_calls;
    return l->nc;
}

/* The program may be using its own communicator, but not the duplicate. */
static int sum_by_mpi(struct pmpi_comm *c, const struct pmpi_call *call)
{
    return call->root == PMPI_ALL
               ? PMPI_Allreduce(MPI_IN_PLACE, call->recv, call->count, MPI_FLOAT, MPI_SUM, c->ours)
               : PMPI_Reduce(call->send, call->recv, call->count, MPI_FLOAT, MPI_SUM, call->root,
                             c->ours);
}

static int all_reduce(struct nc *nc, const struct pmpi_call *call, struct nc_report *report)
{
    float *const list[] = {call->recv};
    return nc_allreduce(nc, list, report);
}

static int reduce(struct nc *nc, const struct pmpi_call *call, struct nc_report *report)
{
    const void *const list[] = {call->send == MPI_IN_PLACE ? call->recv : call->send};
    return nc_reduce_scatter(nc, list, nc_rank(nc) == call->root ? call->recv : NULL, report);
}

static void finish_duplicating(struct pmpi_comm *c)
{
    inside++;
    if (c->duplicating != MPI_REQUEST_NULL)
        PMPI_Wait(&c->duplicating, MPI_STATUS_IGNORE);
    inside--;
}

int pmpi_sum(struct pmpi_comm *c, const struct pmpi_call *call)
{
    const bool to_all = call->root == PMPI_ALL;
    struct nc_report report;
    int rc = 1;
    inside++;
    finish_duplicating(c);
    if (to_all && call->send != MPI_IN_PLACE) /* the buffers may overlap */
        memmove(call->recv, call->send, (size_t)call->count * sizeof *call->recv);
    struct nc *nc = c->refused ? NULL : of_length(c, call->count, call->root);
    c->refused = !nc;
    if (nc)
        rc = (to_all ? all_reduce : reduce)(nc, call, &report);
    if (rc == 0) {
        n_narrowed++;
        n_bytes += report.fp32_bytes;
        n_code_bytes += report.code_bytes;
    }
    /* rc 1: inf or nan on some rank, or options refused; recv is unchanged, and MPI sums */
    const int result = rc == 0 ? MPI_SUCCESS : rc == 1 ? sum_by_mpi(c, call) : MPI_ERR_OTHER;
    inside--;
    return result;
}

static void finish_calls(struct pmpi_comm *c)
{
    pmpi_queue_close(c->queue);
    finish_duplicating(c);
}

static void close_one(struct pmpi_comm *c)
{
    finish_calls(c);
    inside++;
    for (int i = 0; i < c->n_lengths; i++)
        nc_close(c->lengths[i].nc);
    if (c->ours != MPI_COMM_NULL)
        PMPI_Comm_free(&c->ours);
    inside--;
}

void pmpi_leave(MPI_Comm comm)
{
    if (inside || comm == MPI_COMM_NULL || comm == MPI_COMM_WORLD) /* MPI frees neither */
        return;
    struct pmpi_comm *c = find(comm);
    if (!c)
        return;
    pthread_mutex_lock(&all.lock);
    struct pmpi_comm **at = &all.first;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pthread_mutex_unlock(&all.lock);
    PMPI_Comm_delete_attr(comm, all.key);
    close_one(c);
    free(c);
}

/* Communicators that the program has not freed keep their states: closing them needs the other
 * ranks, perhaps in another order, and MPI frees them anyway. */
void pmpi_leave_all(void)
{
    for (struct pmpi_comm *c = all.first; c; c = c->next)
        finish_calls(c);
}

long long pmpi_comm_number(struct pmpi_comm *c, bool is_persistent)
{
    c->has_persistent = c->has_persistent || is_persistent;
    return c->has_persistent ? ++c->n_numbers : 0;
}

/* The other ranks may start a sum much later, so sleep soon. */
bool pmpi_compare(struct pmpi_comm *c, long long mine, long long *largest)
{
    const long long both[] = {mine, -mine};
    long long most[2];
    MPI_Request r;
    int is_done = 0;
    finish_duplicating(c);
    int rc = PMPI_Iallreduce(both, most, 2, MPI_LONG_LONG, MPI_MAX, c->ours, &r);
    for (int n = 0; rc == MPI_SUCCESS && !is_done; n++) {
        if (n < 100)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        rc = PMPI_Test(&r, &is_done, MPI_STATUS_IGNORE);
    }
    if (rc != MPI_SUCCESS)
        PMPI_Abort(c->ours, 1);
    *largest = most[0];
    return most[0] == -most[1];
}

struct pmpi_queue *pmpi_comm_queue(struct pmpi_comm *c, bool begin)
{
    if (!c->queue && begin)
        c->queue = pmpi_queue_open(c);
    return c->queue;
}
