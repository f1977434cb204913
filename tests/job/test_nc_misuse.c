/* test_nc_misuse.c : each misuse of the public interface gives one line and an error code, or the
 * header's result. */
#include "nc_fixture.h"
#include <errno.h>
#include <stdlib.h>

static int no_send(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    (void)arg, (void)to, (void)tag, (void)buf, (void)bytes, (void)request;
    return -EIO;
}

static int no_receive(void *arg, int from, int tag, void *buf, size_t bytes, void **request)
{
    (void)arg, (void)from, (void)tag, (void)buf, (void)bytes, (void)request;
    return -EIO;
}

static void no_cancel(void *arg, void *request)
{
    (void)arg, (void)request;
}

static struct nc_transport alone(void)
{
    return (struct nc_transport){.size = sizeof(struct nc_transport),
                                 .n_ranks = 1,
                                 .isend = no_send,
                                 .irecv = no_receive,
                                 .cancel = no_cancel,
                                 .threads = 1};
}

static struct nc_options options(void)
{
    struct nc_options o = nc_options_default();
    o.format = "e4m3";
    o.scale = "aps";
    o.log = count_line;
    return o;
}

static struct nc *open_as(const struct nc_transport *t, const struct nc_options *o,
                          const struct nc_layer *list, int n, int want, const char *what)
{
    struct nc *nc = (void *)options;
    n_lines = 0;
    const int rc = nc_open_over(t, o, list, n, &nc);
    CHECK(rc == want, "%s: %d, not %d", what, rc, want);
    CHECK((nc != NULL) == (rc == 0), "%s: *out is %p", what, (void *)nc);
    CHECK(n_lines == (rc < 0), "%s: %d lines", what, n_lines);
    CHECK((nc_last_error(NULL)[0] != 0) == (rc < 0), "%s: \"%s\"", what, nc_last_error(NULL));
    return nc;
}

static struct nc *open_fine(const struct nc_options *o)
{
    const struct nc_transport t = alone();
    return open_as(&t, o, layers, N_LAYERS, 0, "a right opening");
}

static void refuse_transport(struct nc_transport t, const char *what)
{
    const struct nc_options o = options();
    (void)open_as(&t, &o, layers, N_LAYERS, -EINVAL, what);
}

static void transports(void)
{
    const struct nc_options o = options();
    struct nc_transport t = alone(), later[2] = {t, {0}};
    for (size_t size = 0; size < sizeof t; size += sizeof(void *)) {
        t.size = size;
        refuse_transport(t, "a short transport");
    }
    const size_t garbage[] = {0x7ffff7a1b2c3u, 0x7ffff7a1b2c8u, SIZE_MAX,       SIZE_MAX - 7,
                              65 * sizeof t,   sizeof t + 4,    (size_t)1 << 32};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        t.size = garbage[i];
        refuse_transport(t, "a transport whose size was never set");
    }
    later[0].size = sizeof later;
    nc_close(open_as(later, &o, layers, N_LAYERS, 0, "a later transport with new fields at 0"));
    later[1].n_ranks = 1;
    (void)open_as(later, &o, layers, N_LAYERS, -EINVAL, "a later transport that uses new fields");
    t = alone(), t.isend = NULL;
    refuse_transport(t, "no isend");
    t = alone(), t.cancel = NULL;
    refuse_transport(t, "no cancel");
    t = alone(), t.rank = 1;
    refuse_transport(t, "rank 1 of 1");
    t = alone(), t.n_ranks = 0;
    refuse_transport(t, "no ranks");
    (void)open_as(NULL, &o, layers, N_LAYERS, -EINVAL, "no transport");
    CHECK(nc_open_over(&t, &o, layers, N_LAYERS, NULL) == -EINVAL, "no place for it");
}

static void refuse_options(const struct nc_options *o, const char *what)
{
    const struct nc_transport t = alone();
    (void)open_as(&t, o, layers, N_LAYERS, -EINVAL, what);
}

static char *long_word(const char *begin)
{
    const size_t n = 1000000;
    char *word = malloc(n + 1);
    if (!word)
        exit(1);
    memset(word, '1', n);
    memcpy(word, begin, strlen(begin));
    word[n] = 0;
    return word;
}

static void words(void)
{
    struct nc_options o = options();
    char *word = long_word("e");
    o.format = word;
    refuse_options(&o, "a long format");
    memcpy(word, "qsgd:", 5);
    o = options(), o.format = o.scale = NULL, o.codec = word;
    refuse_options(&o, "a long codec");
    free(word);
    o = options(), o.deadline_s = NAN;
    refuse_options(&o, "a deadline that is no number");
    o = options(), o.format = o.scale = NULL, o.codec = "relgrad";
    refuse_options(&o, "relgrad without weights");
    char cards[800] = "";
    for (int i = 0; i < 40; i++)
        snprintf(cards + strlen(cards), sizeof cards - strlen(cards), "%sudp://127.0.0.1:%d",
                 i ? "," : "", 4000 + i);
    o = options(), o.offload = cards;
    refuse_options(&o, "40 cards");
}

/* Without a size there is no log: the line goes to stderr. */
static void option_sizes(void)
{
    const size_t garbage[] = {0, 4, 0x7ffff7a1b2c8u, SIZE_MAX, SIZE_MAX - 7};
    const struct nc_transport t = alone();
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        struct nc_options o = options();
        struct nc *nc = (void *)options;
        o.size = garbage[i];
        CHECK(nc_open_over(&t, &o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "size %zu", o.size);
    }
}

static void odd_but_right(void)
{
    static float x[N_ALL];
    void *list[N_LAYERS];
    const size_t buckets[] = {0, 1, SIZE_MAX};
    const double deadlines[] = {60, INFINITY, 1e-300};
    point(x, sizeof *x, list);
    for (int i = 0; i < 3; i++) {
        struct nc_options o = options();
        o.bucket_bytes = buckets[i], o.deadline_s = deadlines[i];
        struct nc *nc = open_fine(&o);
        CHECK(nc_allreduce(nc, list, NULL) == 0, "bucket_bytes %zu", o.bucket_bytes);
        nc_close(nc);
    }
    struct nc_options o = options();
    o.round = "stochastic";
    struct nc *nc = open_fine(&o);
    CHECK(nc_set_step(nc, UINT64_MAX) == 0 && nc_step(nc) == UINT64_MAX, "the last step");
    CHECK(nc_allreduce(nc, list, NULL) == 0 && nc_step(nc) == 0, "and on");
    list[1] = list[0];
    CHECK(nc_allreduce(nc, list, NULL) == 0, "a layer that is part of another");
    nc_close(nc);
}

static void layer_lists(void)
{
    const struct nc_options o = options();
    const struct nc_transport t = alone();
    struct nc_layer one = {.name = "%s%n%s%n", .n = 1000, .column = 7};
    (void)open_as(&t, &o, &one, 1, -EINVAL, "columns");
    CHECK(strstr(nc_last_error(NULL), "\"%s%n%s%n\""), "%s", nc_last_error(NULL));
    (void)open_as(&t, &o, layers, -1, -EINVAL, "-1 layers");
    (void)open_as(&t, &o, layers, 0, -EINVAL, "no layers");
    (void)open_as(&t, &o, NULL, 2147483647, -EINVAL, "no list");
    one = (struct nc_layer){.n = 0};
    (void)open_as(&t, &o, &one, 1, -EINVAL, "an empty layer without a name");
    one.n = SIZE_MAX;
    (void)open_as(&t, &o, &one, 1, -EINVAL, "a layer as large as can be");
}

/* After the refused call the communicator must still work. */
#define REFUSED(call)                                                            \
    do {                                                                         \
        n_lines = 0;                                                             \
        const int rc_ = (call);                                                  \
        CHECK(rc_ == -EINVAL && n_lines == 1, "%d, %d lines", rc_, n_lines);     \
        CHECK(nc_last_error(nc)[0] && nc_async_error(nc) == 0, "it has failed"); \
    } while (0)

static void steps(void)
{
    static float x[N_ALL];
    void *list[N_LAYERS], *hole[N_LAYERS];
    const struct nc_options o = options();
    struct nc *nc = open_fine(&o);
    int done = 0;
    point(x, sizeof *x, list);
    point(x, sizeof *x, hole);
    hole[N_LAYERS - 1] = NULL;
    REFUSED(nc_allreduce(nc, NULL, NULL));
    REFUSED(nc_allreduce(nc, hole, NULL));
    REFUSED(nc_iallreduce(nc, NULL));
    REFUSED(nc_iallreduce(nc, hole));
    REFUSED(nc_ready(nc, 0, 1));
    REFUSED(nc_ready_on(nc, 0, 1, NULL));
    REFUSED(nc_wait(nc, NULL));
    REFUSED(nc_test(nc, &done));
    CHECK(nc_iallreduce(nc, list) == 0, "%s", nc_last_error(nc));
    CHECK(nc_ready(nc, 0, 1) == 0 && nc_ready(nc, 0, 1) == 0, "twice");
    REFUSED(nc_ready(nc, -1, 1));
    REFUSED(nc_ready(nc, 1, -1));
    REFUSED(nc_ready(nc, 1, 2147483647));
    REFUSED(nc_ready(nc, 2147483647, 2147483647));
    REFUSED(nc_ready_on(nc, 1, 1, NULL));
    REFUSED(nc_test(nc, NULL));
    CHECK(nc_allreduce(nc, list, NULL) == -EBUSY, "a step in a step");
    CHECK(nc_wait(nc, NULL) == 0 && nc_allreduce(nc, list, NULL) == 0, "%s", nc_last_error(nc));
    CHECK(nc_iallreduce(nc, list) == 0 && nc_ready(nc, 1, 1) == 0, "one that nobody waits for");
    nc_close(nc);
}

static struct nc *logs;
static int rc_inside;
static char line_inside[512];

static void call_in_log(void *arg, int level, const char *line)
{
    (void)arg, (void)level;
    snprintf(line_inside, sizeof line_inside, "%s", line);
    rc_inside = nc_set_step(logs, 0);
}

/* A call in a log function fails without a line, which would call the function again. */
static void busy(void)
{
    struct nc_options o = options();
    o.log = call_in_log;
    logs = open_fine(&o);
    CHECK(nc_wait(logs, NULL) == -EINVAL && rc_inside == -EBUSY, "%d", rc_inside);
    CHECK(strstr(line_inside, "nc_iallreduce()"), "logged: \"%s\"", line_inside);
    CHECK(strstr(nc_last_error(logs), "nc_iallreduce()"), "\"%s\"", nc_last_error(logs));
    nc_close(logs);
}

static void state_and_broadcast(void)
{
    const struct nc_options o = options();
    struct nc *nc = open_fine(&o);
    const size_t bytes = nc_state_bytes(nc);
    unsigned char *state = malloc(bytes);
    REFUSED(nc_state_save(nc, NULL));
    REFUSED(nc_state_load(nc, NULL, bytes));
    CHECK(nc_state_save(nc, state) == 0, "%s", nc_last_error(nc));
    const size_t wrong[] = {0, 1, bytes - 1, bytes + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(nc_state_load(nc, state, wrong[i]) == -EPROTO, "a state of %zu bytes", wrong[i]);
    for (size_t i = 0; i < bytes * 8; i++) {
        state[i / 8] ^= (unsigned char)(1 << i % 8);
        CHECK(nc_state_load(nc, state, bytes) == -EPROTO, "bit %zu is another", i);
        state[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    CHECK(nc_state_load(nc, state, bytes) == 0, "%s", nc_last_error(nc));
    free(state);
    REFUSED(nc_broadcast(nc, NULL, 5, 0));
    REFUSED(nc_broadcast(nc, (char[4]){0}, 4, 9));
    REFUSED(nc_broadcast(nc, (char[4]){0}, 4, -1));
    CHECK(nc_broadcast(nc, NULL, 0, 0) == 0, "nothing to broadcast: %s", nc_last_error(nc));
    nc_close(nc);
}

static void no_communicator(void)
{
    struct nc *nc = NULL;
    float x = 1;
    void *list[] = {&x};
    int done = 0;
    char state[64] = {0};
    CHECK(nc_rank(nc) == -EINVAL && nc_n_ranks(nc) == -EINVAL, "a rank");
    CHECK(nc_step(nc) == 0 && nc_state_bytes(nc) == 0, "steps, or a state");
    CHECK(nc_async_error(nc) == -EINVAL, "no error");
    CHECK(nc_allreduce(nc, list, NULL) == -EINVAL && x == 1, "allreduce");
    CHECK(nc_iallreduce(nc, list) == -EINVAL && nc_wait(nc, NULL) == -EINVAL, "iallreduce");
    CHECK(nc_ready(nc, 0, 1) == -EINVAL && nc_ready_on(nc, 0, 1, NULL) == -EINVAL, "ready");
    CHECK(nc_test(nc, &done) == -EINVAL, "test");
    CHECK(nc_broadcast(nc, &x, sizeof x, 0) == -EINVAL, "broadcast");
    CHECK(nc_force_fp32(nc, 1) == -EINVAL && nc_set_step(nc, 1) == -EINVAL, "settings");
    CHECK(nc_state_save(nc, state) == -EINVAL, "save");
    CHECK(nc_state_load(nc, state, sizeof state) == -EINVAL, "load");
    nc_close(nc);
    nc_abort(nc, -EIO);
    CHECK(nc_last_error(nc) != NULL && nc_strerror(123456)[0], "texts");
}

int main(void)
{
    transports();
    words();
    option_sizes();
    odd_but_right();
    layer_lists();
    steps();
    busy();
    state_and_broadcast();
    no_communicator();
    DONE();
}
