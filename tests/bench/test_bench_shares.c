/* test_bench_shares.c : compares the losses that bench_shares counts with relgrad_slow.h. */
#include "dump_fixture.h"
#include "relgrad_slow.h"

enum { RANKS = 4, NODE = 2, STEPS = 2, FIRST = 7, N_LAYERS = 3, N_MAX = 1000 };
static const size_t layer_n[N_LAYERS] = {N_MAX, 17, 600}; /* read whole to find quantiles */
static const char *const names[N_LAYERS] = {"conv.weight", "conv.bias", "last.weight"};

static float gradient(int step, int rank, int layer, size_t i)
{
    const uint32_t stream = (uint32_t)(100 * step + 10 * rank + layer);
    const double x = ldexp(exp(6 * dump_normal(stream, i)), -12 * layer);
    return (float)(i % 13 == 5 ? 0 : dump_normal(stream + 50, i) * x);
}

static float weight(int step, int layer, size_t i)
{
    return (float)(0.1 * dump_normal((uint32_t)(900 + 10 * step + layer), i));
}

/* Rank RANKS is the weights. */
static void write_dump(void)
{
    dump_text("meta.txt", "ranks 4 steps 2 first 7\n");
    dump_text("layers.txt", "conv.weight 0 1000\nconv.bias 1000 17\nlast.weight 1017 600\n");
    for (int s = FIRST; s < FIRST + STEPS; s++)
        for (int r = 0; r <= RANKS; r++) {
            char name[64];
            snprintf(name, sizeof name, r < RANKS ? "step%06d.rank%d.f32" : "step%06d.weights.f32",
                     s, r);
            FILE *f = dump_create(name);
            for (int l = 0; l < N_LAYERS; l++)
                for (size_t i = 0; i < layer_n[l]; i++) {
                    const float x = r < RANKS ? gradient(s, r, l, i) : weight(s, l, i);
                    fwrite(&x, sizeof x, 1, f);
                }
            fclose(f);
        }
}

static float quantile(int step, int layer, float eps)
{
    float most = 0;
    for (int r = 0; r < RANKS; r++) {
        float d[N_MAX];
        for (size_t i = 0; i < layer_n[layer]; i++)
            d[i] = fabsf(gradient(step, r, layer, i) /
                         (eps > 0 ? fabsf(weight(step, layer, i)) + eps : 1));
        most = fmaxf(most, slow_quantile(d, layer_n[layer], 95));
    }
    return most;
}

struct counts {
    double n, n_not_0, underflow, saturate, sums, sums_not_0, lost, top;
};

static void count(const struct slow_step *slow, int step, int layer, size_t i, struct counts *c)
{
    float grads[SLOW_RANKS];
    double mean = 0;
    for (int r = 0; r < RANKS; r++) {
        grads[r] = gradient(step, r, layer, i);
        mean += (double)grads[r];
    }
    const struct slow_element e = slow_element(slow, grads, weight(step, layer, i));
    for (int r = 0; r < RANKS; r++) {
        c->n_not_0 += grads[r] != 0;
        c->underflow += grads[r] != 0 && slow_value(e.sent[r]) == 0;
        c->saturate += fabsf(slow_value(e.sent[r])) == 57344;
    }
    c->n += RANKS;
    c->sums += 1;
    c->sums_not_0 += mean != 0;
    c->lost += mean != 0 && slow_value(e.sum) == 0;
    c->top += fabsf(slow_value(e.sum)) == 57344;
}

static void same(const char *head, const char *key, double part, double all)
{
    const double got = dump_value(head, key), want = 100 * part / all;
    CHECK(fabs(got - want) < 1e-6 * want + 1e-9, "%s: %s is %g %%, want %g", head, key, got, want);
}

static double check_row(const char *word, float eps, int node)
{
    double least = INFINITY, most = 0;
    struct counts all = {0};
    char head[200];
    for (int l = 0; l < N_LAYERS; l++) {
        struct counts c = {0};
        for (int s = FIRST; s < FIRST + STEPS; s++) {
            const struct slow_step slow = {
                .n_ranks = RANKS, .node = node, .q = quantile(s, l, eps), .eps = eps};
            for (size_t i = 0; i < layer_n[l]; i++)
                count(&slow, s, l, i, &c);
        }
        const double q = (double)quantile(FIRST, l, eps);
        least = fmin(least, q), most = fmax(most, q);
        snprintf(head, sizeof head, "\"codec\":\"%s\",\"node\":%d,\"layer\":\"%s\"", word, node,
                 names[l]);
        CHECK(fabs(dump_value(head, "q") / q - 1) < 1e-6, "%s: q, want %g", head, q);
        same(head, "underflow", c.underflow, c.n_not_0);
        same(head, "saturate", c.saturate, c.n);
        same(head, "lost", c.lost, c.sums_not_0);
        same(head, "top", c.top, c.sums);
        all.underflow += c.underflow, all.n_not_0 += c.n_not_0, all.saturate += c.saturate,
            all.n += c.n;
    }
    snprintf(head, sizeof head, "\"codec\":\"%s\",\"node\":%d,\"layer\":null", word, node);
    same(head, "underflow", all.underflow, all.n_not_0);
    same(head, "saturate", all.saturate, all.n);
    CHECK(fabs(dump_value(head, "apart") / (most / least) - 1) < 1e-6, "%s: apart", head);
    return fmin(all.underflow, all.saturate);
}

int main(void)
{
    if (!dump_begin("bench_shares"))
        SKIP("bench_shares is not built");
    write_dump();
    CHECK(dump_run("--json --group 2") == 0, "%s", dump_out);
    CHECK(check_row("relgrad:eps=1e-3", 1e-3f, NODE) > 10, "nothing to count");
    CHECK(check_row("relgrad:eps=1e-4", 1e-4f, NODE) > 10, "nothing to count");
    CHECK(check_row("relgrad:eps=1e-5", 1e-5f, NODE) > 10, "nothing to count");
    CHECK(check_row("relgrad:of=gradient", 0, NODE) > 10, "nothing to count");
    CHECK(check_row("relgrad:eps=1e-5", 1e-5f, RANKS) > 10, "nothing to count");
    CHECK(dump_run("--group 2") == 0 && strstr(dump_out, "\n| largest / smallest | 1617 |"), "%s",
          dump_out);
    dump_refusal("--group 3", "cannot make nodes of --group 3 of the 4 ranks of ");
    char path[300];
    snprintf(path, sizeof path, "%s/step%06d.weights.f32", dump_dir, FIRST);
    CHECK(remove(path) == 0, "remove");
    dump_refusal("", "weights.f32");
    dump_end();
    DONE();
}
