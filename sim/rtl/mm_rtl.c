/* mm_rtl.c : runs the Verilated kernels on card memory at their AXI4 port: one beat per clock and
 * direction, in order, with an error outside memory. */
#include "base/err.h"
#include "hls/core/beat.h"
#include "sim/kernel_run.h"
#include "sim/rtl/axil_port.h"
#include "sim/rtl/verilated_model.h"
#include <stdlib.h>
#include <string.h>

enum { RESET_CLOCKS = 2, STEP_CLOCKS = 512, MAX_BURSTS = 8, DECERR = 3 };

extern const struct model_ops mm_model_ops, expmax_model_ops, quant_model_ops, unquant_model_ops;

struct burst {
    uint64_t at;
    uint32_t beats;
};

struct bursts {
    struct burst of[MAX_BURSTS];
    unsigned put, get;
};

struct mm {
    const struct model_ops *ops;
    void *model;
    struct axil_port regs;
    uint8_t *rst, *m_arlen, *m_arvalid, *m_arready, *m_rresp, *m_rvalid, *m_rready, *m_awlen,
        *m_awvalid, *m_awready, *m_wvalid, *m_wready, *m_bresp, *m_bvalid, *m_bready;
    uint32_t *m_rdata, *m_wdata;
    uint64_t *m_araddr, *m_awaddr, *m_wstrb;

    struct bursts reads, writes;
    unsigned answers;      /* owed to written bursts */
    bool bad;              /* a write was outside memory */
    struct kernel_run run; /* arguments */
    bool runs, done;       /* done: ended, and not read yet */
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
        *small[i].at = s->ops->port(s->model, small[i].name);
    s->m_rdata = s->ops->port(s->model, "m_rdata_i");
    s->m_wdata = s->ops->port(s->model, "m_wdata_o");
    s->m_wstrb = s->ops->port(s->model, "m_wstrb_o");
    s->m_araddr = s->ops->port(s->model, "m_araddr_o");
    s->m_awaddr = s->ops->port(s->model, "m_awaddr_o");
    axil_bind(&s->regs, s->ops->port, s->model);
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
    const uint8_t *at = card_memory_at(s->run.memory, address, BEAT_SIZE);
    const struct beat b = at ? beat_load(at) : beat_zero();
    memcpy(s->m_rdata, b.w, sizeof b.w);
    *s->m_rresp = at ? 0 : DECERR;
}

static void write_beat(struct mm *s, uint64_t address)
{
    uint8_t *at = card_memory_at(s->run.memory, address, BEAT_SIZE), bytes[BEAT_SIZE];
    struct beat b;
    memcpy(b.w, s->m_wdata, sizeof b.w);
    beat_store(b, bytes);
    for (int i = 0; at && i < BEAT_SIZE; i++)
        if (*s->m_wstrb >> i & 1)
            at[i] = bytes[i];
    s->bad = s->bad || !at;
}

/* A transfer happens if valid and ready were set before the edge. */
static void tick(void *mm)
{
    struct mm *s = mm;
    const struct burst *r = first(&s->reads), *w = first(&s->writes);
    *s->m_arready = !is_full(&s->reads);
    *s->m_awready = !is_full(&s->writes);
    *s->m_rvalid = r != NULL;
    *s->m_wready = w != NULL;
    *s->m_bvalid = s->answers > 0;
    *s->m_bresp = s->bad ? DECERR : 0;
    if (r)
        read_beat(s, r->at);
    s->ops->eval(s->model);
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
    s->ops->tick(s->model);
    if (read)
        next(&s->reads);
    s->answers -= answered;
}

static void eval(void *mm)
{
    const struct mm *s = mm;
    s->ops->eval(s->model);
}

static void mm_close(void *kernel)
{
    struct mm *s = kernel;
    if (s)
        s->ops->close(s->model);
    free(s);
}

static int mm_open(enum kernel which, const struct card_memory *memory, void **kernel)
{
    static const struct model_ops *const modules[N_KERNELS] = {
        [KERNEL_REDUCE_MM] = &mm_model_ops,
        [KERNEL_EXPMAX] = &expmax_model_ops,
        [KERNEL_QUANT] = &quant_model_ops,
        [KERNEL_UNQUANT] = &unquant_model_ops,
    };
    static char name[] = "narrowcast-sim";
    char *argv[] = {name, NULL};
    struct mm *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot make a kernel: no memory");
    s->ops = modules[which];
    s->model = s->ops->open(1, argv);
    s->run = (struct kernel_run){.which = which, .memory = memory};
    bind(s);
    s->regs.arg = s;
    s->regs.eval = eval;
    s->regs.tick = tick;
    *s->rst = 1;
    for (int i = 0; i < RESET_CLOCKS; i++)
        s->ops->tick(s->model);
    *s->rst = 0;
    *kernel = s;
    return 0;
}

static int mm_write(void *kernel, uint32_t at, uint32_t value)
{
    struct mm *s = kernel;
    if (at < sizeof s->run.reg)
        s->run.reg[at / 4] = value;
    if (at == KERNEL_CTRL && value & KERNEL_CTRL_START && !s->runs) {
        s->refused = kernel_run_check(&s->run) == KERNEL_NO_MEMORY;
        s->runs = !s->refused;
        s->done = s->refused;
        s->bad = false;
        if (s->refused) {
            kernel_run_start(&s->run); /* writes the status */
            return 0;
        }
    }
    return axil_write(&s->regs, at, value);
}

static int mm_read(void *kernel, uint32_t at, uint32_t *value)
{
    struct mm *s = kernel;
    TRY(axil_read(&s->regs, at, value));
    if (at == KERNEL_CTRL) {
        s->runs = s->runs && !(*value & KERNEL_CTRL_DONE);
        *value |= s->done ? KERNEL_CTRL_DONE | KERNEL_CTRL_READY : 0;
        s->done = false;
    }
    if (at == KERNEL_STATUS && s->refused && s->run.which == KERNEL_REDUCE_MM)
        *value = KERNEL_NO_MEMORY;
    return 0;
}

static bool mm_step(void *kernel)
{
    struct mm *s = kernel;
    uint32_t ctrl = 0;
    for (int i = 0; s->runs && i < STEP_CLOCKS; i++)
        tick(s);
    if (s->runs && axil_read(&s->regs, KERNEL_CTRL, &ctrl))
        s->runs = false;
    if (ctrl & KERNEL_CTRL_DONE) {
        s->runs = false;
        s->done = true;
    }
    return s->runs;
}

const struct kernel_ops mm_rtl = {
    .open = mm_open, .close = mm_close, .write = mm_write, .read = mm_read, .step = mm_step};
