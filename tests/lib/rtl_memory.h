/* rtl_memory.h : drives a kernel's registers, provides an AXI4 memory with random stalls, and
 * checks the rules for bursts. */
#ifndef RTL_MEMORY_H
#define RTL_MEMORY_H
#include "check.h"
#include "hls/card/kernels.h"
#include "sim/rtl/verilated_model.h"
#include <string.h>

enum {
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) ARG_##KERNEL##_##name = offset,
#include "hls/card/kernels.def"
    MEM_BEATS = 1 << 14,
    QUEUE = 64
};

static uint64_t seed;
static uint32_t rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed * 0x2545f4914f6cdd1du >> 32);
}

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
static uint64_t *m_araddr, *m_awaddr, *m_wstrb;
static struct queue reads, writes;
/* fail_write: the n-th answer fails; fail_read: the beat after n; 0: none */
static unsigned answers, stall, beats_read, fail_read, fail_write;

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
    return !stall || rnd() % stall == 0;
}

static void clock_once(void)
{
    struct burst *r = &reads.b[reads.get % QUEUE], *w = &writes.b[writes.get % QUEUE];
    *m_arready = reads.put - reads.get < 8 && chance();
    /* an odd stall: takes an address only with data */
    *m_awready = writes.put - writes.get < 4 && chance() && (stall % 2 == 0 || *m_wvalid);
    if (!*m_rvalid && reads.put != reads.get && chance()) { /* valid stays until ready */
        *m_rvalid = 1;
        *m_rresp = fail_read && beats_read == fail_read ? 2 : 0;
        memcpy(m_rdata, mem[r->at], 64);
    }
    *m_wready = writes.put != writes.get && chance();
    if (!*m_bvalid && answers && chance()) {
        *m_bvalid = 1;
        *m_bresp = fail_write && --fail_write == 0 ? 2 : 0;
    }
    model_eval(m);
    int ar = *m_arvalid && *m_arready, aw = *m_awvalid && *m_awready, rd = *m_rvalid && *m_rready,
        wr = *m_wvalid && *m_wready, b = *m_bvalid && *m_bready;
    int ar_waits = *m_arvalid && !ar, aw_waits = *m_awvalid && !aw, w_waits = *m_wvalid && !wr;
    uint64_t ar_at = *m_araddr, aw_at = *m_awaddr;
    unsigned ar_len = *m_arlen, aw_len = *m_awlen;
    const uint64_t w_strb = *m_wstrb;
    const uint8_t w_last = *m_wlast;
    uint32_t w_data[16];
    memcpy(w_data, m_wdata, sizeof w_data);
    if (wr) {
        const uint8_t *bytes = (const uint8_t *)m_wdata;
        for (int i = 0; i < 64; i++)
            mem[w->at][i] = *m_wstrb >> i & 1 ? bytes[i] : mem[w->at][i];
        w->at++;
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
    CHECK(!w_waits || (*m_wvalid && *m_wstrb == w_strb && *m_wlast == w_last &&
                       !memcmp(m_wdata, w_data, sizeof w_data)),
          "w does not wait");
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

static inline void write_reg(uint32_t at, uint32_t value)
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

static inline uint32_t read_reg(uint32_t at)
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

static inline void wait_done(void)
{
    for (int i = 0; i < 200000; i++) {
        const uint32_t control = read_reg(KERNEL_CTRL);
        CHECK(!*interrupt, "an interrupt that was not asked for");
        if (control & 2)
            return;
    }
    fprintf(stderr, "it never ends\n");
    exit(1);
}

/* Requires n bytes of a result at the offset `at`, and puts other bytes there for now. */
static void want_bytes(uint32_t at, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, at++) {
        want[at / 64][at % 64] = ((const uint8_t *)bytes)[i];
        mem[at / 64][at % 64] = want[at / 64][at % 64] ^ 255;
    }
}

static void compare_memory(const char *what)
{
    for (uint32_t i = 0; i < MEM_BEATS; i++)
        CHECK(!memcmp(mem[i], want[i], 64), "%s: beat %u differs", what, i);
}

/* Runs the kernel twice on the same memory, first with an interrupt. Compares all memory with
 * `want` after each run; what NULL: does not compare. Returns the first run's STATUS (of
 * reduce_mm). */
static uint32_t run_twice(const char *what, uint64_t *clocks)
{
    static uint8_t before[MEM_BEATS][64];
    memcpy(before, mem, sizeof before);
    CHECK((read_reg(KERNEL_CTRL) & 15) == 4, "not idle before");
    write_reg(KERNEL_GIE, 1);
    write_reg(KERNEL_IER, 1);
    const uint64_t from = model_cycles(m);
    write_reg(KERNEL_CTRL, 1);
    for (int i = 0; i < 1000000 && !*interrupt; i++)
        clock_once();
    *clocks = model_cycles(m) - from;
    if (!*interrupt) {
        fprintf(stderr, "it never ends\n");
        exit(1);
    }
    write_reg(KERNEL_ISR, 1);
    CHECK(!*interrupt, "the interrupt stays");
    CHECK((read_reg(KERNEL_CTRL) & 15) == 14, "done, idle and ready are not shown");
    CHECK((read_reg(KERNEL_CTRL) & 15) == 4, "done stays after it was read");
    CHECK(answers == 0 && writes.put == writes.get && reads.put == reads.get, "done too early");
    const uint32_t status = read_reg(KERNEL_STATUS);
    if (what)
        compare_memory(what);
    memcpy(mem, before, sizeof mem);
    write_reg(KERNEL_IER, 0);
    write_reg(KERNEL_CTRL, 1);
    wait_done();
    CHECK(!*interrupt && read_reg(KERNEL_ISR) == 0, "an interrupt that was not asked for");
    if (what)
        compare_memory(what);
    return status;
}

/* Resets the kernel and fills the memory. */
static void open_kernel(int argc, char **argv, uint64_t seed_)
{
    seed = seed_;
    printf("seed %llx\n", (unsigned long long)seed);
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
    m_wstrb = model_port(m, "m_wstrb_o", NULL);
    uint8_t *rst = model_port(m, "rst_i", NULL);
    *rst = 1;
    clock_once();
    clock_once();
    *rst = 0;
    for (int i = 0; i < MEM_BEATS; i++)
        for (int w = 0; w < 16; w++) {
            uint32_t r = rnd();
            memcpy(mem[i] + 4 * w, &r, 4);
        }
}

#endif
