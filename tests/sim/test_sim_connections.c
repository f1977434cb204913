/* test_sim_connections.c : tests a card's control connections with a fake clock. */
#include "base/err.h"
#include "control/connections.h"
#include "sim/shell.h"
#include "sim_client.h"
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>

static void *shell;
static struct control *control;
static struct connections connections;
static uint16_t port;
static double now = 1000;
static double read_s;
static uint64_t reads;

static double test_clock(void)
{
    return now;
}

static int slow_read(void *card, uint32_t at, uint32_t *value)
{
    now += read_s;
    reads++;
    return shell_fast.control.read(card, at, value);
}

static void ignore(void *arg, uint32_t ip, uint16_t to, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)ip, (void)to, (void)bytes, (void)n;
}

/* Returns how often a socket was ready. */
static int serve_all(void)
{
    struct pollfd polls[CONNECTIONS_POLLS];
    int turns = 0, n;
    do {
        n = connections_polls(&connections, now, polls);
        const int ready = poll(polls, (nfds_t)n, 0);
        n = connections_serve(&connections, polls, n, now) || ready > 0;
    } while (n && ++turns < 1000);
    return turns;
}

static int call(void)
{
    const struct sockaddr_in to = client_at(0x7f000001, port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (const struct sockaddr *)&to, sizeof to) == 0, "cannot connect: %s",
          strerror(errno));
    return fd;
}

static struct simlink hello(int fd)
{
    uint8_t bytes[SIMLINK_BYTES];
    return recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) == sizeof bytes ? simlink_get(bytes)
                                                                       : (struct simlink){0};
}

static bool is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void say(int fd, struct simlink m)
{
    uint8_t bytes[SIMLINK_BYTES];
    simlink_put(m, bytes);
    CHECK(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes, "cannot send");
}

static void write_at(int fd, uint32_t at, uint32_t value)
{
    say(fd, (struct simlink){.kind = SIMLINK_WRITE, .a = at, .b = value});
}

static void idle_ones(void)
{
    int all[CONTROL_PEERS], late;
    for (int i = 0; i < CONTROL_PEERS; i++) {
        all[i] = call();
        serve_all();
        CHECK(hello(all[i]).kind == SIMLINK_HELLO, "no hello for connection %d", i);
    }
    write_at(all[0], REG_JOB_RANKS, 1);
    write_at(all[0], REG_JOB_SLOTS, 8);
    write_at(all[0], REG_JOB_COMMIT, 1);
    serve_all();
    CHECK(control_jobs(control) == 1 && connections_due(&connections) == now + CONNECTIONS_IDLE_S,
          "due at %g", connections_due(&connections));

    late = call();
    err_hold();
    serve_all();
    err_release(false);
    const struct simlink full = hello(late);
    CHECK(full.kind == SIMLINK_HELLO && full.status == SIMLINK_FULL && is_closed(late),
          "who finds no room is not told");
    close(late);

    now += CONNECTIONS_IDLE_S - 1;
    say(all[1], (struct simlink){.kind = SIMLINK_TIME});
    serve_all();
    now += 1;
    serve_all();
    CHECK(control_peers(control) == 2, "%d are left: who owns a job, who has asked for something",
          control_peers(control));
    CHECK(is_closed(all[2]) && is_closed(all[CONTROL_PEERS - 1]) && control_jobs(control) == 1,
          "who was dropped");
    late = call();
    serve_all();
    CHECK(hello(late).kind == SIMLINK_HELLO, "there is no room now");
    now += 1e6;
    serve_all();
    CHECK(control_peers(control) == 1 && connections_due(&connections) == INFINITY,
          "%d are left, next due at %g", control_peers(control), connections_due(&connections));
    write_at(all[0], REG_JOB_COMMIT, 0);
    serve_all();
    now += CONNECTIONS_IDLE_S;
    serve_all();
    CHECK(control_peers(control) == 0, "who has stopped its job is never dropped");
    for (int i = 0; i < CONTROL_PEERS; i++)
        close(all[i]);
    close(late);
}

/* A byte a second without a whole message counts as silence. */
static void dawdler(void)
{
    uint8_t bytes[SIMLINK_BYTES];
    const int fd = call();
    simlink_put((struct simlink){.kind = SIMLINK_TIME}, bytes);
    serve_all();
    CHECK(hello(fd).kind == SIMLINK_HELLO, "no hello");
    for (int i = 0; i < CONNECTIONS_IDLE_S; i++, now += 1) {
        CHECK(control_peers(control) == 1, "dropped after %d s", i);
        CHECK(send(fd, bytes + i, 1, MSG_NOSIGNAL) == 1, "cannot send");
        serve_all();
    }
    serve_all();
    CHECK(control_peers(control) == 0 && is_closed(fd), "it keeps its place");
    close(fd);
}

static void ask_often(int fd, int n, bool batches)
{
    uint8_t body[8 * SIMLINK_BATCH_MAX] = {0};
    for (int i = 0; i < SIMLINK_BATCH_MAX; i++)
        pkt_put_uint(body + 8 * i, 1u << 31 | REG_ID, 4);
    for (int i = 0; i < n; i++) {
        say(fd, (struct simlink){.kind = batches ? SIMLINK_BATCH : SIMLINK_READ,
                                 .a = REG_ID,
                                 .bytes = batches ? sizeof body : 0});
        CHECK(!batches || send(fd, body, sizeof body, MSG_NOSIGNAL) == sizeof body, "cannot send");
    }
}

/* Peers ask without end. Each turn of the card's loop does bounded work, then rests; it works at
 * most a third of the time. A modest peer does not wait for all greedy ones. */
static void greedy(bool batches, double seconds)
{
    enum { GREEDY = 8, OFTEN = 40, TURNS = 3 * GREEDY };
    const uint64_t most = batches ? SIMLINK_BATCH_MAX : (uint64_t)(RATION_SLICE_S / seconds) + 1;
    struct pollfd polls[CONNECTIONS_POLLS];
    int fd[GREEDY + 1];
    bool is_heard = false;
    for (int i = 0; i <= GREEDY; i++) {
        fd[i] = call();
        serve_all();
        CHECK(hello(fd[i]).kind == SIMLINK_HELLO, "no hello for connection %d", i);
    }
    for (int i = 0; i < GREEDY; i++)
        ask_often(fd[i], batches ? OFTEN / 5 : OFTEN, batches);
    read_s = seconds;
    reads = 0;
    const double start = now;
    for (int turn = 0; turn < TURNS; turn++) {
        const uint64_t before = reads;
        const int n = connections_polls(&connections, now, polls);
        CHECK(poll(polls, (nfds_t)n, 0) > 0, "nobody asks");
        CHECK(connections_serve(&connections, polls, n, now) == 0, "the card fails");
        CHECK(reads > before && reads - before <= most, "%llu reads in a turn, %llu at most",
              (unsigned long long)(reads - before), (unsigned long long)most);
        CHECK(connections_polls(&connections, now, polls) == 0, "no rest");
        if (turn == GREEDY)
            say(fd[GREEDY], (struct simlink){.kind = SIMLINK_TIME});
        is_heard = is_heard || (turn == GREEDY + 2 && hello(fd[GREEDY]).kind == SIMLINK_DONE);
        now = connections_due(&connections);
    }
    const double busy = (double)reads * seconds;
    CHECK(busy <= (now - start) / RATION_REST, "%g of %g s are theirs", busy, now - start);
    CHECK(is_heard, "who asks once waits for those who ask without end");
    for (int i = 0; i <= GREEDY; i++)
        close(fd[i]);
    read_s = 0;
    for (int i = 0; i < 1000 && control_peers(control); i++)
        serve_all();
    CHECK(control_peers(control) == 0, "somebody is left");
}

/* The process is stopped while it serves a message. That time must not count as the peer's work,
 * nor make the card rest for twice as long. */
static void stopped(void)
{
    enum { OFTEN = 12, MAX_N = 5 };
    const double step = RATION_LONGEST_S / 4;
    const int unlucky = call(), other = call();
    int turns = 0;
    serve_all();
    CHECK(hello(unlucky).kind == SIMLINK_HELLO && hello(other).kind == SIMLINK_HELLO, "no hello");
    read_s = CONNECTIONS_IDLE_S / 2.0;
    ask_often(unlucky, 1, false);
    serve_all();
    CHECK(hello(unlucky).kind == SIMLINK_DONE, "no answer");
    const double rest = connections_due(&connections) - now;
    CHECK(rest <= RATION_REST * RATION_LONGEST_S + 1e-9, "it rests for %g s", rest);
    now = connections_due(&connections);
    read_s = step;
    ask_often(other, OFTEN, false);
    ask_often(unlucky, 1, false);
    for (; hello(unlucky).kind != SIMLINK_DONE && turns <= OFTEN; turns++) {
        serve_all();
        now = connections_due(&connections);
    }
    CHECK(turns <= MAX_N, "the one that was unlucky waits for %d messages of another", turns);
    read_s = 0;
    close(unlucky);
    close(other);
    now += CONNECTIONS_IDLE_S;
    for (int i = 0; i < 100 && control_peers(control); i++)
        serve_all();
    CHECK(control_peers(control) == 0, "somebody is left");
}

/* A waiting peer keeps the listener readable, which must not make the card spin. */
static void no_descriptors(void)
{
    struct rlimit before, low;
    struct pollfd polls[CONNECTIONS_POLLS];
    const int fd = call(), highest = dup(fd);
    getrlimit(RLIMIT_NOFILE, &before);
    low = before;
    low.rlim_cur = (rlim_t)highest;
    close(highest);
    setrlimit(RLIMIT_NOFILE, &low);
    const int turns = serve_all();
    CHECK(turns < 3 && connections_polls(&connections, now, polls) == 0, "the card spins: %d turns",
          turns);
    CHECK(connections_due(&connections) == now + CONNECTIONS_REST_S, "due at %g",
          connections_due(&connections));
    setrlimit(RLIMIT_NOFILE, &before);
    now += CONNECTIONS_REST_S;
    serve_all();
    serve_all();
    CHECK(hello(fd).kind == SIMLINK_HELLO && hello(fd).status == 0, "who waited is not let in");
    close(fd);
    serve_all();
    CHECK(control_peers(control) == 0 && connections_due(&connections) == INFINITY,
          "somebody is left");
}

int main(void)
{
    struct sockaddr_in at = client_at(0x7f000001, 0);
    socklen_t n = sizeof at;
    struct control_ops ops = shell_fast.control;
    ops.read = slow_read;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&at, n) || listen(listener, 128) ||
        getsockname(listener, (struct sockaddr *)&at, &n))
        return 1;
    port = ntohs(at.sin_port);
    if (shell_fast.open(NULL, ignore, NULL, &shell) ||
        control_open(&ops, shell, true, NULL, NULL, &control))
        return 1;
    connections_init(&connections, control, listener, 0, port);
    connections.clock = test_clock;
    idle_ones();
    dawdler();
    greedy(false, RATION_SLICE_S / 10);
    greedy(false, 10 * RATION_SLICE_S);
    greedy(true, RATION_SLICE_S);
    stopped();
    no_descriptors();
    connections_fini(&connections);
    control_close(control);
    shell_fast.close(shell);
    close(listener);
    DONE();
}
