/* test_nn_ctc.c : compares connectionist temporal classification with its definition, all paths
 * of up to 6 steps. */
#include "nn_double.h"

enum { STEPS = 6, LABELS = 4 };

struct sums {
    double all;
    double by[STEPS][LABELS]; /* probability of its paths with a class at a step */
    double p[STEPS][LABELS];
};

static void probabilities(struct sums *s, int steps, int classes, const double *z)
{
    for (int t = 0; t < steps; t++) {
        double sum = 0;
        for (int k = 0; k < classes; k++)
            sum += exp(z[t * classes + k]);
        for (int k = 0; k < classes; k++)
            s->p[t][k] = exp(z[t * classes + k]) / sum;
    }
}

static bool says(const int *path, int steps, const int32_t *labels, int n)
{
    int at = 0;
    for (int t = 0; t < steps; t++) {
        if (path[t] == 0 || (t && path[t] == path[t - 1]))
            continue;
        if (at == n || labels[at] != path[t])
            return false;
        at++;
    }
    return at == n;
}

static void all_paths(struct sums *s, int steps, int classes, const int32_t *labels, int n)
{
    int path[STEPS] = {0}, t = 0;
    do {
        double p = 1;
        for (t = 0; t < steps; t++)
            p *= s->p[t][path[t]];
        if (says(path, steps, labels, n)) {
            s->all += p;
            for (t = 0; t < steps; t++)
                s->by[t][path[t]] += p;
        }
        for (t = 0; t < steps && ++path[t] == classes; t++)
            path[t] = 0;
    } while (t < steps);
}

/* Labels after the n-th are negative. far: logits up to 40 apart. */
static void check_sample(void *ctx, int steps, int classes, const int32_t *labels, int n, bool far)
{
    double z[STEPS * LABELS], dz[STEPS * LABELS];
    int32_t row[STEPS], length = steps;
    size_t bytes;
    struct nn_result r;
    for (int i = 0; i < steps * classes; i++)
        z[i] = uniform((uint64_t)(7 + steps), (uint64_t)i) * (far ? 20 : 2);
    for (int i = 0; i < STEPS; i++)
        row[i] = i < n ? labels[i] : NN_IGNORED;
    nn_cpu.ctc_plan(ctx, 1, steps, classes, STEPS, &bytes);
    void *scratch = buf_alloc(bytes);
    nn_cpu.ctc_loss(ctx, 1, steps, classes, STEPS, z, &length, row, dz, &r, scratch);
    struct sums s = {.all = 0};
    probabilities(&s, steps, classes, z);
    all_paths(&s, steps, classes, labels, n);
    const double loss = s.all > 0 ? -log(s.all) : 0;
    CHECK(fabs(r.loss_sum - loss) <= 1e-11 * (1 + loss),
          "%d steps, %d labels: loss %.15g, not %.15g", steps, n, r.loss_sum, loss);
    for (int t = 0; t < steps; t++)
        for (int k = 0; k < classes; k++) {
            const double want = s.all > 0 ? s.p[t][k] - s.by[t][k] / s.all : 0;
            CHECK(fabs(dz[t * classes + k] - want) <= 1e-11,
                  "%d steps, %d labels, step %d class %d: %.15g, not %.15g", steps, n, t, k,
                  dz[t * classes + k], want);
        }
    CHECK(r.n_labels == n, "%d labels, counted %d", n, r.n_labels);
    const double one = r.loss_sum;
    nn_cpu.ctc_loss(ctx, 1, steps, classes, STEPS, z, &length, row, NULL, &r, scratch);
    CHECK(!memcmp(&one, &r.loss_sum, sizeof one), "without a gradient the loss is another");
    free(scratch);
}

static void check_all(void *ctx)
{
    for (int classes = 2; classes <= LABELS; classes++)
        for (int steps = 1; steps <= STEPS; steps++)
            for (int n = 0; n <= (classes == LABELS ? 3 : steps); n++) {
                int32_t labels[STEPS] = {0};
                for (int i = 0; i < n; i++)
                    labels[i] = 1;
                for (int i = 0; i < n || n == 0;) {
                    check_sample(ctx, steps, classes, labels, n, (steps + n) % 3 == 0);
                    if (n == 0)
                        break;
                    for (i = 0; i < n && ++labels[i] == classes; i++)
                        labels[i] = 1;
                }
            }
}

static void check_batch(void *ctx)
{
    enum { N = 5, CLASSES = 4, T = 9 };
    static const int32_t lengths[N] = {9, 2, 5, 1, 7},
                         labels[N][3] = {
                             {1, 2, 2}, {3, 3, -1}, {2, -1, -1}, {-1, -1, -1}, {3, 1, 3}};
    double z[N][T][CLASSES], dz[N][T][CLASSES], one[T][CLASSES], sum = 0;
    struct nn_result all, r;
    size_t bytes;
    for (int i = 0; i < N * T * CLASSES; i++)
        (&z[0][0][0])[i] =
            i / CLASSES % T < lengths[i / CLASSES / T] ? uniform(3, (uint64_t)i) : NAN;
    nn_cpu.ctc_plan(ctx, N, T, CLASSES, 3, &bytes);
    void *scratch = buf_alloc(bytes);
    nn_cpu.ctc_loss(ctx, N, T, CLASSES, 3, &z[0][0][0], lengths, &labels[0][0], &dz[0][0][0], &all,
                    scratch);
    int n_edits = 0, n_labels = 0;
    for (int i = 0; i < N; i++) {
        nn_cpu.ctc_loss(ctx, 1, T, CLASSES, 3, &z[i][0][0], lengths + i, labels[i], &one[0][0], &r,
                        scratch);
        sum += r.loss_sum, n_edits += r.n_edits, n_labels += r.n_labels;
        CHECK(r.loss_sum > 0 || i == 1, "sample %d: loss %g", i, r.loss_sum);
        for (int t = 0; t < T; t++)
            for (int k = 0; k < CLASSES; k++)
                CHECK(fabs(dz[i][t][k] - one[t][k] / N) <= 1e-15 &&
                          (t < lengths[i] || dz[i][t][k] == 0),
                      "sample %d step %d: %g, alone %g", i, t, dz[i][t][k], one[t][k]);
    }
    CHECK(fabs(sum - all.loss_sum) <= 1e-12 && n_edits == all.n_edits && n_labels == 9 &&
              all.n_labels == 9,
          "a batch: loss %g, of its samples %g; %d edits, %d", all.loss_sum, sum, all.n_edits,
          n_edits);
    free(scratch);
}

/* path: a letter per step, '-' for blank, with n_edits from `want`. */
static void check_edits(void *ctx, const char *path, const char *want, int n_edits)
{
    enum { T = 12, CLASSES = 5 };
    double z[T][CLASSES] = {{0}};
    int32_t labels[T], length = (int32_t)strlen(path);
    size_t bytes;
    struct nn_result r;
    for (int t = 0; t < length; t++)
        z[t][path[t] == '-' ? 0 : path[t] - 'a' + 1] = 3;
    for (int i = 0; i < T; i++)
        labels[i] = i < (int)strlen(want) ? want[i] - 'a' + 1 : NN_IGNORED;
    nn_cpu.ctc_plan(ctx, 1, T, CLASSES, T, &bytes);
    void *scratch = buf_alloc(bytes);
    nn_cpu.ctc_loss(ctx, 1, T, CLASSES, T, &z[0][0], &length, labels, NULL, &r, scratch);
    const int n = (int)strlen(want);
    CHECK(r.n_edits == n_edits && r.n_labels == n && r.n_correct == (n_edits ? 0 : n) &&
              r.n_top == 0,
          "path %s, wanted %s: %d edits, not %d; %d of %d", path, want, r.n_edits, n_edits,
          r.n_correct, r.n_labels);
    free(scratch);
}

int main(void)
{
    void *ctx;
    if (nn_cpu.open(NULL, &ctx) < 0)
        exit(1);
    check_all(ctx);
    check_batch(ctx);
    check_edits(ctx, "aa-bb-bcc", "abbc", 0);
    check_edits(ctx, "aabbbcc", "abbc", 1);
    check_edits(ctx, "---", "abc", 3);
    check_edits(ctx, "a-b-c-d", "", 4);
    check_edits(ctx, "dabc", "abcd", 2);
    check_edits(ctx, "a-c-a", "aba", 1);
    check_edits(ctx, "-----------", "", 0);
    nn_cpu.close(ctx);
    DONE();
}
