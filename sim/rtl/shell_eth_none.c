/* shell_eth_none.c : replaces shell_eth.c in a build without Verilator or LiteEth. */
#include "base/err.h"
#include "sim/shell.h"

static int none_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    (void)wave, (void)out, (void)arg, (void)shell;
    return ERR(-ENOSYS, "cannot simulate the card behind LiteEth: need a build with Verilator and "
                        "LiteEth (make shell)");
}

/* others are not called: no open() succeeds */
const struct shell_ops shell_eth = {.open = none_open};
