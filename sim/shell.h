/* shell.h : Surrounds a simulated card: frames with addresses in and out, registers, a
 * clock on demand.
 *
 * Implementations: shell_rtl, the Verilated nic_core; shell_eth, the same with LiteEth;
 * shell_fast, the C model, without a clock; shell_c, the C model with plain sums, for tests. */
#ifndef SHELL_H
#define SHELL_H
#include "base/text.h"
#include "control/control_jobs.h"
#include "sim/frame_queue.h"
#include <stddef.h>
#include <stdint.h>

/* Takes an outgoing frame bytes[n], valid during the call. */
typedef void shell_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct shell_run {
    uint64_t clocks;    /* from the first to the last beat moved; 0 without a clock */
    uint64_t beats_in;  /* taken by the card */
    uint64_t beats_out; /* frames out, in beats */
    int quiet;          /* 1: idle; 0: the clocks ran out */
};

struct shell_ops {
    struct control_ops control; /* registers; clocks are 0 without a clock */

    /* Makes a card as after reset. wave: FST file to write, or NULL. run, read and write call
     * `out`. Returns 0, or a negative errno after reporting. close() frees *shell. */
    int (*open)(const char *wave, shell_out *out, void *arg, void **shell);
    void (*close)(void *shell);

    /* Feeds all frames of the queue to the card and waits for the last answer. If the clocks
     * suffice, the queue is empty afterwards. */
    struct shell_run (*run)(void *shell, struct frame_queue *in, uint64_t max_clocks);

    /* Runs for at most max_clocks (without a clock: some frames). A frame of the queue may remain
     * partly taken, even while registers are accessed. Pass the same queue in every call. Returns 1
     * if idle until a frame comes or a register is written. */
    int (*step)(void *shell, struct frame_queue *in, uint64_t max_clocks);
    uint64_t (*ticks)(const void *shell); /* clocks simulated in total */

    /* From now on the network holds back a beat, in and out, in this many of 256 clocks, at
     * random; 0: never. */
    void (*stall)(void *shell, unsigned of_256);

    /* address: NULL except for shells of Ethernet frames, whose ip and port are 0. Call it
     * first; it sets the card's MAC, IP, port for frames and control port
     * (hls/card/lease.def). control_port 0: registers are accessed by `control` above.
     * Otherwise they must not be, and step() must be called every LEASE_TICK_MS. report: NULL,
     * or adds counts as lines "name value". */
    void (*address)(void *shell, const uint8_t mac[6], uint32_t ip, uint16_t port,
                    uint16_t control_port);
    void (*report)(const void *shell, struct text *to);
};

/* For stall(): true if this clock holds a beat back. *random: state of xorshift64, not 0; advanced
 * unless of_256 is 0. */
static inline int shell_stalls(uint64_t *random, unsigned of_256)
{
    if (!of_256)
        return 0;
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random >> 32 & 255) < of_256;
}

extern const struct shell_ops shell_rtl, shell_eth, shell_c, shell_fast;

#endif
