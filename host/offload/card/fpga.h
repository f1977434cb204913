/* fpga.h : what the driver knows of a card: a few calls, the same for one that is simulated and for
 * a real one.
 *
 * No call prints: a card that is missing is no error of the program. What failed stands in
 * card.why, in one line. */
#ifndef FPGA_H
#define FPGA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FPGA_WHY_BYTES = 192 };

struct fpga {
    const struct fpga_ops *ops; /* NULL: not open */
    void *own;                  /* the backend's */
    char name[64];              /* as the user calls it */
    const char *xclbin;         /* of a card that is loaded here: its container; the opener's */
    char why[FPGA_WHY_BYTES];   /* of the last call that failed */
};

/* A register of hls/card/regs.def, to be written or read. */
struct fpga_op {
    uint32_t at;
    bool read;
    uint32_t value; /* to be written, or out: what was read */
};

struct fpga_time {
    /* since it was started; clocks in which it was busy, 0: it does not say */
    uint64_t clocks, beats_in, beats_out;
};

struct fpga_ops {
    const char *prefix; /* of its names: "udp://" */

    /* Can a card have this name? name: without the prefix, here and below. */
    bool (*name_fits)(const char *name);

    /* Connects to card->name . Blocks for timeout_s at most. Returns 0 or a negative errno: -ENXIO
     * if there can be no such card (an unknown host, a missing program, library or device). */
    int (*open)(struct fpga *card, const char *name, double timeout_s);

    /* Does ops [n] in order, nobody else's between them. *done: how many, up to the first that the
     * card refused, which is no failure. Blocks for timeout_s at most. Returns 0 or a negative
     * errno: the card is gone. */
    int (*batch)(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done, double timeout_s);

    /* Where frames go to: IPv4 (127.0.0.1 is 0x7f000001) and port. Blocks and returns as batch;
     * -ENOTSUP: nowhere. */
    int (*address)(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s);

    /* Blocks and returns as batch. */
    int (*time)(struct fpga *card, struct fpga_time *out, double timeout_s);

    /* Is what was registered still the card's? Never blocks. false: card->why says how it ended. */
    bool (*alive)(struct fpga *card);

    /* Ends all jobs that were registered here. */
    void (*close)(struct fpga *card);
};

extern const struct fpga_ops fpga_ops_sim, fpga_ops_udp, fpga_ops_eth, fpga_ops_xrt;

/* Opens by the prefix of where. xclbin: for a card of this machine (xrt_card.h); NULL is legal. Returns
 * as ops->open; card->name and why are set in any case. */
int fpga_open(struct fpga *card, const char *where, const char *xclbin, double timeout_s);
void fpga_close(struct fpga *card); /* legal when zeroed */

/* Is this a name that fpga_open() can be asked for? 0, or -EINVAL with a line. */
int fpga_check_name(const char *where);

/* For the backends: sets card->why, returns code. */
int fpga_failed(struct fpga *card, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
