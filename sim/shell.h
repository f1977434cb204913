/* shell.h : declares the interface to a simulated card: frames with addresses, registers, and a
 * clock on demand.
 *
 * Implementations: shell_rtl (the Verilated nic_core), shell_eth (the same with LiteEth),
 * shell_fast (the C model, without a clock), shell_narrow (the same with Narrow=1), shell_c (with
 * plain sums, for tests). */
#ifndef SHELL_H
#define SHELL_H
#include "base/text.h"
#include "control/control_jobs.h"
#include "sim/frame_queue.h"
#include <stddef.h>
#include <stdint.h>

/* Accepts an outgoing frame bytes[n], valid during the call. */
typedef void shell_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct shell_run {
    uint64_t clocks;    /* from the first to the last beat; 0 without a clock */
    uint64_t beats_in;  /* accepted */
    uint64_t beats_out; /* beats of outgoing frames */
    int quiet;          /* 1: idle; 0: max_clocks are over */
    uint64_t flits_in;  /* accepted: beats cut to the width of the card's port; 0 without a clock */
};

struct shell_ops {
    struct control_ops control; /* clocks are 0 without a clock */

    /* Makes a card as after reset. wave: FST file to write, or NULL. `out` is called during run,
     * step, read and write. close() frees *shell. Returns 0, or a negative errno after
     * reporting. */
    int (*open)(const char *wave, shell_out *out, void *arg, void **shell);
    void (*close)(void *shell);

    /* Sends the queue's frames to the card and waits for the last answer. Leaves the queue empty if
     * max_clocks suffice. */
    struct shell_run (*run)(void *shell, struct frame_queue *in, uint64_t max_clocks);

    /* Runs for at most max_clocks or, without a clock, for some frames. On return, the card may
     * have accepted part of a queued frame; registers may be accessed. Pass the same queue in
     * every call. Returns 1 if the card is idle until a frame comes or a register is written. */
    int (*step)(void *shell, struct frame_queue *in, uint64_t max_clocks);
    uint64_t (*ticks)(const void *shell); /* clocks simulated in total */

    /* From now on, beats in and out wait at random: in a clock with probability of_256 / 256. */
    void (*stall)(void *shell, unsigned of_256);

    /* address() is NULL except for shells of Ethernet frames, where ip and port of frames are 0.
     * Call address() first: it sets the card's MAC, IP, port for frames and control port
     * (hls/card/lease.def). With control_port 0, registers are accessed through `control` above;
     * else they must not be, and step() must be called every LEASE_TICK_MS. report() adds counts
     * as lines "name value"; it may be NULL. */
    void (*address)(void *shell, const uint8_t mac[6], uint32_t ip, uint16_t port,
                    uint16_t control_port);
    void (*report)(const void *shell, struct text *to);
};

/* For stall(): true if a beat is held back in this clock. *random: state of xorshift64, not 0; it
 * advances unless of_256 is 0. */
static inline int shell_stalls(uint64_t *random, unsigned of_256)
{
    if (!of_256)
        return 0;
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random >> 32 & 255) < of_256;
}

extern const struct shell_ops shell_rtl, shell_eth, shell_c, shell_fast, shell_narrow;

#endif
