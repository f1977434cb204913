/* shell_eth.h : Runs the Verilated card with LiteEth, rtl/shell/card_sim.sv. Frames are Ethernet
 * frames; the card does ARP, ping and UDP.
 *
 * Frames of the queue are [14..2304) bytes without preamble and CRC; short ones are padded. */
#ifndef SHELL_ETH_H
#define SHELL_ETH_H
#include "sim/shell.h"

/* queued_frame.port of a defective frame, for tests. */
enum shell_eth_wrong {
    SHELL_ETH_BAD_CRC = 1,
    SHELL_ETH_SHORT = 2 /* not padded */
};

enum { SHELL_ETH_GIGABIT = 25 /* 1 Gbit/s at 50 MHz */ };

struct shell_eth_counts {
    /* Frames in: taken by the upper layers, with an error of the MAC, for others, malformed, lost
     * for want of room. Frames out: all; with a bad preamble or CRC. */
    uint64_t taken, error, other, malformed, full, sent, bad;
    /* Clocks in which a beat waited for the core; a beat of the core for the shell; a word of the
     * wire for the MAC. Longest hole inside an outgoing frame, clocks. */
    uint64_t core_waits, shell_waits, wire_waits, hole;
    uint64_t bytes_in, bytes_out; /* on the wire, with preamble, CRC and gap */
};

const struct shell_eth_counts *shell_eth_counts(const void *shell);

/* Sets the speed of the wire, both ways: 1..40 bytes per ten clocks, initially SHELL_ETH_GIGABIT.
 * 0: a word per clock and a gap of one word between incoming frames, too fast for LiteEth. */
void shell_eth_line(void *shell, int bytes_in_10);

#endif
