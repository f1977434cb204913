/* rtl_vitis.h : runs a kernel's test, included after this file, on rtl/memory/mm_kernel.sv: maps
 * port names and checks AXI4's constant signals. */
#ifndef RTL_VITIS_H
#define RTL_VITIS_H
#include "sim/rtl/verilated_model.h"
#include <stdio.h>
#include <string.h>

/* The test's rst_i. ap_rst_n is active low, and one clock later inside. */
static uint8_t reset, *reset_n;
static const uint8_t *sizes[2], *bursts[2];
static int constants_differ;

static void *kernel_port(struct model *m, const char *name, unsigned *bits)
{
    char vitis[64];
    const size_t n = strlen(name); /* s_awaddr_i, m_awaddr_o: without suffix */
    reset_n = model_port(m, "ap_rst_n", NULL);
    sizes[0] = model_port(m, "m_axi_gmem_arsize", NULL);
    sizes[1] = model_port(m, "m_axi_gmem_awsize", NULL);
    bursts[0] = model_port(m, "m_axi_gmem_arburst", NULL);
    bursts[1] = model_port(m, "m_axi_gmem_awburst", NULL);
    if (!strcmp(name, "rst_i"))
        return &reset;
    if (!strcmp(name, "interrupt_o"))
        return model_port(m, "__SYM__interrupt", bits);
    snprintf(vitis, sizeof vitis, "%s_%.*s", name[0] == 's' ? "s_axi_control" : "m_axi_gmem",
             (int)(n - 4), name + 2);
    return model_port(m, vitis, bits);
}

static void kernel_tick(struct model *m)
{
    const int ends = !reset && !*reset_n;
    *reset_n = !reset;
    for (int i = 0; i < 1 + ends; i++)
        model_tick(m);
    constants_differ += *sizes[0] != 6 || *sizes[1] != 6 || *bursts[0] != 1 || *bursts[1] != 1;
}

#define model_port kernel_port
#define model_tick kernel_tick

#endif
