/* ctc.cu : computes the loss of connectionist temporal classification (host/nn/layers/loss_ctc.c).
 * A block computes a sample; a further block adds the losses. Numbers are doubles, as on the CPU,
 * and the order of sums does not depend on threads. */
#include "device/nn/act.cuh"
#include "device/nn/nn.cuh"

enum { CTC_THREADS = 128 };

struct ctc_sizes {
    int batch, steps, classes, targets, states;
};

struct ctc_sample {
    double loss;
    int n_labels, n_edits;
};

/* The tables of one sample, in scratch; results follow those of all samples. */
struct ctc_tables {
    double *a; /* [steps][states] */
    /* [states] of a step; of the next step, with its log-probabilities added */
    double *b, *between;
    double *log_sum; /* [steps] of exp(z) */
    int32_t *best;   /* [steps] likeliest classes, later the transcript */
    int32_t *row;    /* [targets + 1] of the edit distances */
};

static __host__ __device__ inline size_t doubles_of(const struct ctc_sizes &n)
{
    return ((size_t)n.steps + 2) * (size_t)n.states + (size_t)n.steps;
}

static __host__ __device__ inline size_t ints_of(const struct ctc_sizes &n)
{
    return (size_t)n.steps + (size_t)n.targets + 1;
}

static __host__ __device__ inline size_t sample_bytes(const struct ctc_sizes &n)
{
    return doubles_of(n) * sizeof(double) + (ints_of(n) + 1) / 2 * 2 * sizeof(int32_t);
}

static __device__ inline struct ctc_tables tables_of(const struct ctc_sizes &n, char *scratch,
                                                     int b)
{
    struct ctc_tables t;
    t.a = (double *)(scratch + (size_t)b * sample_bytes(n));
    t.b = t.a + (size_t)n.steps * (size_t)n.states;
    t.between = t.b + n.states;
    t.log_sum = t.between + n.states;
    t.best = (int32_t *)(t.log_sum + n.steps);
    t.row = t.best + n.steps;
    return t;
}

static __device__ inline double log_sum3(double x, double y, double z)
{
    const double top = fmax(x, fmax(y, z));
    return isinf(top) && top < 0 ? x + y + z /* keeps nan */
                                 : top + log(exp(x - top) + exp(y - top) + exp(z - top));
}

static __device__ inline int class_of(const int32_t *labels, int state)
{
    return state & 1 ? labels[state / 2] : 0;
}

static __device__ inline bool leaps(const int32_t *labels, int state)
{
    return state & 1 && state > 1 && labels[state / 2] != labels[state / 2 - 1];
}

template <class T>
static __device__ inline void look(const T *z, int length, int classes, const struct ctc_tables &t)
{
    for (int i = (int)threadIdx.x; i < length; i += CTC_THREADS) {
        const T *row = z + (size_t)i * (size_t)classes;
        double top = (double)act_float(row[0]), sum = 0;
        int best = 0;
        for (int k = 1; k < classes; k++) {
            const double v = (double)act_float(row[k]);
            best = v > (double)act_float(row[best]) ? k : best;
            top = v > top ? v : top;
        }
        for (int k = 0; k < classes; k++)
            sum += exp((double)act_float(row[k]) - top);
        t.log_sum[i] = top + log(sum);
        t.best[i] = best;
    }
}

/* Removes repeats and blanks from `best`; returns its Levenshtein distance to the labels. One
 * thread calls it. */
static __device__ inline int edits(int length, const int32_t *labels, int n_labels,
                                   const struct ctc_tables &t)
{
    int n = 0, before = 0;
    for (int i = 0; i < length; i++) {
        const int best = t.best[i];
        if (best && best != before)
            t.best[n++] = best;
        before = best;
    }
    for (int j = 0; j <= n_labels; j++)
        t.row[j] = j;
    for (int i = 0; i < n; i++) {
        int diagonal = t.row[0];
        t.row[0] = i + 1;
        for (int j = 0; j < n_labels; j++) {
            const int changed = diagonal + (t.best[i] != labels[j]), above = t.row[j + 1] + 1,
                      beside = t.row[j] + 1;
            diagonal = t.row[j + 1];
            t.row[j + 1] = min(changed, min(above, beside));
        }
    }
    return t.row[n_labels];
}

/* Returns the transcript's log-probability. The whole block calls it. */
template <class T>
static __device__ inline double forward(const T *z, int length, int classes, const int32_t *labels,
                                        int n, const struct ctc_tables &t)
{
    const double none = -INFINITY;
    for (int i = 0; i < length; i++) {
        double *a = t.a + (size_t)i * (size_t)n;
        const double *before = a - n;
        for (int s = (int)threadIdx.x; s < n; s += CTC_THREADS) {
            const double p =
                (double)act_float(z[(size_t)i * (size_t)classes + class_of(labels, s)]) -
                t.log_sum[i];
            a[s] = i == 0 ? (s < 2 ? p : none)
                          : p + log_sum3(before[s], s > 0 ? before[s - 1] : none,
                                         leaps(labels, s) ? before[s - 2] : none);
        }
        __syncthreads();
    }
    const double *last = t.a + (size_t)(length - 1) * (size_t)n;
    return log_sum3(last[n - 1], n > 1 ? last[n - 2] : none, none);
}

/* k: factor of the gradient. The whole block calls it. */
template <class T>
static __device__ inline void backward(const T *z, int length, int classes, const int32_t *labels,
                                       int n, double log_all, double k, const struct ctc_tables &t,
                                       T *dz)
{
    const double none = -INFINITY;
    for (int i = length - 1; i >= 0; i--) {
        const double *a = t.a + (size_t)i * (size_t)n;
        const T *row = z + (size_t)i * (size_t)classes;
        for (int s = (int)threadIdx.x; s < n; s += CTC_THREADS)
            t.b[s] = i == length - 1
                         ? (s >= n - 2 ? 0 : none)
                         : log_sum3(t.between[s], s + 1 < n ? t.between[s + 1] : none,
                                    s + 2 < n && leaps(labels, s + 2) ? t.between[s + 2] : none);
        __syncthreads();
        for (int c = (int)threadIdx.x; c < classes; c += CTC_THREADS) {
            double share = 0;
            for (int s = c ? 1 : 0; s < n; s += 2)
                if (class_of(labels, s) == c)
                    share += exp(a[s] + t.b[s] - log_all);
            const double p = exp((double)act_float(row[c]) - t.log_sum[i]);
            dz[(size_t)i * (size_t)classes + (size_t)c] = act<T>::of((float)((p - share) * k));
        }
        for (int s = (int)threadIdx.x; s < n; s += CTC_THREADS)
            t.between[s] = t.b[s] + (double)act_float(row[class_of(labels, s)]) - t.log_sum[i];
        __syncthreads();
    }
}

template <class T>
static __global__ void __launch_bounds__(CTC_THREADS)
    k_ctc(struct ctc_sizes n, const T *logits, const int32_t *lengths, const int32_t *all_labels,
          T *dlogits, const float *scale, char *scratch, struct ctc_sample *samples)
{
    __shared__ int n_labels_, need_;
    const int b = (int)blockIdx.x, length = lengths[b];
    const size_t size = (size_t)n.steps * (size_t)n.classes, at = (size_t)b * size;
    const int32_t *labels = all_labels + (size_t)b * (size_t)n.targets;
    const struct ctc_tables t = tables_of(n, scratch, b);
    if (threadIdx.x == 0) {
        int count = 0, need = 0;
        for (; count < n.targets && labels[count] >= 0; count++)
            need += 1 + (count && labels[count] == labels[count - 1]);
        n_labels_ = count, need_ = need;
    }
    look(logits + at, length, n.classes, t);
    __syncthreads();
    const bool has_path = length > 0 && need_ <= length;
    const int states = 2 * n_labels_ + 1;
    double log_all = 0;
    if (has_path)
        log_all = forward(logits + at, length, n.classes, labels, states, t);
    const size_t live = has_path ? (size_t)length * (size_t)n.classes : 0;
    for (size_t i = live + threadIdx.x; dlogits && i < size; i += CTC_THREADS)
        dlogits[at + i] = act<T>::of(0);
    if (dlogits && has_path)
        backward(logits + at, length, n.classes, labels, states, log_all,
                 (scale ? (double)*scale : 1) / n.batch, t, dlogits + at);
    if (threadIdx.x == 0) {
        samples[b].loss = -log_all;
        samples[b].n_labels = n_labels_;
        samples[b].n_edits = edits(length, labels, n_labels_, t);
    }
}

static __global__ void k_ctc_sum(int batch, const struct ctc_sample *samples,
                                 struct nn_result *result)
{
    struct nn_result all = {};
    for (int b = 0; b < batch; b++) {
        all.loss_sum += samples[b].loss;
        all.n_labels += samples[b].n_labels;
        all.n_edits += samples[b].n_edits;
        all.n_correct += samples[b].n_edits ? 0 : samples[b].n_labels;
    }
    *result = all;
}

static struct ctc_sizes sizes_of(int batch, int steps, int classes, int targets)
{
    return {batch, steps, classes, targets, 2 * targets + 1};
}

int nn_ctc_plan(struct dev_nn *d, int max_batch, int steps, int classes, int targets,
                size_t *scratch_bytes)
{
    (void)d;
    *scratch_bytes =
        (size_t)max_batch *
        (sample_bytes(sizes_of(max_batch, steps, classes, targets)) + sizeof(struct ctc_sample));
    return 0;
}

template <class T>
static int loss_of(struct dev_nn *d, const struct ctc_sizes &n, const void *logits,
                   const int32_t *lengths, const int32_t *labels, void *dlogits,
                   struct nn_result *result, void *scratch)
{
    const cudaStream_t s = cu_stream(d->s);
    char *tables = (char *)scratch;
    struct ctc_sample *samples = (struct ctc_sample *)(tables + (size_t)n.batch * sample_bytes(n));
    k_ctc<T><<<(unsigned)n.batch, CTC_THREADS, 0, s>>>(n, (const T *)logits, lengths, labels,
                                                       (T *)dlogits, d->scale, tables, samples);
    k_ctc_sum<<<1, 1, 0, s>>>(n.batch, samples, result);
    return cu_check("temporal classification");
}

int nn_ctc_loss(struct dev_nn *d, int batch, int steps, int classes, int targets,
                const void *logits, const int32_t *lengths, const int32_t *labels, void *dlogits,
                struct nn_result *result, void *scratch)
{
    return NN_BY_TYPE(d, loss_of, d, sizes_of(batch, steps, classes, targets), logits, lengths,
                      labels, dlogits, result, scratch);
}
