/* shell_none.c : takes the place of shell_rtl.c in a build without Verilator: asking for the Verilated card ends in one line. */
#include "base/err.h"
#include "sim/shell.h"

static int none_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    (void)wave, (void)out, (void)arg, (void)shell;
    return ERR(-ENOSYS, "no Verilated card: this program was built without Verilator; --model c has the same answers");
}

/* Nothing follows an open that failed. */
const struct shell_ops shell_rtl = {.open = none_open};
