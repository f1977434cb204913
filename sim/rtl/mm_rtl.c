/* mm_rtl.c : Runs the Verilated reduce_mm with card memory at its AXI4 port: one beat per clock and
 * direction, in order, with an error outside memory. */
#define MODEL_PREFIX mm_
#include "base/err.h"
#include "hls/core/beat.h"
#include "sim/kernel_port.h"
#include "sim/rtl/verilated_model.h"
#include <stdlib.h>
#include <string.h>

enum {
    BUS_CLOCKS = 1000, /* far more than any register needs */
    RESET_CLOCKS = 2,
    STEP_CLOCKS = 512,
    MAX_BURSTS = 8,
    DECERR = 3
};

struct burst {
    uint64_t at;
    uint32_t beats;
};

struct bursts {
    struct burst of[MAX_BURSTS];
    unsigned put, get;
};

struct mm {
    struct model *model;
    const struct bank *bank;
    uint8_t *rst, *awvalid, *awready, *wvalid, *wready, *wstrb, *bvalid, *bready, *arvalid,
        *arready, *rvalid, *rready;
    uint16_t *awaddr, *araddr;
    uint32_t *wdata, *rdata;
    uint8_t *m_arlen, *m_arvalid, *m_arready, *m_rresp, *m_rvalid, *m_rready, *m_awlen, *m_awvalid,
        *m_awready, *m_wvalid, *m_wready, *m_bresp, *m_bvalid, *m_bready;
    uint32_t *m_rdata, *m_wdata;
    uint64_t *m_araddr, *m_awaddr;

    struct bursts reads, writes;
    unsigned answers; /* owed to written bursts */
    bool bad;         /* a write was outside memory */
    uint32_t arg[MM_STATUS / 4];
    bool runs, done; /* done: ended, and not read yet */
    /* the last run was not started: its buffers are not in memory */
    bool refused;
};

static void bind(struct mm *s)
{
    const struct {
        const char *name;
        uint8_t **at;
    } small[] = {
        {"rst_i", &s->rst},
        {"s_awvalid_i", &s->awvalid},
        {"s_awready_o", &s->awready},
        {"s_wvalid_i", &s->wvalid},
        {"s_wready_o", &s->wready},
        {"s_wstrb_i", &s->wstrb},
        {"s_bvalid_o", &s->bvalid},
        {"s_bready_i", &s->bready},
        {"s_arvalid_i", &s->arvalid},
        {"s_arready_o", &s->arready},
        {"s_rvalid_o", &s->rvalid},
        {"s_rready_i", &s->rready},
        {"m_arlen_o", &s->m_arlen},
        {"m_arvalid_o", &s->m_arvalid},
        {"m_arready_i", &s->m_arready},
        {"m_rresp_i", &s->m_rresp},
        {"m_rvalid_i", &s->m_rvalid},
        {"m_rready_o", &s->m_rready},
        {"m_awlen_o", &s->m_awlen},
        {"m_awvalid_o", &s->m_awvalid},
        {"m_awready_i", &s->m_awready},
        {"m_wvalid_o", &s->m_wvalid},
        {"m_wready_i", &s->m_wready},
        {"m_bresp_i", &s->m_bresp},
        {"m_bvalid_i", &s->m_bvalid},
        {"m_bready_o", &s->m_bready},
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        *small[i].at = model_port(s->model, small[i].name, NULL);
    s->awaddr = model_port(s->model, "s_awaddr_i", NULL);
    s->araddr = model_port(s->model, "s_araddr_i", NULL);
    s->wdata = model_port(s->model, "s_wdata_i", NULL);
    s->rdata = model_port(s->model, "s_rdata_o", NULL);
    s->m_rdata = model_port(s->model, "m_rdata_i", NULL);
    s->m_wdata = model_port(s->model, "m_wdata_o", NULL);
    s->m_araddr = model_port(s->model, "m_araddr_o", NULL);
    s->m_awaddr = model_port(s->model, "m_awaddr_o", NULL);
}

static bool is_full(const struct bursts *q)
{
    return q->put - q->get == MAX_BURSTS;
}

static struct burst *first(struct bursts *q)
{
    return q->put == q->get ? NULL : &q->of[q->get % MAX_BURSTS];
}

static void add(struct bursts *q, uint64_t at, unsigned len)
{
    q->of[q->put++ % MAX_BURSTS] = (struct burst){at, len + 1};
}

static bool next(struct bursts *q)
{
    struct burst *b = first(q);
    b->at += BEAT_SIZE;
    if (--b->beats)
        return false;
    q->get++;
    return true;
}

static void read_beat(struct mm *s, uint64_t address)
{
    const uint8_t *at = bank_at(s->bank, address, BEAT_SIZE);
    const struct beat b = at ? beat_load(at) : beat_zero();
    memcpy(s->m_rdata, b.w, sizeof b.w);
    *s->m_rresp = at ? 0 : DECERR;
}

static void write_beat(struct mm *s, uint64_t address)
{
    uint8_t *at = bank_at(s->bank, address, BEAT_SIZE);
    struct beat b;
    memcpy(b.w, s->m_wdata, sizeof b.w);
    if (at)
        beat_store(b, at);
    else
        s->bad = true;
}

/* A transfer happens if valid and ready were set before the edge. */
static void tick(struct mm *s)
{
    const struct burst *r = first(&s->reads), *w = first(&s->writes);
    *s->m_arready = !is_full(&s->reads);
    *s->m_awready = !is_full(&s->writes);
    *s->m_rvalid = r != NULL;
    *s->m_wready = w != NULL;
    *s->m_bvalid = s->answers > 0;
    *s->m_bresp = s->bad ? DECERR : 0;
    if (r)
        read_beat(s, r->at);
    model_eval(s->model);
    const bool ar = *s->m_arvalid && *s->m_arready, aw = *s->m_awvalid && *s->m_awready,
               read = *s->m_rvalid && *s->m_rready, written = *s->m_wvalid && *s->m_wready,
               answered = *s->m_bvalid && *s->m_bready;
    if (written) {
        write_beat(s, w->at);
        s->answers += next(&s->writes);
    }
    if (ar)
        add(&s->reads, *s->m_araddr, *s->m_arlen);
    if (aw)
        add(&s->writes, *s->m_awaddr, *s->m_awlen);
    model_tick(s->model);
    if (read)
        next(&s->reads);
    s->answers -= answered;
}

static int bus_is_dead(uint32_t at)
{
    return ERR(-EIO, "register 0x%03x of reduce_mm does not answer", at);
}

static int bus_write(struct mm *s, uint32_t at, uint32_t value)
{
    *s->awaddr = (uint16_t)at;
    *s->wdata = value;
    *s->wstrb = 15;
    *s->awvalid = *s->wvalid = *s->bready = 1;
    for (int i = 0; i < BUS_CLOCKS; i++) {
        model_eval(s->model);
        const bool address = *s->awvalid && *s->awready, data = *s->wvalid && *s->wready,
                   answer = *s->bvalid;
        tick(s);
        *s->awvalid = *s->awvalid && !address;
        *s->wvalid = *s->wvalid && !data;
        if (answer) {
            *s->bready = 0;
            return 0;
        }
    }
    return bus_is_dead(at);
}

static int bus_read(struct mm *s, uint32_t at, uint32_t *value)
{
    *s->araddr = (uint16_t)at;
    *s->arvalid = *s->rready = 1;
    for (int i = 0; i < BUS_CLOCKS; i++) {
        model_eval(s->model);
        const bool address = *s->arvalid && *s->arready, answer = *s->rvalid;
        const uint32_t data = *s->rdata;
        tick(s);
        *s->arvalid = *s->arvalid && !address;
        if (answer) {
            *s->rready = 0;
            *value = data;
            return 0;
        }
    }
    return bus_is_dead(at);
}

static void mm_close(void *kernel)
{
    struct mm *s = kernel;
    if (s)
        model_close(s->model);
    free(s);
}

static int mm_open(enum kernel which, const struct bank *bank, void **kernel)
{
    static char name[] = "narrowcast-sim";
    char *argv[] = {name, NULL};
    struct mm *s = calloc(1, sizeof *s);
    (void)which;
    if (!s)
        return ERR(-ENOMEM, "cannot make a kernel: no memory");
    s->model = model_open(1, argv);
    s->bank = bank;
    bind(s);
    *s->rst = 1;
    for (int i = 0; i < RESET_CLOCKS; i++)
        model_tick(s->model);
    *s->rst = 0;
    *kernel = s;
    return 0;
}

static bool lacks_memory(const struct mm *s)
{
    const uint32_t *arg = s->arg;
    const struct mm_run run = {
        .in = arg[MM_IN_LO / 4] | (uint64_t)arg[MM_IN_HI / 4] << 32,
        .out = arg[MM_OUT_LO / 4] | (uint64_t)arg[MM_OUT_HI / 4] << 32,
        .parts = arg[MM_PARTS / 4],
        .stride = arg[MM_STRIDE / 4],
        .beats = arg[MM_BEATS / 4],
        .fmt = arg[MM_FMT / 4],
        .out_fmt = arg[MM_OUT_FMT / 4],
        .out_shift = arg[MM_OUT_SHIFT / 4],
        .saturate = arg[MM_SATURATE / 4],
    };
    return mm_check(s->bank, &run) == KERNEL_NO_MEMORY;
}

static int mm_write(void *kernel, uint32_t at, uint32_t value)
{
    struct mm *s = kernel;
    if (at < MM_STATUS)
        s->arg[at / 4] = value;
    if (at == MM_CTRL && value & MM_CTRL_START && !s->runs) {
        s->refused = lacks_memory(s);
        s->runs = !s->refused;
        s->done = s->refused;
        s->bad = false;
        if (s->refused)
            return 0;
    }
    return bus_write(s, at, value);
}

static int mm_read(void *kernel, uint32_t at, uint32_t *value)
{
    struct mm *s = kernel;
    TRY(bus_read(s, at, value));
    if (at == MM_CTRL) {
        s->runs = s->runs && !(*value & MM_CTRL_DONE);
        *value |= s->done ? MM_CTRL_DONE | MM_CTRL_READY : 0;
        s->done = false;
    }
    if (at == MM_STATUS && s->refused)
        *value = KERNEL_NO_MEMORY;
    return 0;
}

static bool mm_step(void *kernel)
{
    struct mm *s = kernel;
    uint32_t ctrl = 0;
    for (int i = 0; s->runs && i < STEP_CLOCKS; i++)
        tick(s);
    if (s->runs && bus_read(s, MM_CTRL, &ctrl))
        s->runs = false;
    if (ctrl & MM_CTRL_DONE) {
        s->runs = false;
        s->done = true;
    }
    return s->runs;
}

const struct kernel_ops mm_rtl = {
    .open = mm_open, .close = mm_close, .write = mm_write, .read = mm_read, .step = mm_step};
