/* shell_none.c : takes the place of shell_rtl.c and mm_rtl.c in a build without Verilator: asking for the
 * Verilated card ends in one line. */
#include "base/err.h"
#include "sim/kernel_port.h"
#include "sim/shell.h"

static int none_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    (void)wave, (void)out, (void)arg, (void)shell;
    return ERR(-ENOSYS, "no Verilated card: built without Verilator; --model c, --offload sim:c "
                        "and --on model give the "
                        "same bits");
}

/* Nothing follows an open that failed. */
const struct shell_ops shell_rtl = {.open = none_open};
const struct kernel_ops mm_rtl = {.open = NULL};
