/* shell_eth.h : the Verilated card behind LiteEth, rtl/shell/card_sim.sv: what goes in and out are
 * Ethernet frames, whose own ARP, ping and UDP are the card's. Frames of the queue are [14..2304)
 * bytes, without preamble and CRC; too short ones are padded. */
#ifndef SHELL_ETH_H
#define SHELL_ETH_H
#include "sim/shell.h"

/* queued_frame.port of a frame that something is wrong with, for tests */
enum shell_eth_wrong {
    SHELL_ETH_BAD_CRC = 1,
    SHELL_ETH_SHORT = 2 /* it is not padded */
};

enum { SHELL_ETH_GIGABIT = 25 /* 1 Gbit/s at 50 MHz */ };

struct shell_eth_counts {
    /* frames in, each one of: to the layers above, with the MAC's error, another's, malformed, lost
     * for want of room; frames out, those of them with a bad preamble or CRC */
    uint64_t taken, error, other, malformed, full, sent, bad;
    /* clocks in which a beat waited for the core, one of the core's for what is around it, a word of
     * the wire for the MAC; the longest hole inside a frame out, clocks */
    uint64_t core_waits, shell_waits, wire_waits, hole;
    uint64_t bytes_in, bytes_out; /* of frames, as on the wire: with preamble, CRC and gap */
};

/* Of an open shell_eth. */
const struct shell_eth_counts *shell_eth_counts(const void *shell);

/* How fast the wire is, both ways: bytes in ten clocks, 1..40, at first SHELL_ETH_GIGABIT. 0: a word
 * a clock, and a gap of one word between frames in; LiteEth keeps no such pace. */
void shell_eth_line(void *shell, int bytes_in_10);

#endif
