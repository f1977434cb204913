/* test_card_wave_rtl.c : tests the waves of a job on the Verilated card: a clock takes 1/CARD_MHZ,
 * and each signal of sim/card.gtkw is there and changes. */
#include "card_frames.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "hls/core/beat.h"
#include "sim/shell.h"
#include <unistd.h>

enum { SEED = 62, RANKS = 3, CHUNKS = 2, BEATS = 2, SIGNALS = 64 };

/* Verilator's reader of FST files (gtkwave/fstapi.h); it writes them as VCD. */
void *fstReaderOpen(const char *path);
signed char fstReaderGetTimescale(void *fst);
int fstReaderProcessHier(void *fst, FILE *vcd);
void fstReaderSetFacProcessMaskAll(void *fst);
int fstReaderIterBlocks(void *fst, void *call, void *arg, FILE *vcd);
void fstReaderClose(void *fst);

static void *shell;

static void take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)ip, (void)port, (void)bytes, (void)n;
    ++*(int *)arg;
}

static void write_reg(void *arg, uint32_t at, uint32_t value)
{
    CHECK(shell_rtl.control.write(arg, at, value) == 0, "register %x", at);
}

static void wait_job(void)
{
    uint32_t busy = 1;
    for (int i = 0; i < 1000 && busy & 1; i++)
        shell_rtl.control.read(shell, REG_STATUS, &busy);
    CHECK(!(busy & 1), "the job does not start");
}

static void run_job(const char *path)
{
    uint8_t payload[BEATS * BEAT_SIZE], frame[BEAT_SIZE + sizeof payload];
    struct frame_queue in = {0};
    struct pkt_header h = {.key = 77, .job = 1, .beats = BEATS, .in_fmt = 0x43, .out_fmt = 0x43};
    struct frame_job job = {1, RANKS, 9, 22, 0, h.key};
    int n_out = 0;
    uint64_t drawn = 0;
    if (shell_rtl.open(path, take, &n_out, &shell))
        exit(1);
    frame_register(job, write_reg, shell);
    wait_job();
    for (h.chunk = 0; h.chunk < CHUNKS; h.chunk++)
        for (h.slot = 10; h.slot < 30; h.slot += 3)
            for (h.rank = 0; h.rank <= RANKS; h.rank++) { /* the last one asks for the state */
                h.op = h.rank < RANKS ? PKT_OP_SUM : PKT_OP_PING;
                for (size_t i = 0; i < sizeof payload; i++)
                    payload[i] = (uint8_t)philox_u32(SEED, drawn++);
                struct pkt_header to = h;
                to.rank %= RANKS;
                const size_t n = frame_put(to, payload, BEATS, frame);
                const struct queued_frame f = {frame_ip(1, to.rank), 8, frame_port(to.rank), n, 0};
                frame_queue_put(&in, f, frame);
            }
    shell_rtl.run(shell, &in, 1 << 16);
    write_reg(shell, REG_CTRL, 3); /* a snapshot of the counters */
    shell_rtl.close(shell);
    frame_queue_free(&in);
    CHECK(n_out == CHUNKS * 7 * (RANKS + 1), "%d frames", n_out);
}

static struct signal {
    char name[96], id[16];
    long changes;
} signals[SIGNALS];
static int n_signals;

/* The signals of a .gtkw file are its lines without a mark. */
static void read_list(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[96];
    int groups = 0;
    CHECK(f, "no %s", path);
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        groups += *line == '-';
        if (!strchr("[@-*", *line) && n_signals < SIGNALS)
            snprintf(signals[n_signals++].name, sizeof line, "%s", line);
    }
    CHECK(n_signals >= 20 && groups == 12, "%d signals, %d ends of groups", n_signals, groups);
    if (f)
        fclose(f);
}

/* Reads declarations, up to $enddefinitions, and gives the signals their short names. */
static void declare(FILE *vcd)
{
    char line[512], scope[512] = "", id[16], name[256], range[32], full[1024];
    while (fgets(line, sizeof line, vcd) && strncmp(line, "$enddefinitions", 15)) {
        *range = 0;
        if (sscanf(line, "$scope %*s %255s", name) == 1) {
            strcat(strcat(scope, name), ".");
        } else if (!strncmp(line, "$upscope", 8)) {
            scope[strlen(scope) - 1] = 0;
            char *dot = strrchr(scope, '.');
            *(dot ? dot + 1 : scope) = 0;
        } else if (sscanf(line, "$var %*s %*s %15s %255s %31[][0-9:]", id, name, range) >= 2) {
            snprintf(full, sizeof full, "%s%s%s", scope, name, range);
            for (int i = 0; i < n_signals; i++)
                if (!strcmp(full, signals[i].name))
                    snprintf(signals[i].id, sizeof id, "%s", id);
        }
    }
}

/* Counts changes and compares the time of each rising edge of the clock, the first signal. */
static void follow(FILE *vcd)
{
    static char line[1024];
    uint64_t now = 0, edges = 0;
    while (fgets(line, sizeof line, vcd)) {
        line[strcspn(line, "\n")] = 0;
        if (*line == '#')
            now = strtoull(line + 1, NULL, 10);
        const char *id = *line == 'b' ? strchr(line, ' ') : line;
        if (!id || !strchr("b01", *line) || !*line)
            continue;
        for (int i = 0; i < n_signals; i++)
            signals[i].changes += !strcmp(id + 1, signals[i].id);
        if (*line == '1' && !strcmp(id + 1, signals[0].id)) {
            CHECK(now == edges * 1000000 / CARD_MHZ, "clock %llu comes after %llu ps",
                  (unsigned long long)edges, (unsigned long long)now);
            edges++;
        }
    }
    CHECK(edges > 500, "%llu clocks", (unsigned long long)edges);
    for (int i = 0; i < n_signals; i++)
        CHECK(signals[i].changes > 1, "'%s' of sim/card.gtkw: %s", signals[i].name,
              *signals[i].id ? "does not change" : "is no signal");
    printf("%d signals, %llu clocks\n", n_signals, (unsigned long long)edges);
}

int main(void)
{
    char path[] = "/tmp/test_wave_XXXXXX";
    FILE *vcd = tmpfile();
    close(mkstemp(path));
    run_job(path);
    void *fst = fstReaderOpen(path);
    CHECK(fst && vcd, "no waves");
    if (!fst || !vcd)
        return 1;
    CHECK(fstReaderGetTimescale(fst) == -12, "the unit of time is not 1 ps");
    fstReaderProcessHier(fst, vcd);
    fputs("$enddefinitions\n", vcd);
    fstReaderSetFacProcessMaskAll(fst);
    fstReaderIterBlocks(fst, NULL, NULL, vcd);
    fstReaderClose(fst);
    rewind(vcd);
    read_list("sim/card.gtkw");
    declare(vcd);
    follow(vcd);
    fclose(vcd);
    unlink(path);
    DONE();
}
