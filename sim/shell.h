/* shell.h : what surrounds a simulated card: frames with addresses in and out, registers, and a
 * clock that runs on demand. Behind it: shell_rtl, the Verilated nic_core; shell_eth, that behind
 * LiteEth; shell_fast, the C model, which has no clock; shell_c, the same with plain sums, for
 * tests. */
#ifndef SHELL_H
#define SHELL_H
#include "base/text.h"
#include "control/control_jobs.h"
#include "sim/frame_queue.h"
#include <stddef.h>
#include <stdint.h>

/* A frame that leaves; bytes [n] are the shell's until the call returns. */
typedef void shell_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

struct shell_run {
    uint64_t clocks;    /* from the first to the last beat that moved; 0 without a clock */
    uint64_t beats_in;  /* taken by the card */
    uint64_t beats_out; /* frames out, in beats */
    int quiet;          /* 1: nothing is left to do; 0: the clocks ran out */
};

struct shell_ops {
    struct control_ops control; /* of the shell; its clocks are 0 without a clock */

    /* A card after reset. wave: FST file to write, or NULL. out is called from run, read and write.
     * Returns 0 or a negative errno with a line; *shell is freed by close. */
    int (*open)(const char *wave, shell_out *out, void *arg, void **shell);
    void (*close)(void *shell);

    /* Gives the card all frames of the queue, which is empty afterwards if the clocks sufficed, and
     * waits for the last answer. */
    struct shell_run (*run)(void *shell, struct frame_queue *in, uint64_t max_clocks);

    /* Goes on for so many clocks at most (without a clock: some frames), for a caller that has
     * other work in between: a frame of the queue may stay half taken, also while registers are
     * accessed. The queue must be the same in every call. Returns 1 when all is quiet: nothing will
     * happen before there is a frame or a register is written. */
    int (*step)(void *shell, struct frame_queue *in, uint64_t max_clocks);
    uint64_t (*ticks)(const void *shell); /* clocks simulated at all */

    /* From now on the network holds back a beat, in and out, in this many of 256 clocks, by chance;
     * 0: never. */
    void (*stall)(void *shell, unsigned of_256);

    /* Of a shell whose frames are Ethernet's, with ip and port 0 beside them, else NULL: who the card
     * is there, to be said before anything else, with its port for frames and that of its own
     * control (hls/card/lease.def; 0: it has none, its registers are control's above; else those must not
     * be touched, and step() is to be called LEASE_TICK_MS after LEASE_TICK_MS); and its counts, as
     * lines of text, "name value". */
    void (*address)(void *shell, const uint8_t mac[6], uint32_t ip, uint16_t port,
                    uint16_t control_port);
    void (*report)(const void *shell, struct text *to);
};

/* stall() for a shell with a clock: is a beat held back in this one? *random: its own, not 0; drawn from if of_256
 * is not 0. xorshift64 */
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
