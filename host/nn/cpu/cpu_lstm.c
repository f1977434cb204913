/* cpu_lstm.c : runs the LSTM on packed sequences, without products for steps after a sequence's
 * end. Samples are sorted by length, the longest first, and rows by time:
 *
 *   lengths 2 4 1      packed rows: t 0: samples 1 0 2 | t 1: 1 0 | t 2: 1 | t 3: 1
 * At step t the first active[t] samples remain. One product covers the inputs of all steps, another
 * all weight gradients. A step's recurrent product reads consecutive rows. */
#include <string.h>
#include "nn/cpu/cpu_ops.h"
#include "hls/nn/squash.h"

/* Scratch memory, in this order. rows: the number of rows of all steps. */
struct packed {
    int rows;
    int *order;  /* [batch] sample at each place */
    int *active; /* [steps + 1] active samples at step t */
    int *first;  /* [steps + 1] first row of step t */
    real *x;     /* [rows][in]; backward: also dx */
    real *r;     /* [rows][out]; backward: r of the previous step */
    real *dr;    /* [rows][out] */
    real *m;     /* [rows][cells] o * tanh(c) */
    real *dm;    /* [batch][cells] */
    real *dc;    /* [batch][cells] of the next step */
    real *zeros;
};

/* Kept from forward to backward, for each row. */
struct kept {
    real *gates;      /* [4 cells] gates i f g o; backward: gradients of their sums */
    real *c, *tanh_c; /* [cells] */
};

static size_t reals_of(const struct nn_lstm *f, int batch)
{
    const size_t rows = (size_t)batch * (size_t)f->steps, out = (size_t)f->out;
    return rows * ((size_t)f->in + 2 * out + (size_t)f->cells) +
           (2 * (size_t)batch + 1) * (size_t)f->cells;
}

int cpu_lstm_plan(void *ctx, const struct nn_lstm *f, int max_batch, size_t *scratch_bytes)
{
    (void)ctx;
    *scratch_bytes = reals_of(f, max_batch) * sizeof(real) +
                     ((size_t)max_batch + 2 * ((size_t)f->steps + 1)) * sizeof(int);
    return 0;
}

static struct kept kept_of(const struct nn_lstm *f, int batch, real *kept)
{
    const size_t all = (size_t)batch * (size_t)f->steps * (size_t)f->cells;
    return (struct kept){kept, kept + LSTM_GATES * all, kept + (LSTM_GATES + 1) * all};
}

static void sort(struct packed *p, const struct nn_lstm *f, int batch, const int32_t *lengths)
{
    memset(p->active, 0, ((size_t)f->steps + 1) * sizeof *p->active);
    for (int b = 0; b < batch; b++) {
        int place = 0;
        for (int other = 0; other < batch; other++)
            place += lengths[other] > lengths[b] || (other < b && lengths[other] == lengths[b]);
        p->order[place] = b;
        for (int t = 0; t < lengths[b]; t++)
            p->active[t]++;
    }
    p->rows = 0;
    for (int t = 0; t <= f->steps; t++) {
        p->first[t] = p->rows;
        p->rows += p->active[t];
    }
}

static struct packed packed_of(const struct nn_lstm *f, int batch, const int32_t *lengths,
                               void *scratch)
{
    const size_t rows = (size_t)batch * (size_t)f->steps, out = rows * (size_t)f->out;
    struct packed p = {.x = scratch};
    p.r = p.x + rows * (size_t)f->in;
    p.dr = p.r + out;
    p.m = p.dr + out;
    p.dm = p.m + rows * (size_t)f->cells;
    p.dc = p.dm + (size_t)batch * (size_t)f->cells;
    p.zeros = p.dc + (size_t)batch * (size_t)f->cells;
    void *rest = p.zeros + f->cells;
    p.order = rest;
    p.active = p.order + batch;
    p.first = p.active + f->steps + 1;
    memset(p.zeros, 0, (size_t)f->cells * sizeof *p.zeros);
    sort(&p, f, batch, lengths);
    return p;
}

static void pack(const struct packed *p, int steps, size_t n, const real *x, real *rows)
{
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < p->active[t]; i++, rows += n)
            memcpy(rows, x + ((size_t)p->order[i] * (size_t)steps + (size_t)t) * n, n * sizeof *x);
}

static void unpack(const struct packed *p, int steps, size_t n, int batch, const real *rows,
                   real *x)
{
    for (int t = 0; t < steps; t++)
        for (int i = 0; i < batch; i++) {
            real *to = x + ((size_t)p->order[i] * (size_t)steps + (size_t)t) * n;
            if (i < p->active[t]) {
                memcpy(to, rows, n * sizeof *x);
                rows += n;
            } else {
                memset(to, 0, n * sizeof *x);
            }
        }
}

/* Flush values below 2^-100. Unused cells and gradients halve at every step, and a CPU multiplies
 * subnormals a hundred times slower. By a mask: with a choice of 0, gcc does not vectorise
 * cell(). */
static inline real live(real x)
{
    const real least = (real)0x1p-100;
    squash_bits bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= (squash_bits)((x < least) & (x > -least)) - 1;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* zi to zo [c]: the gates' sums on entry, the gates on return. was [c]: the previous step's
 * cells. */
CPU_HOT static void cell(int c, const real *restrict peephole, const real *restrict was,
                         real *restrict zi, real *restrict zf, real *restrict zg, real *restrict zo,
                         real *restrict now, real *restrict tanh_c, real *restrict m)
{
    for (int j = 0; j < c; j++) {
        const real in = squash_sigmoid(zi[j] + peephole[j] * was[j]),
                   forget = squash_sigmoid(zf[j] + peephole[c + j] * was[j]),
                   fresh = squash_tanh(zg[j]), is = live(forget * was[j] + in * fresh),
                   out = squash_sigmoid(zo[j] + peephole[2 * c + j] * is),
                   squashed = squash_tanh(is);
        zi[j] = in, zf[j] = forget, zg[j] = fresh, zo[j] = out;
        now[j] = is;
        tanh_c[j] = squashed;
        m[j] = out * squashed;
    }
}

/* zi to zo [c]: the gates on entry, the gradients of their sums on return. dc [c]: the gradient of
 * this step's cells on entry, of the previous step's on return. m is recomputed. */
CPU_HOT static void cell_back(int c, const real *restrict peephole, const real *restrict was,
                              const real *restrict tanh_c, const real *restrict dm,
                              real *restrict zi, real *restrict zf, real *restrict zg,
                              real *restrict zo, real *restrict dc, real *restrict m)
{
    for (int j = 0; j < c; j++) {
        const real in = zi[j], forget = zf[j], fresh = zg[j], out = zo[j], is = tanh_c[j];
        const real d_out = dm[j] * is * out * (1 - out);
        const real d_now = dc[j] + dm[j] * out * (1 - is * is) + d_out * peephole[2 * c + j];
        const real d_in = d_now * fresh * in * (1 - in),
                   d_forget = d_now * was[j] * forget * (1 - forget),
                   d_fresh = d_now * in * (1 - fresh * fresh);
        m[j] = out * is;
        dc[j] = live(d_now * forget + d_in * peephole[j] + d_forget * peephole[c + j]);
        zi[j] = live(d_in), zf[j] = live(d_forget), zg[j] = live(d_fresh), zo[j] = live(d_out);
    }
}

CPU_HOT static void add_products(int c, const real *restrict a, const real *restrict b,
                                 real *restrict sum)
{
    for (int j = 0; j < c; j++)
        sum[j] += a[j] * b[j];
}

CPU_HOT static void add_to(int c, const real *restrict a, real *restrict sum)
{
    for (int j = 0; j < c; j++)
        sum[j] += a[j];
}

static const real *before_of(const struct packed *p, const struct kept *k, int c, int t, int i)
{
    return t ? k->c + (size_t)(p->first[t - 1] + i) * (size_t)c : p->zeros;
}

static real *row_of(const struct packed *p, int t, int i, int n, real *rows)
{
    return rows + (size_t)(p->first[t] + i) * (size_t)n;
}

void cpu_lstm_forward(void *ctx, const struct nn_lstm *f, int batch, const int32_t *lengths,
                      const real *x, real *y, real *kept, void *scratch)
{
    const struct packed p = packed_of(f, batch, lengths, scratch);
    const struct kept k = kept_of(f, batch, kept);
    const int c = f->cells, wide = LSTM_GATES * c;
    pack(&p, f->steps, (size_t)f->in, x, p.x);
    for (int i = 0; i < p.rows; i++)
        memcpy(k.gates + (size_t)i * (size_t)wide, f->bias, (size_t)wide * sizeof *f->bias);
    cpu_gemm(ctx, false, true, p.rows, wide, f->in, p.x, f->in, f->wx, f->in, 1, k.gates, wide);
    for (int t = 0; t < f->steps && p.active[t]; t++) {
        const int n = p.active[t];
        if (t)
            cpu_gemm(ctx, false, true, n, wide, f->out, row_of(&p, t - 1, 0, f->out, p.r), f->out,
                     f->wr, f->out, 1, row_of(&p, t, 0, wide, k.gates), wide);
        for (int i = 0; i < n; i++) {
            real *z = row_of(&p, t, i, wide, k.gates);
            cell(c, f->peephole, before_of(&p, &k, c, t, i), z, z + c, z + 2 * c, z + 3 * c,
                 row_of(&p, t, i, c, k.c), row_of(&p, t, i, c, k.tanh_c), row_of(&p, t, i, c, p.m));
        }
        cpu_gemm(ctx, false, true, n, f->out, c, row_of(&p, t, 0, c, p.m), c, f->wp, c, 0,
                 row_of(&p, t, 0, f->out, p.r), f->out);
    }
    unpack(&p, f->steps, (size_t)f->out, batch, p.r, y);
}

/* Turn dr into the full gradient of r, and gates into gradients of their sums. Recompute m. */
static void back_through_time(struct cpu *cpu, const struct nn_lstm *f, int batch,
                              const struct packed *p, const struct kept *k)
{
    const int c = f->cells, wide = LSTM_GATES * c;
    memset(p->dc, 0, (size_t)batch * (size_t)c * sizeof *p->dc);
    for (int t = f->steps - 1; t >= 0; t--) {
        const int n = p->active[t], next = p->active[t + 1];
        if (next)
            cpu_gemm(cpu, false, false, next, f->out, wide, row_of(p, t + 1, 0, wide, k->gates),
                     wide, f->wr, f->out, 1, row_of(p, t, 0, f->out, p->dr), f->out);
        if (n)
            cpu_gemm(cpu, false, false, n, c, f->out, row_of(p, t, 0, f->out, p->dr), f->out, f->wp,
                     c, 0, p->dm, c);
        for (int i = 0; i < n; i++) {
            real *z = row_of(p, t, i, wide, k->gates);
            cell_back(c, f->peephole, before_of(p, k, c, t, i), row_of(p, t, i, c, k->tanh_c),
                      p->dm + (size_t)i * (size_t)c, z, z + c, z + 2 * c, z + 3 * c,
                      p->dc + (size_t)i * (size_t)c, row_of(p, t, i, c, p->m));
        }
    }
}

static void sum_rows(const struct nn_lstm *f, const struct packed *p, const struct kept *k,
                     const struct nn_lstm_grads *dw)
{
    const int c = f->cells, wide = LSTM_GATES * c;
    memset(dw->peephole, 0, (size_t)(LSTM_PEEPHOLES * c) * sizeof *dw->peephole);
    memset(dw->bias, 0, (size_t)wide * sizeof *dw->bias);
    for (int t = 0; t < f->steps; t++)
        for (int i = 0; i < p->active[t]; i++) {
            const real *z = row_of(p, t, i, wide, k->gates), *was = before_of(p, k, c, t, i);
            add_to(wide, z, dw->bias);
            for (int gate = 0; gate < 2; gate++)
                add_products(c, z + gate * c, was, dw->peephole + gate * c);
            add_products(c, z + 3 * c, row_of(p, t, i, c, k->c), dw->peephole + 2 * c);
        }
}

static void unscale(const struct cpu *cpu, const struct nn_lstm *f, const struct nn_lstm_grads *dw)
{
    const size_t c = (size_t)f->cells, wide = LSTM_GATES * c;
    cpu_unscale(cpu, wide * (size_t)f->in, dw->wx);
    cpu_unscale(cpu, wide * (size_t)f->out, dw->wr);
    cpu_unscale(cpu, (size_t)f->out * c, dw->wp);
    cpu_unscale(cpu, LSTM_PEEPHOLES * c, dw->peephole);
    cpu_unscale(cpu, wide, dw->bias);
}

void cpu_lstm_backward(void *ctx, const struct nn_lstm *f, int batch, const int32_t *lengths,
                       const real *x, const real *y, real *dy, real *dx,
                       const struct nn_lstm_grads *dw, real *kept, void *scratch)
{
    const struct packed p = packed_of(f, batch, lengths, scratch);
    const struct kept k = kept_of(f, batch, kept);
    const int c = f->cells, wide = LSTM_GATES * c, later = p.rows - p.active[0];
    pack(&p, f->steps, (size_t)f->in, x, p.x);
    pack(&p, f->steps, (size_t)f->out, dy, p.dr);
    back_through_time(ctx, f, batch, &p, &k);
    sum_rows(f, &p, &k, dw);
    cpu_gemm(ctx, true, false, wide, f->in, p.rows, k.gates, wide, p.x, f->in, 0, dw->wx, f->in);
    cpu_gemm(ctx, true, false, f->out, c, p.rows, p.dr, f->out, p.m, c, 0, dw->wp, c);
    /* Reuse p.dr for r, packed from y. Then fill p.r: for each row from step 1 on, the same
     * sample's r of the previous step (the input of its recurrent product). */
    pack(&p, f->steps, (size_t)f->out, y, p.dr);
    real *before = p.r;
    for (int t = 1; t < f->steps; t++) {
        const size_t n = (size_t)p.active[t] * (size_t)f->out;
        memcpy(before, row_of(&p, t - 1, 0, f->out, p.dr), n * sizeof *before);
        before += n;
    }
    memset(dw->wr, 0, (size_t)wide * (size_t)f->out * sizeof *dw->wr);
    if (later)
        cpu_gemm(ctx, true, false, wide, f->out, later,
                 k.gates + (size_t)p.active[0] * (size_t)wide, wide, p.r, f->out, 0, dw->wr,
                 f->out);
    unscale(ctx, f, dw);
    if (!dx)
        return;
    cpu_gemm(ctx, false, false, p.rows, f->in, wide, k.gates, wide, f->wx, f->in, 0, p.x, f->in);
    unpack(&p, f->steps, (size_t)f->in, batch, p.x, dx);
}
