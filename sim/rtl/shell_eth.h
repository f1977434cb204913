/* shell_eth.h : runs the Verilated card with LiteEth, rtl/shell/card_sim.sv, which does ARP, ping
 * and UDP. Queued frames are Ethernet frames of 14 to 2304 bytes, without preamble and CRC; short
 * ones are padded. */
#ifndef SHELL_ETH_H
#define SHELL_ETH_H
#include "sim/shell.h"

/* values of queued_frame.port that make a frame defective, for tests */
enum shell_eth_wrong {
    SHELL_ETH_BAD_CRC = 1,
    SHELL_ETH_SHORT = 2 /* not padded */
};

enum { SHELL_ETH_GIGABIT = 25 /* 1 Gbit/s at 50 MHz */ };

struct shell_eth_counts {
    /* Incoming frames: accepted by the upper layers (taken), with an error of the MAC (error), for
     * other hosts (other), malformed, lost without room (full). Outgoing: all (sent), with a bad
     * preamble or CRC (bad). */
    uint64_t taken, error, other, malformed, full, sent, bad;
    /* Clocks in which a beat waited for the core (core_waits), a beat of the core for the shell
     * (shell_waits), or a word of the wire for the MAC (wire_waits). hole: longest gap inside an
     * outgoing frame, clocks. */
    uint64_t core_waits, shell_waits, wire_waits, hole;
    uint64_t bytes_in, bytes_out; /* on the wire, with preamble, CRC and gap */
};

const struct shell_eth_counts *shell_eth_counts(const void *shell);

/* Sets the wire's speed in both directions: 1 to 40 bytes per ten clocks, initially
 * SHELL_ETH_GIGABIT. 0: one word per clock, with a gap of one word between incoming frames, too
 * fast for LiteEth. */
void shell_eth_line(void *shell, int bytes_in_10);

#endif
