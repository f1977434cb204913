/* fuzz_control.c : sends any bytes to the card's control sockets during another peer's job.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address -D_GNU_SOURCE -I. -Ihost -Itests/lib
 *         tests/lib/fuzz_control.c host/control/c*.c sim/shell_c.c sim/frame_queue.c sim/card_*.c
 *         build/libnarrowcast.a -lz -ldl -lm
 *
 * This builds a fuzzer; test_sim_control.c replays inputs. An input is (length u8, peer u8,
 * bytes)...; length 0: the peer leaves. Aborts if an invariant fails after an input. */
#include "card_frames.h"
#include "control/control.h"
#include "sim/shell.h"
#include <stdlib.h>

enum { FUZZ_PEERS = 3, FUZZ_JOB = 2, FUZZ_SLOT = 40 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    void *shell;
    struct control *control;
    int victim, peer[FUZZ_PEERS];
    uint32_t chunk;
    int results;
    uint64_t told_off, quit;
} fuzz;

#define MUST(what) ((what) ? (void)0 : abort())

static void fuzz_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg;
    MUST(n == 128 && bytes[PKT_OP_AT] == PKT_OP_RESULT && port >= 1000);
    for (int i = 0; i < 64; i++)
        MUST(bytes[PKT_HEADER_BYTES + i] == 0x40); /* 1 + 1 in e4m3 */
    fuzz.results += (ip == frame_ip(FUZZ_JOB, bytes[PKT_RANK_AT]));
}

static void fuzz_write(void *arg, uint32_t at, uint32_t value)
{
    (void)arg;
    uint8_t bytes[SIMLINK_BYTES];
    size_t n;
    simlink_put((struct simlink){.kind = SIMLINK_WRITE, .a = at, .b = value}, bytes);
    MUST(control_take(fuzz.control, fuzz.victim, bytes, sizeof bytes) == 0);
    const uint8_t *said = control_to_send(fuzz.control, fuzz.victim, &n);
    MUST(n == SIMLINK_BYTES && simlink_get(said).kind == SIMLINK_DONE &&
         simlink_get(said).status == 0);
    control_sent(fuzz.control, fuzz.victim, n);
}

static uint32_t fuzz_read(uint32_t at)
{
    uint32_t value = 0;
    MUST(shell_fast.control.read(fuzz.shell, at, &value) == 0);
    return value;
}

static void fuzz_join(int *peer, const char *name)
{
    size_t n;
    *peer = control_join(fuzz.control, name, 0x7f000001, 4711);
    MUST(*peer >= 0);
    (void)control_to_send(fuzz.control, *peer, &n);
    MUST(n == SIMLINK_BYTES);
    control_sent(fuzz.control, *peer, n);
}

static void fuzz_open(void)
{
    const struct frame_job job = {FUZZ_JOB, 2, FUZZ_SLOT, 4, 0, 5};
    MUST(shell_fast.open(NULL, fuzz_out, NULL, &fuzz.shell) == 0);
    MUST(control_open(&shell_fast.control, fuzz.shell, true, NULL, NULL, &fuzz.control) == 0);
    fuzz_join(&fuzz.victim, "the victim");
    frame_register(job, fuzz_write, NULL);
    for (int i = 0; i < FUZZ_PEERS; i++)
        fuzz.peer[i] = -1;
}

/* Both ranks add 1, rank 0 from this address; 0: its own. */
static void fuzz_add_from(uint32_t from)
{
    struct frame_queue in = {0};
    uint8_t frame[128];
    struct pkt_header h = {.job = FUZZ_JOB,
                           .key = 5,
                           .slot = FUZZ_SLOT,
                           .chunk = fuzz.chunk++,
                           .op = PKT_OP_SUM,
                           .beats = 1,
                           .in_fmt = 0x43,
                           .out_fmt = 0x43};
    memset(frame, 0x38, sizeof frame);
    fuzz.results = 0;
    for (h.rank = 0; h.rank < 2; h.rank++) {
        const size_t n = frame_put(h, frame + PKT_HEADER_BYTES, 1, frame);
        struct queued_frame f = {
            .ip = frame_ip(FUZZ_JOB, h.rank), .port = frame_port(h.rank), .n = n};
        f.ip = from && !h.rank ? from : f.ip;
        MUST(frame_queue_put(&in, f, frame) == 0);
    }
    while (!shell_fast.step(fuzz.shell, &in, 1))
        ;
    frame_queue_free(&in);
}

static void fuzz_add(void)
{
    fuzz_add_from(0);
    MUST(fuzz.results == 2);
}

static void fuzz_leave(int i)
{
    if (fuzz.peer[i] < 0)
        return;
    MUST(control_leave(fuzz.control, fuzz.peer[i]) == 0);
    fuzz.peer[i] = -1;
}

static void fuzz_take(int i, const uint8_t *bytes, size_t n)
{
    size_t said;
    if (fuzz.peer[i] < 0)
        fuzz_join(&fuzz.peer[i], "a fuzzer");
    int rc = control_take(fuzz.control, fuzz.peer[i], bytes, n);
    MUST(rc == 0 || rc == 1);
    const uint8_t *answers = control_to_send(fuzz.control, fuzz.peer[i], &said);
    for (size_t at = 0; at < said; at += SIMLINK_BYTES + simlink_get(answers + at).bytes)
        MUST(at + SIMLINK_BYTES <= said && simlink_get(answers + at).kind == SIMLINK_DONE);
    control_sent(fuzz.control, fuzz.peer[i], said / 2);
    control_sent(fuzz.control, fuzz.peer[i], said - said / 2);
    fuzz.told_off += rc == 1;
    if (rc)
        fuzz_leave(i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!fuzz.control)
        fuzz_open();
    while (size >= 2) {
        const size_t want = data[0], n = want < size - 2 ? want : size - 2;
        const int i = data[1] % FUZZ_PEERS;
        if (want)
            fuzz_take(i, data + 2, n);
        else
            fuzz_leave(i);
        data += 2 + n;
        size -= 2 + n;
    }
    MUST(fuzz_read(REG_CTRL) == 1 && fuzz_read(REG_DROP_IN) == 0 && fuzz_read(REG_DROP_OUT) == 0);
    fuzz_add();
    for (int i = 0; i < FUZZ_PEERS; i++)
        fuzz_leave(i);
    MUST(control_jobs(fuzz.control) == 1 && control_peers(fuzz.control) == 1);
    return 0;
}
