/* algo_pipe_phases.c : computes the segments of algo_pipe.h, and its phases for predictions. */
#include "comm/algo/algo_pipe.h"
#include "comm/algo/algo_step.h"

enum {
    /* least bytes of a message, except in the last segment; shorter ones do not pay */
    MESSAGE_MIN = 30 * 1024,
    /* Open MPI sends up to 64 KiB over TCP, headers included, without a handshake. Messages in a
     * node may be longer. */
    MESSAGE_MAX = 60 * 1024,
    /* The first segment's cast and the last one's return overlap with nothing. */
    SEGMENTS = 8,
};

struct reduce_op algo_pipe_op(const struct reduce_op *f, int group)
{
    struct reduce_op op = *f;
    op.wide_addends = group;
    return op;
}
enum algo_form algo_pipe_form(const struct reduce_op *f)
{
    return algo_is_wide(f) ? ALGO_WIDE : ALGO_PART;
}

size_t algo_pipe_segment(const struct reduce_op *f, size_t n, int n_ranks, int group,
                         unsigned halves)
{
    const enum algo_form form = group == n_ranks ? ALGO_IN : algo_pipe_form(f);
    const size_t in = halves & ALGO_PIPE_REDUCE ? algo_bytes(f, form, f->unit) : 0,
                 out = halves & ALGO_PIPE_GATHER ? f->ops->out_bytes(f, f->unit) : 0;
    const size_t unit_bytes = in > out ? in : out, all_bytes = n / f->unit * unit_bytes;
    size_t message = all_bytes / (size_t)n_ranks / SEGMENTS;
    message = message < MESSAGE_MIN ? MESSAGE_MIN : message > MESSAGE_MAX ? MESSAGE_MAX : message;
    if (f->message_bytes)
        message = f->message_bytes;
    return (unit_bytes < message ? message / unit_bytes : 1) * f->unit * (size_t)n_ranks;
}

size_t algo_pipe_segments(size_t n, size_t each)
{
    return n > each ? (n + each - 1) / each : 1;
}

/* Segments travel at the same time, so their number does not change the number of phases. */
int algo_pipe_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                     struct algo_phase *phases)
{
    const struct reduce_op op = algo_pipe_op(f, group);
    const struct algo_cut in = {.op = &op, .form = ALGO_IN, .whole = {.n = n}, .n_parts = group};
    const struct algo_cut out = {.op = &op, .form = ALGO_OUT, .whole = in.whole, .n_parts = group};
    const struct algo_cut parts = {.op = &op,
                                   .form = n_ranks > group ? algo_pipe_form(&op) : ALGO_IN,
                                   .whole = algo_cut_range(&in, 0),
                                   .n_parts = n_ranks / group};
    const struct algo_cut sums = {
        .op = &op, .form = ALGO_OUT, .whole = parts.whole, .n_parts = parts.n_parts};
    const int segments =
        (int)algo_pipe_segments(n, algo_pipe_segment(&op, n, n_ranks, group, ALGO_PIPE_BOTH));
    struct algo_phase phase[] = {algo_phase_all(&in, true), algo_phase_all(&parts, true),
                                 algo_phase_all(&sums, false), algo_phase_all(&out, false)};
    int n_phases = 0;
    for (int i = 0; i < 4; i++) {
        phase[i].n_sent *= segments;
        phase[i].n_got = phase[i].n_sent;
        n_phases = algo_phase_add(phases, n_phases, phase[i], i == 0 || i == 3);
    }
    return n_phases;
}
