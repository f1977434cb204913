// verilated_model.cpp : implements verilated_model.h for one module. Only this file includes
// Verilator's headers. For each line of sim/rtl/models, Verilator makes the class VERILATED, and
// the build makes ports.inc with PORT(name, bits) for each port.
#include "sim/rtl/verilated_model.h"
#include "hls/card/card.h"
#include MODEL_HEADER
#include "verilated.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef MODEL_WAVE
#include "verilated_fst_c.h"
#endif

struct model {
    VerilatedContext context;
    VERILATED *top = nullptr;
    uint8_t *clock = nullptr;
    uint64_t cycles = 0, edges = 0;
#ifdef MODEL_WAVE
    VerilatedFstC *wave = nullptr;
#endif
};

__attribute__((weak)) double sc_time_stamp()
{
    return 0;
}

static uint8_t *clock_of(VERILATED *top)
{
#define PORT(port, width)                                    \
    if (!strcmp("clk_i", #port) || !strcmp("ap_clk", #port)) \
        return reinterpret_cast<uint8_t *>(&top->port);
#include "ports.inc"
#undef PORT
    fprintf(stderr, "model: the module has no clock\n");
    exit(1);
}

struct model *model_open(int argc, char **argv)
{
    model *m = new model;
    m->context.commandArgs(argc, argv);
#ifdef MODEL_WAVE
    m->context.traceEverOn(true);
#endif
    m->top = new VERILATED(&m->context, "card");
    m->clock = clock_of(m->top);
    *m->clock = 0;
    m->top->eval();
    return m;
}

void model_close(struct model *m)
{
    if (!m)
        return;
#ifdef MODEL_WAVE
    if (m->wave)
        m->wave->close();
    delete m->wave;
#endif
    m->top->final();
    delete m->top;
    delete m;
}

void *model_port(struct model *m, const char *name, unsigned *bits)
{
    static const char *const missing = "model: the module has no port '%s'\n";
#define PORT(port, width)       \
    if (!strcmp(name, #port)) { \
        if (bits)               \
            *bits = (width);    \
        return &m->top->port;   \
    }
#include "ports.inc"
    fprintf(stderr, missing, name);
    exit(1);
}

void model_eval(struct model *m)
{
    m->top->eval();
}

// Verilator's unit of time is 1 ps.
static void dump(struct model *m)
{
    m->context.time(m->edges++ * 500000 / CARD_MHZ);
#ifdef MODEL_WAVE
    if (m->wave)
        m->wave->dump(m->context.time());
#endif
}

void model_tick(struct model *m)
{
    *m->clock = 1;
    m->top->eval();
    dump(m);
    *m->clock = 0;
    m->top->eval();
    dump(m);
    m->cycles++;
}

uint64_t model_cycles(const struct model *m)
{
    return m->cycles;
}

int model_wave(struct model *m, const char *path)
{
#ifdef MODEL_WAVE
    m->wave = new VerilatedFstC;
    m->top->trace(m->wave, 99);
    m->wave->open(path);
    return m->wave->isOpen() ? 0 : -1;
#else
    (void)m, (void)path;
    return -1;
#endif
}

#ifdef MODEL_PREFIX
extern "C" const struct model_ops MODEL_NAMED(MODEL_PREFIX, model_ops);
const struct model_ops MODEL_NAMED(MODEL_PREFIX, model_ops) = {
    [](int argc, char **argv) -> void * { return model_open(argc, argv); },
    [](void *m) { model_close(static_cast<model *>(m)); },
    [](void *m, const char *name) { return model_port(static_cast<model *>(m), name, nullptr); },
    [](void *m) { model_eval(static_cast<model *>(m)); },
    [](void *m) { model_tick(static_cast<model *>(m)); },
};
#endif
