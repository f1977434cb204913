/* test_collnet_fail.c : after failures NCCL must get errors and lines in its log, and must never
 * hang. */
#include "collnet_ranks.h"

enum { N = 300000, AT_ONCE = 6, SILENT = 50 };
static float x[AT_ONCE][N];
static void *requests[AT_ONCE];

static const char *said(void)
{
    return ranks_shared->said[ranks_own];
}

static void fill(void)
{
    for (int k = 0; k < AT_ONCE; k++)
        for (int i = 0; i < N; i++)
            x[k][i] = (float)((i + k + ranks_own) % 4);
}

static void *must_connect(struct drive *d)
{
    void *comm = NULL;
    CHECK(ranks_connect(d, &comm) == NCCL_SUCCESS && comm, "connect: %s", said());
    return comm;
}

static void ask(struct drive *d, void *comm, int k)
{
    CHECK(drive_allreduce(d, comm, x[k], x[k], N, NCCL_FP32, NULL, &requests[k]) == NCCL_SUCCESS &&
              requests[k],
          "request %d", k);
}

static void check_sums(int k)
{
    int bad = 0;
    for (int i = 0; i < N; i++) {
        int sum = 0;
        for (int r = 0; r < ranks_n; r++)
            sum += (i + k + r) % 4;
        bad += x[k][i] != (float)sum;
    }
    CHECK(!bad, "request %d: %d wrong sums", k, bad);
}

static void must_close(struct drive *d, void *comm, double most_s)
{
    const double start = clock_s();
    CHECK(DRIVE_SAME(d, DRIVE_COLL, close(comm)) == NCCL_SUCCESS, "close");
    CHECK(clock_s() - start < most_s, "closing takes %g s", clock_s() - start);
}

/* All sums of the requests are right. */
static void card_dies(struct drive *d)
{
    void *comm = must_connect(d);
    fill();
    for (int k = 0; k < AT_ONCE && comm; k++) {
        ask(d, comm, k);
        if (k == 2 && ranks_own == 0) {
            CHECK(ranks_wait(d, requests[0], NULL) == NCCL_SUCCESS, "the first");
            kill(ranks_shared->card, SIGKILL);
        }
    }
    for (int k = ranks_own == 0; k < AT_ONCE && comm; k++)
        CHECK(ranks_wait(d, requests[k], NULL) == NCCL_SUCCESS, "request %d: %s", k, said());
    for (int k = 0; k < AT_ONCE; k++)
        check_sums(k);
    CHECK(ranks_own ? !*said() : capture_lines(said()) == 1 && strstr(said(), "offload abandoned"),
          "%s", said());
    must_close(d, comm, 8);
}

/* NCCL uses another transport; rank 0 logs the reason. */
static void no_card_answers(struct drive *d)
{
    void *comm = NULL;
    CHECK(ranks_connect(d, &comm) != NCCL_SUCCESS && !comm, "connects without a card");
    CHECK(ranks_own ? !*said() : capture_lines(said()) == 1 && strstr(said(), "needs every card"),
          "%s", said());
}

static void rank_dies(struct drive *d)
{
    void *comm = must_connect(d);
    fill();
    ranks_meet();
    if (ranks_own == 1)
        raise(SIGKILL);
    for (int k = 0; k < AT_ONCE && comm; k++)
        ask(d, comm, k);
    const double start = clock_s();
    for (int k = 0; k < AT_ONCE && comm; k++)
        CHECK(ranks_wait(d, requests[k], NULL) == NCCL_REMOTE_ERROR, "request %d succeeds", k);
    CHECK(clock_s() - start < 5, "takes %g s", clock_s() - start);
    CHECK(ranks_own ? !*said()
                    : capture_lines(said()) == 1 && strstr(said(), "rank 1 of 3 is gone"),
          "%s", said());
    must_close(d, comm, 8);
}

/* Calls until rank 0 no longer listens: after its deadline. */
static void be_stranger(void)
{
    int fd, calls = 0;
    for (; (fd = ranks_try_call(ranks_shared->handles[0])) >= 0; calls++) {
        (void)!send(fd, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL);
        ranks_nap();
        close(fd);
    }
    CHECK(calls > 0, "the first call is refused");
    ranks_meet();
}

/* A stranger's calls must not extend the deadline. */
static void rank_stays_away(struct drive *d)
{
    void *listening = NULL, *comm = NULL, *handles[2];
    drive_init_net(d, ranks_log);
    drive_init_coll(d, ranks_log);
    drive_listen(d, false, ranks_shared->handles[ranks_own], &listening);
    ranks_meet();
    if (ranks_own) {
        be_stranger();
        DRIVE_SAME(d, DRIVE_COLL, close_listen(listening));
        return;
    }
    for (int r = 0; r < 2; r++)
        handles[r] = ranks_shared->handles[r];
    CHECK(DRIVE_SAME(d, DRIVE_COLL, connect(handles, 2, 0, listening, &comm)) ==
                  NCCL_REMOTE_ERROR &&
              !comm,
          "connects to nobody");
    CHECK(capture_lines(said()) == 1 && strstr(said(), "1 of 2 ranks did not connect"), "%s",
          said());
    ranks_meet();
    DRIVE_SAME(d, DRIVE_COLL, close_listen(listening));
}

/* rank 1's later requests fail */
static void closes_early(struct drive *d)
{
    void *comm = must_connect(d);
    fill();
    for (int k = 0; k < AT_ONCE && comm; k++)
        if (ranks_own == 1 || k < 2)
            ask(d, comm, k);
    for (int k = 0; k < AT_ONCE && ranks_own == 1 && comm; k++)
        if (ranks_wait(d, requests[k], NULL) != NCCL_SUCCESS)
            break;
        else
            CHECK(k < 2, "request %d succeeds", k);
    must_close(d, comm, 8);
}

/* Neither rank must report the other. */
static void close_in_turn(struct drive *d, void *comm)
{
    if (ranks_own == 0)
        must_close(d, comm, 8);
    ranks_meet();
    if (ranks_own == 1)
        must_close(d, comm, 8);
    CHECK(!*said(), "%s", said());
}

/* Rank 1 has not begun the request: no wait, no message. */
static void closes_before_others_begin(struct drive *d)
{
    void *comm = must_connect(d);
    fill();
    for (int k = 0; k < 2 + !ranks_own && comm; k++)
        ask(d, comm, k);
    for (int k = 0; k < 2 && comm; k++)
        CHECK(ranks_wait(d, requests[k], NULL) == NCCL_SUCCESS, "request %d", k);
    close_in_turn(d, comm);
}

static void closes_alone(struct drive *d)
{
    void *comm = must_connect(d);
    close_in_turn(d, comm);
}

static void differ(struct drive *d)
{
    void *comm = must_connect(d);
    fill();
    CHECK(drive_allreduce(d, comm, x[0], x[0], ranks_own ? 1000 : 2000, NCCL_FP32, NULL,
                          &requests[0]) == NCCL_SUCCESS,
          "asks");
    CHECK(ranks_wait(d, requests[0], NULL) != NCCL_SUCCESS, "different lengths are added");
    must_close(d, comm, 8);
}

static void refused(struct drive *d)
{
    void *comm = must_connect(d), *request = &comm;
    CHECK(drive_allreduce(d, comm, x[0], x[0], 0, NCCL_FP32, NULL, &request) ==
                  NCCL_INVALID_ARGUMENT &&
              !request,
          "no element");
    CHECK(drive_allreduce(d, comm, x[0], x[0], 10, 2, NULL, &request) == NCCL_INVALID_ARGUMENT &&
              !request,
          "integers");
    CHECK(drive_allreduce(d, comm, NULL, x[0], 10, NCCL_FP32, NULL, &request) ==
              NCCL_INVALID_ARGUMENT,
          "from nowhere");
    must_close(d, comm, 8);
}

/* Strangers are silent, send garbage, or claim to be rank 1 without the secret. */
static void strangers(struct drive *d)
{
    void *listening = NULL, *comm = NULL, *handles[2];
    struct mesh_handle at;
    drive_init_coll(d, ranks_log);
    drive_listen(d, false, ranks_shared->handles[ranks_own], &listening);
    memcpy(&at, ranks_shared->handles[ranks_own], sizeof at);
    for (int i = 0; i < SILENT + 3 && ranks_own == 0; i++) {
        const struct {
            uint32_t magic, rank;
            uint64_t secret;
        } hello = {at.magic, 1, at.secret + 1};
        const int fd = ranks_call(ranks_shared->handles[0]);
        if (i >= SILENT)
            CHECK(send(fd, i < SILENT + 2 ? (const void *)"GET / HTTP/1.1\r\n" : &hello, 16, 0) ==
                      16,
                  "send");
        if (i == SILENT + 1)
            close(fd);
    }
    ranks_meet(); /* the others stay open */
    for (int r = 0; r < 2; r++)
        handles[r] = ranks_shared->handles[r];
    CHECK(DRIVE_SAME(d, DRIVE_COLL, connect(handles, 2, ranks_own, listening, &comm)) ==
                  NCCL_SUCCESS &&
              comm,
          "%s", said());
    DRIVE_SAME(d, DRIVE_COLL, close_listen(listening));
    fill();
    ask(d, comm, 0);
    CHECK(ranks_wait(d, requests[0], NULL) == NCCL_SUCCESS, "a sum");
    check_sums(0);
    must_close(d, comm, 8);
}

static const char *wanted;
static void nothing_offered(struct drive *d)
{
    int coll = -1, net = -1, yes = -1;
    void *listening = NULL;
    char handle[NCCL_HANDLE_BYTES];
    for (int i = 0; i < 2; i++)
        CHECK(drive_init_net(d, ranks_log) == NCCL_SUCCESS &&
                  drive_init_coll(d, ranks_log) == NCCL_SUCCESS,
              "init");
    CHECK(drive_devices(d, &coll, &net) == NCCL_SUCCESS && !coll && !net, "%d, %d devices", coll,
          net);
    CHECK(capture_lines(said()) == 1 && strstr(said(), wanted), "wanted \"%s\": %s", wanted,
          said());
    CHECK(drive_listen(d, false, handle, &listening) != NCCL_SUCCESS && !listening, "listens");
    CHECK(DRIVE_SAME(d, DRIVE_COLL, takes(NCCL_FP32, NCCL_SUM, &yes)) == NCCL_SUCCESS && !yes,
          "takes fp32");
}

static void try_words(const char *name, const char *word, const char *line)
{
    const char *before = getenv(name);
    char keep[200];
    snprintf(keep, sizeof keep, "%s", before ? before : "");
    setenv(name, word, 1);
    wanted = line;
    CHECK(ranks_run(1, 12, nothing_offered) == 0 && ranks_run(1, 6, nothing_offered) == 0, "%s=%s",
          name, word);
    if (before)
        setenv(name, keep, 1);
    else
        unsetenv(name);
}

static void only_fp8(struct drive *d)
{
    int coll = 0, net = 0;
    drive_init_net(d, ranks_log);
    drive_init_coll(d, ranks_log);
    CHECK(drive_devices(d, &coll, &net) == NCCL_SUCCESS && coll == 1 && net == 1, "%s", said());
    for (int type = 0; type < NCCL_TYPES; type++) {
        int yes = -1;
        DRIVE_SAME(d, DRIVE_COLL, takes(type, NCCL_SUM, &yes));
        CHECK(yes == (type >= NCCL_E4M3FN), "type %d: %d", type, yes);
    }
}

static void test_words(void)
{
    try_words("NARROWCAST_OFFLOAD", "", "no card is named");
    try_words("NARROWCAST_OFFLOAD", "sim:c", "need udp://HOST:PORT");
    try_words("NARROWCAST_OFFLOAD", "udp://127.0.0.1", "cannot read '127.0.0.1' as an address");
    try_words("NARROWCAST_OFFLOAD", "udp://127.0.0.1:0", "a port from 1 to 65535");
    try_words("NARROWCAST_OFFLOAD", "udp://127.0.0.1:9,sim:c", "need udp://HOST:PORT");
    try_words("NARROWCAST_OFFLOAD", "udp://127.0.0.1:9,", "need udp://HOST:PORT");
    try_words("NARROWCAST_OFFLOAD", "udp://127.0.0.1:9,eth://no..invalid:9", "cannot find host");
    try_words("NARROWCAST_FORMAT", "e9m9", "e9m9");
    try_words("NARROWCAST_FORMAT", "bf16", "card");
    static const char *const wrong[] = {"soon", "0x10", " 5", "5 s", "inf", "0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        try_words("NARROWCAST_DEADLINE", wrong[i], "bad NARROWCAST_DEADLINE");
    unsetenv("NARROWCAST_FORMAT");
    CHECK(ranks_run(1, 11, only_fp8) == 0, "without a format");
    try_words("NARROWCAST_SCALE", "aps", "cannot use NARROWCAST_SCALE without a format");
    try_words("NARROWCAST_ROUND", "nearest", "cannot use NARROWCAST_ROUND without a format");
    setenv("NARROWCAST_FORMAT", "e5m2", 1);
}

int main(void)
{
    if (!ranks_begin())
        return 1;
    setenv("NARROWCAST_FORMAT", "e5m2", 1);
    CHECK(ranks_start_card(), "no card");
    test_words();
    CHECK(ranks_run(2, 12, refused) == 0, "refused");
    CHECK(ranks_run(2, 12, strangers) == 0, "strangers");
    CHECK(ranks_run(3, 12, rank_dies) == 0, "a rank dies");
    CHECK(ranks_run(2, 6, closes_early) == 0, "closes early");
    CHECK(ranks_run(2, 7, closes_before_others_begin) == 0, "closes before others begin");
    CHECK(ranks_run(2, 8, closes_alone) == 0, "closes alone");
    setenv("NARROWCAST_DEADLINE", "2", 1);
    CHECK(ranks_run(2, 12, rank_stays_away) == 0, "a rank stays away");
    CHECK(ranks_run(2, 12, differ) == 0, "ranks differ");
    unsetenv("NARROWCAST_DEADLINE");
    CHECK(ranks_run(3, 9, card_dies) == 0, "the card dies");
    ranks_stop_card();
    CHECK(ranks_run(2, 10, no_card_answers) == 0, "no card answers");
    DONE();
}
