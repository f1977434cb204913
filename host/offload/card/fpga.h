/* fpga.h : Controls a card by a few calls, the same for simulated and real cards. No call prints,
 * since a missing card is no error of the program: card.why has the reason, one line. */
#ifndef FPGA_H
#define FPGA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FPGA_WHY_BYTES = 192 };

struct fpga {
    const struct fpga_ops *ops; /* NULL: not open */
    void *own;                  /* the backend's */
    char name[64];              /* as the user named it */
    /* Container of a card that is loaded here; the opener's. */
    const char *xclbin;
    char why[FPGA_WHY_BYTES]; /* of the last call that failed */
};

struct fpga_op {
    uint32_t at;
    bool read;
    uint32_t value; /* to write, or out: as read */
};

struct fpga_time {
    /* Since the card was started. clocks: busy ones, 0: unknown. */
    uint64_t clocks, beats_in, beats_out;
};

struct fpga_ops {
    const char *prefix; /* of its names: "udp://" */

    /* True if a card can have this name; here and below without the prefix. */
    bool (*name_fits)(const char *name);

    /* Connects to the card within timeout_s. Returns 0 or a negative errno: -ENXIO if there can be
     * no such card (an unknown host, a missing program, library or device). */
    int (*open)(struct fpga *card, const char *name, double timeout_s);

    /* Executes ops[n] in order, with no other client's in between, within timeout_s. *done: the
     * number executed, less than n if the card refused the next one, which is no failure. Returns 0
     * or a negative errno: the card is gone. */
    int (*batch)(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done, double timeout_s);

    /* Returns the address for frames: IPv4 (127.0.0.1 is 0x7f000001) and port. Blocks and returns
     * as batch; -ENOTSUP: it takes none. */
    int (*address)(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s);

    /* Blocks and returns as batch. */
    int (*time)(struct fpga *card, struct fpga_time *out, double timeout_s);

    /* True if the card still has what was registered. Never blocks. False: card->why
     * says how it ended. */
    bool (*alive)(struct fpga *card);

    /* Also ends all jobs that were registered through it. */
    void (*close)(struct fpga *card);
};

extern const struct fpga_ops fpga_ops_sim, fpga_ops_udp, fpga_ops_eth, fpga_ops_xrt;

/* Opens a card by the prefix of `where`. xclbin: for a card of this machine (xrt_card.h), or NULL.
 * Returns as ops->open; sets card->name and why in any case. */
int fpga_open(struct fpga *card, const char *where, const char *xclbin, double timeout_s);
void fpga_close(struct fpga *card); /* legal when zeroed */

/* Returns 0 if fpga_open() accepts this name, else -EINVAL after reporting. */
int fpga_check_name(const char *where);

/* For backends: sets card->why, returns code. */
int fpga_failed(struct fpga *card, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
