/* shell_none.c : replaces shell_rtl.c, mm_rtl.c and responder_rtl.c in a build without
 * Verilator. */
#include "base/err.h"
#include "sim/kernel_port.h"
#include "sim/rtl/responder.h"
#include "sim/shell.h"

static int none_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    (void)wave, (void)out, (void)arg, (void)shell;
    return ERR(-ENOSYS, "no Verilated card: built without Verilator; --engine c, --offload sim:c "
                        "and --on c give the same bits");
}

/* others are not called: no open() succeeds */
const struct shell_ops shell_rtl = {.open = none_open};
const struct kernel_ops mm_rtl = {.open = NULL};

int responder_open(const struct control_ops *ops, void *card, uint16_t frame_port,
                   responder_out *out, void *arg, struct responder **responder)
{
    (void)ops, (void)card, (void)frame_port, (void)out, (void)arg, (void)responder;
    return ERR(-ENOSYS, "no control by datagrams: built without Verilator; use --listen without "
                        "--control, which is controlled over TCP");
}

void responder_close(struct responder *r)
{
    (void)r;
}

int responder_take(struct responder *r, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)r, (void)ip, (void)port, (void)bytes, (void)n;
    return -ENOSYS;
}

int responder_tick(struct responder *r)
{
    (void)r;
    return -ENOSYS;
}
