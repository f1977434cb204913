/* test_sim_listen.c : tests narrowcast-sim as a card on the network, over real sockets. A job ends
 * with its connection, garbage ends only its own connection, captures and waves are complete.
 *
 *     test_sim_listen HOST:PORT      only sums, through a card that runs there */
#include "sim/ether.h"
#include "sim_client.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static char program[512];

struct process {
    pid_t pid;
    uint32_t ip;
    uint16_t port;
    int said;
};

/* words: options, then NULL. fd: inherited, or -1. */
static int start(struct process *p, int fd, const char *const *words)
{
    int out[2], err[2];
    char line[128] = "";
    if (pipe(out) || pipe(err))
        return -1;
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        const char *argv[20] = {"narrowcast-sim"};
        for (int i = 0; words[i]; i++)
            argv[i + 1] = words[i];
        dup2(out[1], 1);
        dup2(err[1], 2);
        for (int i = 3; i < 64; i++)
            if (i != fd)
                close(i);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    p->said = err[0];
    for (size_t n = 0;
         fd < 0 && n < sizeof line - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n'; n++)
        ;
    close(out[0]);
    line[strcspn(line, "\n")] = 0;
    if (fd >= 0)
        return 0;
    CHECK(!strncmp(line, "listening on ", 13), "it said '%s'", line);
    return strncmp(line, "listening on ", 13) ? -1 : inet_parse(line + 13, &p->ip, &p->port);
}

/* signal 0: none. Returns the exit status; -1: it does not end. */
static int stop(struct process *p, int signal)
{
    int status = 0;
    pid_t pid = 0;
    if (signal)
        kill(p->pid, signal);
    for (int i = 0; i < 1000 && !pid; i++) {
        pid = waitpid(p->pid, &status, WNOHANG);
        if (!pid)
            usleep(10000);
    }
    if (!pid) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, &status, 0);
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

/* Closes stderr. */
static int lines_said(struct process *p)
{
    char text[4096];
    int lines = 0;
    fcntl(p->said, F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = read(p->said, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            lines += text[i] == '\n';
    close(p->said);
    return lines;
}

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

static int wait_jobs(struct client *c, int64_t jobs)
{
    for (int i = 0; i < 500 && client_wire(c, "jobs") != jobs; i++)
        sleep_ms(10);
    return client_wire(c, "jobs") == jobs;
}

static int sums(uint32_t ip, uint16_t port, uint32_t chunks, uint32_t slots, uint32_t beats,
                struct client *c)
{
    struct client_job job = {.index = 1, .base = 8, .slots = slots, .key = 0x1122334455667788};
    if (client_open(c, ip, port)) {
        CHECK(0, "no card");
        return -1;
    }
    CHECK(client_register(c, &job) == 0, "the job is refused");
    for (uint32_t i = 0; i < chunks; i++)
        if (client_chunk(&job, beats, 0.05)) {
            CHECK(0, "chunk %u does not come", i);
            break;
        }
    client_close_ranks(&job);
    return (int)job.resent;
}

static void good_network(const char *model)
{
    const char *const words[] = {"--listen", "127.0.0.1:0", "--engine", model, NULL};
    const int is_c = !strcmp(model, "c");
    struct process p;
    struct client c, d;
    if (start(&p, -1, words))
        return;
    sums(p.ip, p.port, is_c ? 40 : 3, 16, is_c ? 22 : 3, &c);
    CHECK(client_counter(&c, CNT_IN_ADDED) == (is_c ? 40 : 3) * 16 * CLIENT_RANKS, "%lld added",
          (long long)client_counter(&c, CNT_IN_ADDED));
    struct simlink time;
    CHECK(!client_ask(&c, (struct simlink){.kind = SIMLINK_TIME}, NULL, &time) && time.b > 0 &&
              time.c > 0 && (time.a == 0) == is_c,
          "clocks %llu", (unsigned long long)time.a);

    CHECK(!client_open(&d, p.ip, p.port), "no second connection");
    client_write(&d, REG_JOB_INDEX, 1);
    CHECK(client_write(&d, REG_JOB_COMMIT, 0) == 1, "another connection stops the job");
    CHECK(client_wire(&d, "jobs") == 1, "jobs");
    close(c.fd);
    CHECK(wait_jobs(&d, 0), "a job is left behind");

    CHECK(!client_open(&c, p.ip, p.port), "no third connection");
    char byte[200];
    memset(byte, 'x', sizeof byte);
    CHECK(!sock_send(c.fd, byte, sizeof byte) && sock_recv(c.fd, byte, 1), "nonsense is answered");
    close(c.fd);
    CHECK(client_read(&d, REG_ID) == REG_ID_VALUE, "the other connection is gone, too");
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = client_at(p.ip, p.port);
    for (size_t n = 0; n <= sizeof byte; n += 50)
        CHECK(sendto(udp, byte, n, 0, (struct sockaddr *)&to, sizeof to) == (ssize_t)n, "sendto");
    close(udp);
    for (int i = 0; i < 500 && client_counter(&d, CNT_DROP_LENGTH) < 4; i++)
        sleep_ms(10);
    CHECK(client_counter(&d, CNT_DROP_LENGTH) == 4 && client_wire(&d, "datagrams_empty") == 1,
          "no frames are counted");
    CHECK(!client_open(&c, p.ip, p.port) && !sock_send(c.fd, byte, 7), "half a message");
    close(c.fd);
    CHECK(client_read(&d, REG_ID) == REG_ID_VALUE, "the other connection is gone, too");

    CHECK(stop(&p, SIGTERM) == 0, "it does not end well");
    CHECK(lines_said(&p) == 1, "one line about nonsense");
    close(d.fd);
}

static void bad_network(const char *const *words, uint32_t chunks)
{
    struct process p;
    struct client c;
    if (start(&p, -1, words))
        return;
    const int resent = sums(p.ip, p.port, chunks, 32, 4, &c);
    CHECK(resent > 0, "nothing was sent again");
    CHECK(client_wire(&c, "in_dropped") > 0 && client_wire(&c, "out_dropped") > 0,
          "nothing was lost");
    CHECK(client_wire(&c, "in_repeated") > 0 && client_wire(&c, "out_repeated") > 0,
          "nothing was repeated");
    CHECK(client_wire(&c, "in_reordered") > 0 && client_wire(&c, "out_reordered") > 0,
          "nothing was reordered");
    CHECK(client_counter(&c, CNT_IN_ADDED) == (int64_t)chunks * 32 * CLIENT_RANKS, "%lld added",
          (long long)client_counter(&c, CNT_IN_ADDED));
    printf("bad network: %d frames sent again for %u\n", resent, chunks * 32 * CLIENT_RANKS);
    close(c.fd);
    CHECK(stop(&p, SIGINT) == 0, "it does not end well");
    close(p.said);
}

static void unreachable(void)
{
    const char *const words[] = {"--listen", "127.0.0.1:0", "--engine", "c", NULL};
    struct client_job job = {.index = 2, .base = 0, .slots = 32, .key = 7};
    struct client_ops move = {0};
    struct simlink done;
    struct process p;
    struct client c;
    if (start(&p, -1, words))
        return;
    CHECK(!client_open(&c, p.ip, p.port) && client_register(&c, &job) == 0, "no job");
    for (uint32_t s = 0; s < job.slots; s++)
        client_send(&job, 2, s, 2);
    for (int i = 0; i < 500 && client_counter(&c, CNT_IN_ADDED) < job.slots; i++)
        sleep_ms(10);
    client_op(&move, REG_RANK_INDEX, 2);
    client_op(&move, REG_RANK_IP, p.ip);
    client_op(&move, REG_RANK_PORT, 0);
    client_op(&move, REG_RANK_COMMIT, 1);
    CHECK(!client_ask(&c, (struct simlink){.kind = SIMLINK_BATCH, .bytes = 8 * move.n}, move.bytes,
                      &done) &&
              !done.status,
          "the rank does not move");
    for (uint32_t s = 0; s < job.slots; s++)
        for (uint32_t r = 0; r < 2; r++)
            client_send(&job, r, s, 2);
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t s = 0; s < job.slots; s++) {
            uint8_t bytes[CLIENT_MAX];
            struct pollfd ready = {.fd = job.udp[r], .events = POLLIN};
            const ssize_t n =
                poll(&ready, 1, 5000) > 0 ? recv(job.udp[r], bytes, sizeof bytes, 0) : 0;
            CHECK(n > 0 && client_check(&job, r, bytes, (size_t)n, 2) >= 0,
                  "result %u does not come to rank %u", s, r);
        }
    CHECK(client_wire(&c, "datagrams_out_refused") == job.slots, "%lld were refused",
          (long long)client_wire(&c, "datagrams_out_refused"));
    client_close_ranks(&job);
    close(c.fd);
    CHECK(stop(&p, SIGTERM) == 0, "it does not end well");
    close(p.said);
}

static void own_card(void)
{
    int ends[2];
    char number[16];
    struct client c;
    struct simlink where = {0};
    struct process p;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return;
    snprintf(number, sizeof number, "%d", ends[1]);
    const char *const words[] = {"--fd", number, "--listen", "127.0.0.1:0", "--engine", "c", NULL};
    if (start(&p, ends[1], words))
        return;
    close(ends[1]);
    CHECK(!client_hello(&c, ends[0]) &&
              !client_ask(&c, (struct simlink){.kind = SIMLINK_ADDRESS}, NULL, &where),
          "ADDRESS");
    struct client d;
    const int rc = sums((uint32_t)where.a, (uint16_t)where.b, 3, 4, 2, &d);
    CHECK(rc >= 0 && client_wire(&c, "jobs") == 1, "the job of another connection");
    close(c.fd);
    CHECK(stop(&p, 0) == 0, "it outlives who started it");
    close(d.fd);
    CHECK(lines_said(&p) == 0, "it said something");
}

/* No process reads stderr, and strangers cause more lines than its pipe holds: the card prints
 * some and counts the rest. */
static void unread(void)
{
    const char *const words[] = {"--listen", "127.0.0.1:0", "--engine", "c", NULL};
    struct process p;
    struct client c;
    char text[512];
    if (start(&p, -1, words))
        return;
    fcntl(p.said, F_SETPIPE_SZ, 4096);
    CHECK(!client_open(&c, p.ip, p.port), "no card");
    memset(text, 'x', sizeof text);
    int n = 0;
    for (int64_t left_out = 0; n < 3000 && left_out < 100; n++) {
        struct client stranger = {.fd = -1};
        CHECK(!client_open(&stranger, p.ip, p.port) && !sock_send(stranger.fd, text, sizeof text) &&
                  sock_recv(stranger.fd, text, 1),
              "stranger %d", n);
        close(stranger.fd);
        left_out = check_bad ? 100 : client_wire(&c, "lines_left_out");
    }
    CHECK(n >= 100 && n < 200, "%d strangers until 100 lines were left out", n);
    CHECK(client_read(&c, REG_ID) == REG_ID_VALUE, "the card does not answer");
    CHECK(stop(&p, SIGTERM) == 0, "SIGTERM does not end it");
    close(c.fd);
    CHECK(lines_said(&p) >= 1, "it said nothing");
}

static void whole_capture(const char *path, long least)
{
    uint8_t head[24], record[16], bytes[4096];
    long n_records = 0;
    FILE *f = fopen(path, "rb");
    CHECK(f && fread(head, 1, sizeof head, f) == sizeof head && head[0] == 0x4d && head[20] == 101,
          "no capture");
    while (f && fread(record, 1, sizeof record, f) == sizeof record) {
        const size_t n = (size_t)pkt_get_uint(record + 8, 4);
        CHECK(n == pkt_get_uint(record + 12, 4) && n <= sizeof bytes && fread(bytes, 1, n, f) == n,
              "record %ld", n_records);
        CHECK(ether_sum(0, bytes, 20) == 0xffff, "record %ld: IP checksum", n_records);
        CHECK(bytes[0] == 0x45 && ((size_t)bytes[2] << 8 | bytes[3]) == n && bytes[9] == 17,
              "record %ld is no datagram", n_records);
        CHECK(((size_t)bytes[24] << 8 | bytes[25]) == n - 20 && !memcmp(bytes + 28, "ncs\1", 4),
              "record %ld", n_records);
        n_records++;
    }
    CHECK(n_records >= least, "%ld records", n_records);
    if (f)
        fclose(f);
}

/* An FST file begins with a block of 329 bytes. It has the end time only after closing. */
static void whole_wave(const char *path)
{
    uint8_t head[25] = {0};
    uint64_t bytes = 0, end = 0;
    FILE *f = fopen(path, "rb");
    CHECK(f && fread(head, 1, sizeof head, f) == sizeof head, "no waves");
    for (int i = 0; i < 8; i++) {
        bytes = bytes << 8 | head[1 + i];
        end = end << 8 | head[17 + i];
    }
    CHECK(head[0] == 0 && bytes == 329 && end > 0, "waves that end at %llu",
          (unsigned long long)end);
    if (f)
        fclose(f);
}

static void files(const char *model, const char *option, const char *path)
{
    const char *const words[] = {"--listen", "127.0.0.1:0", "--engine", model, option, path, NULL};
    struct process p;
    struct client c;
    if (start(&p, -1, words))
        return;
    sums(p.ip, p.port, 2, 2, 2, &c);
    CHECK(stop(&p, SIGTERM) == 0, "it does not end well");
    close(c.fd);
    close(p.said);
}

static int has_rtl(void)
{
    char command[sizeof program + 64];
    snprintf(command, sizeof command, "grep -q 'built without Verilator' '%s'", program);
    return system(command) != 0;
}

int main(int argc, char **argv)
{
    static const char *const bad_c[] = {
        "--listen",  "127.0.0.1:0", "--engine", "c",   "--drop", "0.05", "--dup", "0.05",
        "--reorder", "0.1",         "--delay",  "500", "--seed", "3",    NULL};
    if (argc > 1 && strchr(argv[1], ':')) {
        struct client c;
        uint32_t ip;
        uint16_t port;
        if (inet_parse(argv[1], &ip, &port))
            return 1;
        sums(ip, port, 20, 8, 22, &c);
        DONE();
    }
    const char *b = getenv("B");
    snprintf(program, sizeof program, "%s/narrowcast-sim", b ? b : "build");
    if (access(program, X_OK))
        SKIP("narrowcast-sim was not built");
    signal(SIGPIPE, SIG_IGN);
    char pcap[] = "/tmp/test_sim_XXXXXX", wave[sizeof pcap + 4];
    const int fd = mkstemp(pcap);
    close(fd);
    snprintf(wave, sizeof wave, "%s.fst", pcap);

    good_network("c");
    bad_network(bad_c, 12);
    unreachable();
    own_card();
    unread();
    files("c", "--pcap", pcap);
    whole_capture(pcap, 2 * 2 * CLIENT_RANKS * 2);
    if (has_rtl()) {
        good_network("rtl");
        files("rtl", "--wave", wave);
        whole_wave(wave);
    } else {
        puts("skip: built without Verilator: the Verilated card");
    }
    unlink(pcap);
    unlink(wave);
    DONE();
}
