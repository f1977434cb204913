/* pcie.c : maps bus addresses to registers and card memory. */
#include "sim/pcie.h"
#include "base/err.h"
#include "hls/card/regs.h"
#include <string.h>

enum { NO_ANSWER = 1, REGISTERS = 0x1000 /* bytes; kernels other than nic_core */ };

static const struct {
    uint64_t base;
} windows[N_KERNELS] = {
#define KERNEL(NAME, name, base, control, what) {base},
#include "hls/card/kernels.def"
};

void pcie_fini(struct pcie *p)
{
    for (int i = 0; i < N_KERNELS; i++)
        if (p->kernel[i])
            p->ops[i]->close(p->kernel[i]);
    card_memory_close(&p->memory);
    *p = (struct pcie){0};
}

/* Opens kernels and memory at the first message; most cards get none. */
static int show(struct pcie *p)
{
    if (p->shown)
        return 0;
    TRY(card_memory_open(&p->memory));
    for (int i = 0; i < N_KERNELS; i++) {
        p->ops[i] = i == KERNEL_NIC_CORE ? NULL : p->mm;
        if (p->ops[i])
            TRY(p->ops[i]->open((enum kernel)i, &p->memory, &p->kernel[i]));
    }
    p->shown = true;
    return 0;
}

static int shell_read(const struct pcie *p, uint32_t at, uint32_t *value)
{
    *value = at == SHELL_IP ? p->ip : p->port;
    return at == SHELL_IP || at == SHELL_PORT ? 0 : NO_ANSWER;
}

/* The address at which the process listens cannot change. */
static int shell_write(struct pcie *p, uint32_t at, uint32_t value)
{
    if (at != SHELL_IP && at != SHELL_PORT)
        return NO_ANSWER;
    uint32_t *reg = at == SHELL_IP ? &p->ip : &p->port;
    if (!p->listens || !*reg)
        *reg = at == SHELL_IP ? value : (uint16_t)value;
    return 0;
}

static int kernel_at(uint64_t address, uint32_t *at)
{
    for (int i = 0; i < N_KERNELS; i++)
        if (address >= windows[i].base && address - windows[i].base < KERNEL_WINDOW) {
            *at = (uint32_t)(address - windows[i].base);
            return *at % 4 ? -1 : i;
        }
    return -1;
}

/* Returns 0, NO_ANSWER, or -EIO after reporting. */
static int bus_read(struct pcie *p, uint64_t address, uint32_t *value)
{
    uint32_t at = 0;
    const int k = kernel_at(address, &at);
    if (k == KERNEL_NIC_CORE)
        return at < REG_WINDOW ? control_read(p->control, p->peer, at, value)
                               : shell_read(p, at, value);
    if (k < 0 || at >= REGISTERS)
        return NO_ANSWER;
    (void)p->ops[k]->step(p->kernel[k]);
    return p->ops[k]->read(p->kernel[k], at, value);
}

static int bus_write(struct pcie *p, uint64_t address, uint32_t value)
{
    uint32_t at = 0;
    const int k = kernel_at(address, &at);
    if (k == KERNEL_NIC_CORE)
        return at < REG_WINDOW ? control_write(p->control, p->peer, at, value)
                               : shell_write(p, at, value);
    if (k < 0 || at >= REGISTERS)
        return NO_ANSWER;
    return p->ops[k]->write(p->kernel[k], at, value);
}

/* A control_bus. pcie: a struct pcie. */
static int obey(void *pcie, struct simlink m, const uint8_t *body, struct simlink *answer,
                uint8_t *to)
{
    struct pcie *p = pcie;
    uint32_t value = 0;
    void *at;
    int rc = 0;
    TRY(show(p));
    switch (m.kind) {
    case SIMLINK_BUS_WRITE:
        rc = bus_write(p, m.a, (uint32_t)m.b);
        break;
    case SIMLINK_BUS_READ:
        rc = bus_read(p, m.a, &value);
        answer->b = value;
        break;
    case SIMLINK_MEM_WRITE:
        at = card_memory_at(&p->memory, m.a, m.bytes);
        rc = !at;
        if (at && m.bytes)
            memcpy(at, body, m.bytes);
        break;
    default:
        at = m.b > SIMLINK_MAX ? NULL : card_memory_at(&p->memory, m.a, m.b);
        rc = !at;
        answer->bytes = at ? (uint32_t)m.b : 0;
        if (at)
            memcpy(to, at, m.b);
    }
    answer->status = rc > 0;
    return rc < 0 ? rc : 0;
}

void pcie_init(struct pcie *p, struct control *control, int peer, const struct kernel_ops *mm,
               uint32_t ip, uint16_t port)
{
    *p = (struct pcie){
        .control = control, .peer = peer, .mm = mm, .ip = ip, .port = port, .listens = port != 0};
    control_attach(control, peer, obey, p);
}

bool pcie_step(struct pcie *p)
{
    bool busy = false;
    for (int i = 0; p->shown && i < N_KERNELS; i++)
        if (p->ops[i])
            busy = p->ops[i]->step(p->kernel[i]) || busy;
    return busy;
}
