/* test_reduce_mm_rtl.c : compares rtl/reduce_mm.sv with mf.h, on an AXI4 memory with random
 * stalls, and checks the rules for bursts. */
#define MODEL_PREFIX mm_
#include "check.h"
#include "hls/core/reduce.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"
#include <string.h>

enum {
#define MM_REG(NAME, at, access, what) MM_##NAME = at,
#include "hls/card/mm_regs.def"
    MEM_BEATS = 1 << 14,
    QUEUE = 64
};

static uint64_t seed = 0x33;

struct burst {
    uint32_t at, beats;
};
struct queue {
    struct burst b[QUEUE];
    unsigned put, get;
};

static uint8_t mem[MEM_BEATS][64], want[MEM_BEATS][64];
static const uint64_t base = 0x4000000000;
static struct model *m;
static uint8_t *awvalid, *awready, *wvalid, *wready, *wstrb, *bvalid, *bready, *arvalid, *arready,
    *rvalid, *rready;
static uint16_t *awaddr, *araddr;
static uint32_t *wdata, *rdata;
static uint8_t *m_arlen, *m_arvalid, *m_arready, *m_rresp, *m_rvalid, *m_rready, *m_awlen,
    *m_awvalid, *m_awready, *m_wlast, *m_wvalid, *m_wready, *m_bresp, *m_bvalid, *m_bready,
    *interrupt;
static uint32_t *m_rdata, *m_wdata;
static uint64_t *m_araddr, *m_awaddr;
static struct queue reads, writes;
static unsigned answers, stall, beats_read, fail_read;

static void take_burst(struct queue *q, uint64_t address, unsigned len)
{
    uint64_t at = (address - base) / 64;
    CHECK(address % 64 == 0 && len < 64 && address / 4096 == (address + 64 * len) / 4096,
          "burst at %llx of %u", (unsigned long long)address, len + 1);
    CHECK(address >= base && at + len < MEM_BEATS, "outside of memory: %llx",
          (unsigned long long)address);
    CHECK(q->put - q->get < QUEUE, "too many bursts");
    q->b[q->put++ % QUEUE] = (struct burst){(uint32_t)at % MEM_BEATS, len + 1};
}

static int chance(void)
{
    return !stall || rtl_rand(&seed) % stall == 0;
}

static void clock_once(void)
{
    struct burst *r = &reads.b[reads.get % QUEUE], *w = &writes.b[writes.get % QUEUE];
    *m_arready = reads.put - reads.get < 8 && chance();
    *m_awready = writes.put - writes.get < 4 && chance();
    if (!*m_rvalid && reads.put != reads.get && chance()) { /* valid stays until ready */
        *m_rvalid = 1;
        *m_rresp = fail_read && beats_read == fail_read ? 2 : 0;
        memcpy(m_rdata, mem[r->at], 64);
    }
    *m_wready = writes.put != writes.get && chance();
    if (!*m_bvalid && answers && chance())
        *m_bvalid = 1;
    model_eval(m);
    int ar = *m_arvalid && *m_arready, aw = *m_awvalid && *m_awready, rd = *m_rvalid && *m_rready,
        wr = *m_wvalid && *m_wready, b = *m_bvalid && *m_bready;
    int ar_waits = *m_arvalid && !ar, aw_waits = *m_awvalid && !aw, w_waits = *m_wvalid && !wr;
    uint64_t ar_at = *m_araddr, aw_at = *m_awaddr;
    unsigned ar_len = *m_arlen, aw_len = *m_awlen;
    if (wr) {
        memcpy(mem[w->at++], m_wdata, 64);
        CHECK(*m_wlast == (--w->beats == 0), "last with %u to come", w->beats);
        if (!w->beats) {
            writes.get++;
            answers++;
        }
    }
    if (ar)
        take_burst(&reads, ar_at, ar_len);
    if (aw)
        take_burst(&writes, aw_at, aw_len);
    model_tick(m);
    CHECK(!ar_waits || (*m_arvalid && *m_araddr == ar_at && *m_arlen == ar_len),
          "ar does not wait");
    CHECK(!aw_waits || (*m_awvalid && *m_awaddr == aw_at && *m_awlen == aw_len),
          "aw does not wait");
    CHECK(!w_waits || *m_wvalid, "w does not wait");
    if (rd) {
        beats_read++;
        *m_rvalid = 0;
        r->at++;
        if (--r->beats == 0)
            reads.get++;
    }
    if (b) {
        *m_bvalid = 0;
        answers--;
    }
}

static void write_reg(uint32_t at, uint32_t value)
{
    *awaddr = (uint16_t)at;
    *wdata = value;
    *wstrb = 15;
    *awvalid = *wvalid = 1;
    clock_once();
    *awvalid = *wvalid = 0;
    *bready = 1;
    for (int i = 0; i < 20 && !*bvalid; i++)
        clock_once();
    CHECK(*bvalid, "no answer to a write");
    clock_once();
}

static uint32_t read_reg(uint32_t at)
{
    *araddr = (uint16_t)at;
    *arvalid = 1;
    clock_once();
    *arvalid = 0;
    *rready = 1;
    for (int i = 0; i < 20 && !*rvalid; i++)
        clock_once();
    CHECK(*rvalid, "no answer to a read");
    uint32_t value = *rdata;
    clock_once();
    return value;
}

struct job {
    uint32_t in, out, parts, stride, beats, fmt, out_fmt, shift, saturate;
};

static uint32_t expected(struct job j)
{
    struct beat_fmt in = beat_format(j.fmt), out = beat_format(j.out_fmt);
    uint32_t status = 0, codes = 512 / in.width, done = 0;
    struct beat sum = beat_zero();
    uint32_t to = j.out;
    for (uint32_t row = 0; row < j.beats; row++)
        for (uint32_t i = 0; i < codes; i++) {
            uint64_t acc = 0;
            for (uint32_t k = 0; k < j.parts; k++)
                acc = mf_acc_add(in.fmt, acc,
                                 beat_get(beat_load(mem[j.in + k * j.stride + row]), in.width, i));
            uint32_t code =
                mf_acc_round(in.fmt, acc, (int)j.shift, out.fmt, j.saturate ? MF_SATURATE : MF_INF);
            status |= reduce_status(in.fmt, acc, j.shift, out.fmt);
            sum = beat_put(sum, out.width, done++, code);
            if (done == 512 / out.width || (row + 1 == j.beats && i + 1 == codes)) {
                beat_store(sum, want[to++]);
                sum = beat_zero();
                done = 0;
            }
        }
    return status;
}

static uint32_t run(struct job j, uint64_t *clocks)
{
    uint64_t in = base + 64ull * j.in, out = base + 64ull * j.out;
    write_reg(MM_IN_LO, (uint32_t)in);
    write_reg(MM_IN_HI, (uint32_t)(in >> 32));
    write_reg(MM_OUT_LO, (uint32_t)out);
    write_reg(MM_OUT_HI, (uint32_t)(out >> 32));
    write_reg(MM_PARTS, j.parts);
    write_reg(MM_STRIDE, j.stride);
    write_reg(MM_BEATS, j.beats);
    write_reg(MM_FMT, j.fmt);
    write_reg(MM_OUT_FMT, j.out_fmt);
    write_reg(MM_OUT_SHIFT, j.shift);
    write_reg(MM_SATURATE, j.saturate);
    CHECK((read_reg(MM_CTRL) & 15) == 4, "not idle before");
    write_reg(MM_GIE, 1);
    write_reg(MM_IER, 1);
    uint64_t from = model_cycles(m);
    write_reg(MM_CTRL, 1);
    for (int i = 0; i < 1000000 && !*interrupt; i++)
        clock_once();
    *clocks = model_cycles(m) - from;
    CHECK(*interrupt, "it never ends");
    write_reg(MM_ISR, 1);
    CHECK(!*interrupt, "the interrupt stays");
    CHECK((read_reg(MM_CTRL) & 15) == 14, "done, idle and ready are not shown");
    CHECK((read_reg(MM_CTRL) & 15) == 4, "done stays after it was read");
    CHECK(answers == 0 && writes.put == writes.get && reads.put == reads.get, "done too early");
    uint32_t status = read_reg(MM_STATUS);
    write_reg(MM_IER, 0);
    write_reg(MM_CTRL, 1);
    for (int i = 0; i < 1000000 && !(read_reg(MM_CTRL) & 2); i++)
        CHECK(!*interrupt, "an interrupt that was not asked for");
    CHECK(!*interrupt && read_reg(MM_ISR) == 0, "an interrupt that was not asked for");
    return status;
}

static void check_run(struct job j)
{
    uint64_t clocks;
    memcpy(want, mem, sizeof want);
    uint32_t status = expected(j), is = run(j, &clocks);
    CHECK(is == status, "status %x, not %x (formats %02x %02x)", is, status, j.fmt, j.out_fmt);
    CHECK(!memcmp(mem, want, sizeof mem), "%u parts of %u beats, %02x to %02x, shift %u", j.parts,
          j.beats, j.fmt, j.out_fmt, j.shift);
}

static void open_ports(int argc, char **argv)
{
    m = model_open(argc, argv);
    const struct {
        const char *name;
        uint8_t **at;
    } small[] = {
        {"s_awvalid_i", &awvalid},   {"s_awready_o", &awready},   {"s_wvalid_i", &wvalid},
        {"s_wready_o", &wready},     {"s_wstrb_i", &wstrb},       {"s_bvalid_o", &bvalid},
        {"s_bready_i", &bready},     {"s_arvalid_i", &arvalid},   {"s_arready_o", &arready},
        {"s_rvalid_o", &rvalid},     {"s_rready_i", &rready},     {"m_arlen_o", &m_arlen},
        {"m_arvalid_o", &m_arvalid}, {"m_arready_i", &m_arready}, {"m_rresp_i", &m_rresp},
        {"m_rvalid_i", &m_rvalid},   {"m_rready_o", &m_rready},   {"m_awlen_o", &m_awlen},
        {"m_awvalid_o", &m_awvalid}, {"m_awready_i", &m_awready}, {"m_wlast_o", &m_wlast},
        {"m_wvalid_o", &m_wvalid},   {"m_wready_i", &m_wready},   {"m_bresp_i", &m_bresp},
        {"m_bvalid_i", &m_bvalid},   {"m_bready_o", &m_bready},   {"interrupt_o", &interrupt},
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        *small[i].at = model_port(m, small[i].name, NULL);
    awaddr = model_port(m, "s_awaddr_i", NULL);
    araddr = model_port(m, "s_araddr_i", NULL);
    wdata = model_port(m, "s_wdata_i", NULL);
    rdata = model_port(m, "s_rdata_o", NULL);
    m_rdata = model_port(m, "m_rdata_i", NULL);
    m_wdata = model_port(m, "m_wdata_o", NULL);
    m_araddr = model_port(m, "m_araddr_o", NULL);
    m_awaddr = model_port(m, "m_awaddr_o", NULL);
}

int main(int argc, char **argv)
{
    static const uint8_t formats[] = {0x12, 0x21, 0x30, 0x16, 0x25, 0x34, 0x43, 0x52, 0xc3, 0x5a};
    enum { FORMATS = sizeof formats, IN_END = MEM_BEATS / 2 };
    printf("seed %llx\n", (unsigned long long)seed);
    open_ports(argc, argv);
    uint8_t *rst = model_port(m, "rst_i", NULL);
    *rst = 1;
    clock_once();
    clock_once();
    *rst = 0;
    for (int i = 0; i < MEM_BEATS; i++)
        for (int w = 0; w < 16; w++) {
            uint32_t r = rtl_rand(&seed);
            memcpy(mem[i] + 4 * w, &r, 4);
        }

    for (int i = 0; i < FORMATS * FORMATS * 2; i++) {
        struct job j = {.fmt = formats[i % FORMATS], .out_fmt = formats[i / FORMATS % FORMATS]};
        j.parts = 1 + rtl_rand(&seed) % (rtl_rand(&seed) % 4 ? 4 : 20);
        j.beats = 1 + rtl_rand(&seed) % (rtl_rand(&seed) % 4 ? 40 : 150);
        j.stride = j.beats + rtl_rand(&seed) % 50;
        j.in = rtl_rand(&seed) % (IN_END - j.parts * j.stride);
        j.out = IN_END + rtl_rand(&seed) % 4096;
        j.shift = rtl_rand(&seed) % 7;
        j.saturate = rtl_rand(&seed) & 1;
        stall = rtl_rand(&seed) % 3 ? 1 + rtl_rand(&seed) % 5 : 0;
        check_run(j);
    }

    stall = 0;
    struct job j = {5, IN_END, 64, 37, 33, 0x43, 0x43, 6, 1}, bad;
    check_run(j);
    uint64_t clocks;
    memcpy(want, mem, sizeof want);
#define REFUSED(field, value)                                              \
    do {                                                                   \
        bad = j;                                                           \
        bad.field = value;                                                 \
        CHECK(run(bad, &clocks) == REDUCE_REFUSED, #field " " #value);     \
        CHECK(!memcmp(mem, want, sizeof mem), "refused, and yet written"); \
    } while (0)
    REFUSED(parts, 0);
    REFUSED(parts, 65);
    REFUSED(fmt, 0x44);
    REFUSED(fmt, 0xd2);
    REFUSED(fmt, 0x143);
    REFUSED(fmt, 0x61);
    REFUSED(out_fmt, 0);
    REFUSED(shift, 7);
    REFUSED(saturate, 2);
    bad = (struct job){5, IN_END, 33, 37, 33, 0x5a, 0x43, 6, 1};
    CHECK(run(bad, &clocks) == REDUCE_REFUSED, "33 parts of 16 bits");
    bad = j;
    bad.beats = 0;
    CHECK(run(bad, &clocks) == 0 && !memcmp(mem, want, sizeof mem), "no beats");
    beats_read = 0;
    fail_read = 100;
    CHECK(run(j, &clocks) >> 31 == 1, "an error of the memory is not told");
    fail_read = 0;

    j = (struct job){0, IN_END, 8, 1000, 960, 0x52, 0x52, 3, 1};
    memcpy(want, mem, sizeof want);
    expected(j);
    run(j, &clocks);
    CHECK(!memcmp(mem, want, sizeof mem), "the long one");
    printf("8 parts of 960 beats: %d clocks, %.3f a beat read\n", (int)clocks,
           (double)clocks / (8 * 960));
    CHECK(clocks < 8 * 960 * 102 / 100 + 60, "%d clocks", (int)clocks);
    model_close(m);
    DONE();
}
