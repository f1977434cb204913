/* fpga_counters.c : reads all counters of a card. */
#include "offload/card/fpga_counters.h"
#include "base/err.h"

void fpga_counter_ops(struct fpga_op ops[FPGA_COUNTER_OPS])
{
    size_t n = 0;
    ops[n++] = (struct fpga_op){.at = REG_CTRL, .value = REG_CTRL_ENABLE | REG_CTRL_LATCH};
    for (uint32_t i = 0; i < REG_COUNTERS; i++) {
        ops[n++] = (struct fpga_op){.at = REG_COUNTER_INDEX, .value = i};
        ops[n++] = (struct fpga_op){.at = REG_COUNTER_LO, .read = true};
        ops[n++] = (struct fpga_op){.at = REG_COUNTER_HI, .read = true};
    }
}

int fpga_counter_take(const struct fpga_op ops[FPGA_COUNTER_OPS], size_t done,
                      uint64_t of[REG_COUNTERS])
{
    if (done < FPGA_COUNTER_OPS)
        return -EPROTO;
    for (uint32_t i = 0; i < REG_COUNTERS; i++)
        of[i] = ops[2 + 3 * i].value | (uint64_t)ops[3 + 3 * i].value << 32;
    return 0;
}
