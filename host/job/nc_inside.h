/* nc_inside.h : a communicator of the public interface, for nc*.c alone. */
#ifndef NC_INSIDE_H
#define NC_INSIDE_H
#include <narrowcast.h>
#include "base/err.h"
#include "job/job.h"
#include "vec/fp_mode.h"
#include <stdatomic.h>
#include <sys/types.h>

/* What the caller's gradients are made of (nc_type.c). */
enum nc_type { NC_FP32, NC_FP64, NC_FP16, NC_BF16 };

struct nc {
    struct comm *comm;
    struct job job;
    uint64_t step;                              /* keys random bits */
    char path[sizeof((struct job *)0)->device]; /* of a step that cards do not add */
    int n_layers;
    size_t *n;           /* [n_layers] elements */
    uint32_t layers_tag; /* checksum of the list of layers */
    enum nc_type type;
    void **grads; /* [n_layers] the caller's, of the step under way */
    float **fp32; /* [n_layers] the same, or copies in `room` */
    float *room;  /* of all layers, where gradients are not fp32; else NULL */
    bool *handed; /* [n_layers] of the step under way: nc_ready() */
    int n_handed;
    bool asked_thread; /* for reducer_set_overlap(), once */
    bool under_way;    /* from nc_iallreduce() to nc_wait() */
    bool has_turn;     /* comm_take_turn(), and holds it between calls */
    bool by_mpi;       /* its thread rules hold */
    atomic_int failed; /* a negative errno: only nc_close() may follow */
    atomic_bool busy;
    pid_t pid;
    struct nc_options log; /* where lines go */
    struct err_lines lines, *before;
    fenv_t fp; /* the caller's floating-point environment, during a call */
};

/* ---- nc_call.c: around each call ---- */

/* Until nc_leave() lines of this communicator go where its options say, and arithmetic is IEEE's
 * default: rounded to nearest, with subnormals, without traps, whatever the caller has set. A call that may not be made
 * now, by this thread, returns -EBUSY, -EPERM, or what a call before it failed with; then there is
 * nothing to leave. */
int nc_enter(struct nc *nc);

/* The same between steps alone; in one: -EBUSY. */
int nc_enter_between(struct nc *nc);

/* The call's end. Returns rc, which it remembers if the job cannot go on after it. */
int nc_leave(struct nc *nc, int rc);

/* What a call returns that changes nothing: it may be mended and called again. */
int nc_leave_refused(struct nc *nc, int rc);

/* Lines go to o->log, if there is one; o outlives them. */
struct err_lines nc_lines(struct nc_options *o);

/* After a failure of nc_open: for nc_last_error(NULL). */
void nc_open_failed(const struct err_lines *lines, int rc);

/* ---- nc_type.c ---- */

/* Reads options.type. Returns 0 or -EINVAL with a line. */
int nc_type_parse(const char *word, const char *device, enum nc_type *out);

/* Room for a step's lists and copies. Returns 0 or -ENOMEM with a line; nc_type_close() in either case. */
int nc_type_open(struct nc *nc, const struct nc_layer *layers);
void nc_type_close(struct nc *nc);

/* A step begins: the caller's list is copied. Returns 0 or -EINVAL with a line. */
int nc_type_begin(struct nc *nc, const void *grads);

/* Layers first..first+n to fp32; all of them back. */
void nc_type_in(struct nc *nc, int first, int n);
void nc_type_out(struct nc *nc);

#endif
