/* test_sim_control.c : tests the access rules of a card with several controlling programs. Then
 * 10^6 nonsense inputs (`long`: 10^7) through fuzz_control.c. */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "fuzz_control.c"

enum { SEED = 5, INPUT_MAX = 700 };
#include "seeded.h"

static uint8_t answer_body[SIMLINK_MAX];

static struct simlink ask(int peer, struct simlink m, const uint8_t *body)
{
    uint8_t bytes[SIMLINK_BYTES + 4096];
    size_t n;
    simlink_put(m, bytes);
    if (m.bytes)
        memcpy(bytes + SIMLINK_BYTES, body, m.bytes);
    struct simlink answer = {0};
    static size_t cut;
    const size_t all = SIMLINK_BYTES + m.bytes, first = ++cut % all;
    int rc = control_take(fuzz.control, peer, bytes, first);
    rc = rc ? rc : control_take(fuzz.control, peer, bytes + first, all - first);
    CHECK(rc == 0, "message %u: %d", m.kind, rc);
    const uint8_t *said = control_to_send(fuzz.control, peer, &n);
    if (n >= SIMLINK_BYTES) {
        answer = simlink_get(said);
        CHECK(n == SIMLINK_BYTES + answer.bytes, "%zu bytes, %u said", n, answer.bytes);
        memcpy(answer_body, said + SIMLINK_BYTES, answer.bytes);
    }
    control_sent(fuzz.control, peer, n);
    return answer;
}

static uint32_t write_as(int peer, uint32_t at, uint32_t value)
{
    return ask(peer, (struct simlink){.kind = SIMLINK_WRITE, .a = at, .b = value}, NULL).status;
}

static uint32_t read_as(int peer, uint32_t at)
{
    return (uint32_t)ask(peer, (struct simlink){.kind = SIMLINK_READ, .a = at}, NULL).b;
}

static void stage(int peer, uint32_t index, uint32_t base, uint32_t slots)
{
    write_as(peer, REG_JOB_INDEX, index);
    write_as(peer, REG_JOB_RANKS, 2);
    write_as(peer, REG_JOB_SLOT_BASE, base);
    write_as(peer, REG_JOB_SLOTS, slots);
}

static void owners(void)
{
    int a, b;
    fuzz_join(&a, "a");
    fuzz_join(&b, "b");
    stage(a, 0, 0, 8);
    CHECK(write_as(a, REG_JOB_COMMIT, 1) == 0 && read_as(a, REG_STATUS) == 0,
          "a's job does not start");
    CHECK(control_jobs(fuzz.control) == 2, "jobs %d", control_jobs(fuzz.control));
    CHECK(write_as(b, REG_JOB_COMMIT, 0) == 1, "b stops a's job");
    CHECK(write_as(b, REG_JOB_COMMIT, 1) == 1, "b starts a's job");
    CHECK(write_as(b, REG_RANK_COMMIT, 1) == 1, "b moves a rank of a's");
    CHECK(write_as(a, REG_RANK_COMMIT, 1) == 0, "a cannot move its rank");
    stage(b, 1, 4, 8);
    CHECK(write_as(b, REG_JOB_COMMIT, 1) == 0 && read_as(b, REG_STATUS) == 2, "b takes a's slots");
    stage(b, 1, 8, 8);
    CHECK(write_as(b, REG_JOB_COMMIT, 1) == 0 && read_as(b, REG_STATUS) == 0,
          "b's job does not start");
    CHECK(control_jobs(fuzz.control) == 3, "jobs %d", control_jobs(fuzz.control));
    write_as(b, REG_JOB_INDEX, 3);
    MUST(control_leave(fuzz.control, a) == 0);
    CHECK(control_jobs(fuzz.control) == 2, "jobs %d", control_jobs(fuzz.control));
    CHECK(read_as(b, REG_JOB_INDEX) == 3, "the end of a has moved b's JOB_INDEX to %u",
          read_as(b, REG_JOB_INDEX));
    stage(b, 0, 0, 8);
    CHECK(write_as(b, REG_JOB_COMMIT, 1) == 0 && read_as(b, REG_STATUS) == 0,
          "a's slots are not free");
    write_as(b, REG_JOB_COMMIT, 0);
    CHECK(control_jobs(fuzz.control) == 2, "jobs %d", control_jobs(fuzz.control));
    CHECK(write_as(b, REG_CTRL, 0) == 0 && read_as(b, REG_CTRL) == 1, "b disables the card");
    CHECK(write_as(b, REG_DROP_IN, 7) == 1 && write_as(b, REG_DROP_OUT, 7) == 1 &&
              write_as(b, REG_DROP_SEED, 7) == 1,
          "b may lose frames");
    CHECK(write_as(b, 0xffc, 1) == 1 && write_as(b, 0x10018, 1) == 1 && write_as(b, 0x1a, 1) == 1,
          "no such register");
    CHECK(ask(b, (struct simlink){.kind = SIMLINK_READ, .a = 1ull << 40}, NULL).status == 1,
          "no such register");
    const struct simlink where = ask(b, (struct simlink){.kind = SIMLINK_ADDRESS}, NULL);
    CHECK(where.a == 0x7f000001 && where.b == 4711, "address %llx", (unsigned long long)where.a);
    MUST(control_leave(fuzz.control, b) == 0);
    CHECK(control_jobs(fuzz.control) == 1, "jobs %d", control_jobs(fuzz.control));
}

/* Others cannot read a connection's job, or the addresses of its ranks. */
static void secrets(void)
{
    int a;
    fuzz_join(&a, "a");
    for (uint32_t at = REG_JOB_RANKS; at <= REG_RANK_COMMIT; at += 4)
        CHECK(read_as(a, at) == 0, "register %x reads %x", at, read_as(a, at));
    fuzz_add_from(0x0a0b0c0d); /* the victim's rank 0, behind a NAT */
    const struct simlink seen =
        ask(a, (struct simlink){.kind = SIMLINK_READ, .a = REG_SEEN_IP}, NULL);
    CHECK(seen.status == 1 && seen.b == 0, "a is told that the victim's rank is seen as %llx",
          (unsigned long long)seen.b);
    CHECK(read_as(fuzz.victim, REG_SEEN_IP) == 0x0a0b0c0d, "the victim is not told");
    fuzz.chunk--;
    fuzz_add_from(0);
    MUST(control_leave(fuzz.control, a) == 0);
}

static bool starts(int peer, uint32_t index, uint32_t base, uint32_t slots, uint32_t commit)
{
    stage(peer, index, base, slots);
    return write_as(peer, REG_JOB_COMMIT, commit) == 0 && read_as(peer, REG_STATUS) == 0;
}

/* The victim has 4 slots of 128, from 40. A job gets 62 of the 124 free ones, unless it asks for
 * more; the last job gets all. */
static void fair_share(void)
{
    int a;
    fuzz_join(&a, "a");
    CHECK(!starts(a, 0, 44, 63, 1), "a job takes more than it leaves");
    CHECK(starts(a, 0, 44, 62, 1), "a job cannot take half");
    CHECK(!starts(a, 1, 0, 32, 1) && starts(a, 1, 0, 31, 1), "half of what the first has left");
    CHECK(starts(a, 3, 106, 22, 1), "nobody could use what the last job leaves");
    CHECK(control_jobs(fuzz.control) == 4, "jobs %d", control_jobs(fuzz.control));
    MUST(control_leave(fuzz.control, a) == 0);
    fuzz_join(&a, "a");
    CHECK(starts(a, 0, 44, 84, 3), "a job that asks for more does not get it");
    MUST(control_leave(fuzz.control, a) == 0);
}

static uint32_t put_op(uint8_t *ops, uint32_t n, uint32_t at, uint32_t value)
{
    pkt_put_uint(ops + 8 * (size_t)n, at, 4);
    pkt_put_uint(ops + 8 * (size_t)n + 4, value, 4);
    return n + 1;
}

static void batches(void)
{
    const uint32_t read_flag = 1u << 31;
    uint8_t ops[80];
    uint32_t n = 0;
    int a;
    fuzz_join(&a, "a");
    n = put_op(ops, n, REG_COUNTER_INDEX, 17);
    n = put_op(ops, n, REG_COUNTER_INDEX | read_flag, 0);
    n = put_op(ops, n, REG_ID | read_flag, 0);
    n = put_op(ops, n, REG_DROP_IN, 5);
    n = put_op(ops, n, REG_COUNTER_INDEX, 18);
    struct simlink m = ask(a, (struct simlink){.kind = SIMLINK_BATCH, .bytes = 8 * n}, ops);
    CHECK(m.status == 1 && m.a == 3 && m.bytes == 12, "status %u after %llu", m.status,
          (unsigned long long)m.a);
    CHECK(pkt_get_uint(answer_body, 4) == 0 && pkt_get_uint(answer_body + 4, 4) == 17 &&
              pkt_get_uint(answer_body + 8, 4) == REG_ID_VALUE,
          "what was read");
    CHECK(read_as(a, REG_COUNTER_INDEX) == 17, "an operation behind a refused one was done");
    m = ask(a, (struct simlink){.kind = SIMLINK_BATCH, .bytes = 24}, ops);
    CHECK(m.status == 0 && m.a == 3, "status %u after %llu", m.status, (unsigned long long)m.a);
    MUST(control_leave(fuzz.control, a) == 0);
}

static void told_off(struct simlink m, const char *what)
{
    uint8_t bytes[SIMLINK_BYTES];
    int a;
    fuzz_join(&a, "a");
    simlink_put(m, bytes);
    CHECK(control_take(fuzz.control, a, bytes, sizeof bytes) == 1, "was taken: %s", what);
    MUST(control_leave(fuzz.control, a) == 0);
}

static void nonsense(void)
{
    uint8_t bytes[SIMLINK_BYTES];
    size_t n;
    int a, all[CONTROL_PEERS], n_all = 0, rc = 0;
    told_off((struct simlink){.kind = SIMLINK_FRAME}, "FRAME");
    told_off((struct simlink){.kind = SIMLINK_RUN, .a = 1}, "RUN");
    told_off((struct simlink){.kind = SIMLINK_DONE}, "DONE");
    told_off((struct simlink){.kind = 99}, "99");
    told_off((struct simlink){.kind = SIMLINK_READ, .bytes = 4}, "READ with a body");
    told_off((struct simlink){.kind = SIMLINK_BATCH, .bytes = 12},
             "BATCH of one operation and a half");
    told_off((struct simlink){.kind = SIMLINK_BATCH, .bytes = 1u << 31}, "BATCH without end");
    told_off((struct simlink){.kind = SIMLINK_QUIT}, "QUIT");

    fuzz_join(&a, "a");
    simlink_put((struct simlink){.kind = SIMLINK_TIME}, bytes);
    for (n = 0; !rc && n < CONTROL_UNREAD / SIMLINK_BYTES + 10; n++)
        rc = control_take(fuzz.control, a, bytes, sizeof bytes);
    CHECK(rc == 1, "answers pile up");
    MUST(control_leave(fuzz.control, a) == 0);

    while ((a = control_join(fuzz.control, "one more", 1, 1)) >= 0)
        all[n_all++] = a;
    CHECK(a == -EAGAIN && n_all == CONTROL_PEERS - 1, "%d peers", n_all);
    while (n_all)
        MUST(control_leave(fuzz.control, all[--n_all]) == 0);
}

static size_t message(uint8_t *to)
{
    static const uint8_t registers[] = {
        REG_JOB_INDEX, REG_JOB_INDEX,  REG_JOB_COMMIT, REG_JOB_COMMIT, REG_RANK_COMMIT,
        REG_CTRL,      REG_JOB_RANKS,  REG_JOB_SLOTS,  REG_RANK_INDEX, REG_DROP_IN,
        REG_STATUS,    REG_JOB_KEY_LO, REG_RANK_IP,    REG_DROP_OUT,   REG_JOB_SLOT_BASE};
    struct simlink m = {
        .kind = 1 + draw(SIMLINK_WIRE + 1), .a = registers[draw(sizeof registers)], .b = draw(4)};
    uint32_t n_ops = 0;
    if (draw(3) == 0)
        m.kind = SIMLINK_BATCH;
    if (m.kind == SIMLINK_FRAME || m.kind == SIMLINK_RUN || m.kind == SIMLINK_HELLO)
        m.kind = SIMLINK_WRITE;
    if (m.kind == SIMLINK_BATCH)
        n_ops = draw(20);
    m.bytes = 8 * n_ops;
    simlink_put(m, to);
    for (uint32_t i = 0; i < n_ops; i++)
        put_op(to + SIMLINK_BYTES, i,
               registers[draw(sizeof registers)] | (draw(4) == 0 ? 1u << 31 : 0),
               draw(draw(2) ? 4 : 130));
    return SIMLINK_BYTES + m.bytes;
}

static void by_chance(uint64_t inputs)
{
    static uint8_t input[INPUT_MAX + 512];
    for (uint64_t k = 0; k < inputs; k++) {
        size_t n = 0;
        for (uint32_t i = 0; i < 1 + draw(5) && n < INPUT_MAX - 250; i++) {
            size_t bytes = draw(10) ? message(input + n + 2) : draw(60);
            if (draw(6) == 0)
                bytes = draw((uint32_t)bytes + 1);
            input[n] = (uint8_t)bytes;
            input[n + 1] = (uint8_t)draw(3);
            n += 2 + bytes;
        }
        for (uint32_t i = draw(4); n && i > 0; i--)
            input[draw((uint32_t)n)] ^= (uint8_t)(1u << draw(8));
        err_hold();
        (void)LLVMFuzzerTestOneInput(input, n);
        err_release(false);
    }
}

static bool is_stuck;

static int stuck_read(void *card, uint32_t at, uint32_t *value)
{
    (void)card;
    *value = at != REG_STATUS ? 4 : is_stuck ? REG_STATUS_STOPPING : 0;
    return 0;
}

static int stuck_write(void *card, uint32_t at, uint32_t value)
{
    (void)card, (void)at, (void)value;
    return 0;
}

/* A job that does not stop: control.c prints a line, control_jobs.c none. */
static void stuck(void)
{
    const struct control_ops ops = {.read = stuck_read, .write = stuck_write};
    struct control_jobs jobs;
    struct control *control;
    struct capture lines;
    MUST(control_jobs_init(&jobs, &ops, NULL, false) == 0);
    MUST(control_open(&ops, NULL, false, NULL, NULL, &control) == 0);
    MUST(control_join(control, "a", 1, 1) == 0);
    is_stuck = true;
    MUST(control_jobs_write(&jobs, 0, REG_JOB_COMMIT, 1) == 0);
    MUST(control_write(control, 0, REG_JOB_COMMIT, 1) == 0);
    capture_begin(&lines);
    const int bare = control_jobs_end(&jobs, 0);
    const char *text = capture_end(&lines);
    CHECK(bare == -ETIME && !*text, "%d: %s", bare, text);
    capture_begin(&lines);
    const int left = control_leave(control, 0);
    text = capture_end(&lines);
    CHECK(left == -EIO && strstr(text, CONTROL_JOBS_STUCK), "%d: %s", left, text);
    control_close(control);
    capture_begin(&lines);
    const int opened = control_open(&ops, NULL, false, NULL, NULL, &control);
    text = capture_end(&lines);
    CHECK(opened == -EIO && strstr(text, CONTROL_JOBS_STUCK), "%d: %s", opened, text);
    is_stuck = false;
}

/* Jobs of a process that was killed are stopped by the next process that opens the card. */
static void left_over(void)
{
    static const struct {
        uint32_t at, value;
    } start[] = {{REG_JOB_INDEX, 1},
                 {REG_JOB_RANKS, 2},
                 {REG_JOB_SLOTS, 8},
                 {REG_JOB_COMMIT, REG_JOB_COMMIT_START}};
    for (int process = 0; process < 2; process++) {
        struct control_jobs jobs;
        uint32_t status;
        MUST(control_jobs_init(&jobs, &shell_fast.control, fuzz.shell, true) == 0);
        for (size_t i = 0; i < sizeof start / sizeof *start; i++)
            MUST(control_jobs_write(&jobs, 0, start[i].at, start[i].value) == 0);
        MUST(control_jobs_read(&jobs, 0, REG_STATUS, &status) == 0);
        CHECK(status == 0, "process %d: the card refuses the job: status %u", process, status);
    }
}

int main(int argc, char **argv)
{
    printf("seed %d\n", SEED);
    stuck();
    fuzz_open();
    err_hold();
    owners();
    secrets();
    fair_share();
    batches();
    nonsense();
    err_release(false);
    fuzz_add();
    by_chance(argc > 1 && !strcmp(argv[1], "long") ? 10000000 : 1000000);
    printf("%llu connections closed for breaking the protocol\n",
           (unsigned long long)fuzz.told_off);
    CHECK(fuzz.told_off > 1000, "the inputs are too tame");
    control_close(fuzz.control);
    left_over();
    shell_fast.close(fuzz.shell);
    DONE();
}
