/* fpga.h : controls a simulated or real card with a few calls. None but fpga_check_name() prints,
 * because a missing card need not be an error; card.why has the reason in one line. */
#ifndef FPGA_H
#define FPGA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FPGA_WHY_BYTES = 192 };

struct fpga {
    const struct fpga_ops *ops; /* NULL: not open */
    void *own;                  /* the backend's */
    char name[64];
    /* to load into a card of this machine; fpga_open()'s caller owns it */
    const char *xclbin;
    char why[FPGA_WHY_BYTES]; /* of the last failure */
};

struct fpga_op {
    uint32_t at;
    bool read;
    uint32_t value; /* to write, or read */
};

struct fpga_time {
    /* since the card was started; clocks: busy ones, 0: unknown */
    uint64_t clocks, beats_in, beats_out;
};

struct fpga_ops {
    const char *prefix; /* of the cards' names: "udp://" */

    /* Here and in open() the name comes without its prefix. */
    bool (*name_fits)(const char *name);

    /* Connects within timeout_s. Limits of cards that start slowly: sim at least 10 s; xrt 3 s if
     * timeout_s is below 1, else 30 s. Returns 0 or a negative errno. -ENXIO: no such card can
     * exist (an unknown host, a missing program, library or device). */
    int (*open)(struct fpga *card, const char *name, double timeout_s);

    /* Executes ops[n] in order, within timeout_s and without other clients' operations in between
     * (eth://: except between requests of 28 operations; xrt: with 2 s for each). *done: number
     * executed; less than n if the card refused the next one (not a failure). Returns 0, or a
     * negative errno if the card is gone. */
    int (*batch)(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done, double timeout_s);

    /* Finds the IPv4 address (127.0.0.1 is 0x7f000001) and port for frames, within timeout_s
     * (xrt: 2 s each). Returns 0, -ENOTSUP if the card does not accept frames from a network, or
     * another negative errno if it is gone. */
    int (*address)(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s);

    /* Returns 0, or a negative errno if the card is gone. */
    int (*time)(struct fpga *card, struct fpga_time *out, double timeout_s);

    /* True if the card still has the jobs registered through this handle. Else card->why has the
     * reason. Never blocks. */
    bool (*alive)(struct fpga *card);

    /* Closes the card and ends these jobs. */
    void (*close)(struct fpga *card);
};

extern const struct fpga_ops fpga_ops_sim, fpga_ops_udp, fpga_ops_eth, fpga_ops_xrt;

/* Opens a card of the kind that the prefix of `where` names. xclbin: container for a card of this
 * machine (xrt_card.h), or NULL. Returns 0, -EINVAL for an impossible name, or an error of
 * ops->open(). Sets card->name always, and card->why after a failure. */
int fpga_open(struct fpga *card, const char *where, const char *xclbin, double timeout_s);
void fpga_close(struct fpga *card); /* legal when zeroed */

/* Returns 0 if the name is possible, or -EINVAL after reporting. */
int fpga_check_name(const char *where);

/* For backends: writes the reason into card->why and returns code. */
int fpga_failed(struct fpga *card, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
