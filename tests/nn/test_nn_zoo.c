/* test_nn_zoo.c : networks by name have the published numbers of weights. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "capture.h"
#include "check.h"
#include "nn/model_graph.h"

static void check_weights(const char *name, int side, int n_classes, size_t want)
{
    struct nn_model m;
    CHECK(graph_init(&m, &nn_cpu, (struct nn_shape){side, side, 3}, 1) == 0, "no memory");
    CHECK(graph_by_name(&m, name, n_classes) == 0, "%s is not built", name);
    CHECK(m.n_weights == want, "%s at %d pixels, %d classes: %zu weights, not %zu", name, side,
          n_classes, m.n_weights, want);
    graph_fini(&m);
}

static void check_sizes(const char *name, int side, int n_params, int n_nodes)
{
    struct nn_model m;
    CHECK(graph_init(&m, &nn_cpu, (struct nn_shape){side, side, 3}, 1) == 0, "no memory");
    CHECK(graph_by_name(&m, name, 1000) == 0, "%s is not built", name);
    CHECK(m.n_params == n_params && m.n_nodes == n_nodes, "%s: %d tensors, %d nodes", name,
          m.n_params, m.n_nodes);
    graph_fini(&m);
}

static void check_width(const char *name, double width)
{
    const struct nn_shape in = {64, 64, 3};
    struct nn_model full, m;
    CHECK(graph_init(&full, &nn_cpu, in, 1) == 0 && graph_init(&m, &nn_cpu, in, 1) == 0, "memory");
    m.width = width;
    CHECK(graph_by_name(&full, name, 10) == 0 && graph_by_name(&m, name, 10) == 0, "%s", name);
    CHECK(m.n_nodes == full.n_nodes && m.n_params == full.n_params, "%s: %d nodes, %d params", name,
          m.n_nodes, m.n_params);
    const bool even = !strcmp(name, "caffenet") || !strcmp(name, "vgg19");
    int n_checked = 0;
    for (int i = 1; i < m.n_nodes; i++) {
        const struct layer_kind *kind = full.nodes[i].kind;
        const int c = full.nodes[i].window.out.c, got = m.nodes[i].window.out.c;
        int want = (int)floor(c * width + 0.5);
        want = want < 1 ? 1 : want;
        want += even && kind == &layer_conv && want % 2;
        if (kind != &layer_conv && kind != &layer_linear)
            continue;
        CHECK(got == (c == 10 ? 10 : want), "%s at %g: %d of %d, not %d", name, width, got, c,
              want);
        n_checked++;
    }
    CHECK(n_checked > 2, "%s: %d layers", name, n_checked);
    graph_fini(&full);
    graph_fini(&m);
}

static void check_dilations(const char *name, const int *want, int n)
{
    struct nn_model m;
    int at = 0;
    CHECK(graph_init(&m, &nn_cpu, (struct nn_shape){64, 64, 3}, 1) == 0, "no memory");
    CHECK(graph_by_name(&m, name, 10) == 0, "%s is not built", name);
    for (int i = 1; i < m.n_nodes; i++) {
        const struct nn_window *g = &m.nodes[i].window;
        if (g->dilation < 2)
            continue;
        CHECK(at < n && g->dilation == want[at] && g->k == 3 && g->pad == want[at] && g->out.h == 8,
              "%s: %d of dilation %d, pad %d, %d lines", name, at, g->dilation, g->pad, g->out.h);
        at++;
    }
    CHECK(at == n, "%s: %d, not %d", name, at, n);
    graph_fini(&m);
}

static void check_heads(const char *name, const struct loss_kind *loss, const double *weights,
                        int n)
{
    struct nn_model m;
    CHECK(graph_init(&m, &nn_cpu, (struct nn_shape){64, 64, 3}, 1) == 0, "no memory");
    CHECK(graph_by_name(&m, name, 10) == 0, "%s is not built", name);
    CHECK(m.n_heads == n, "%s: %d heads", name, m.n_heads);
    for (int h = 0; h < m.n_heads && h < n; h++) {
        const struct graph_head *head = &m.heads[h];
        CHECK(head->loss == loss && head->weight == weights[h], "%s: head %d", name, h);
        CHECK(m.nodes[head->node].window.out.c == 10, "%s: classes of head %d", name, h);
    }
    graph_fini(&m);
}

static void check_sequence(const char *name, double width, int n_classes, size_t want)
{
    struct nn_model m;
    CHECK(graph_init(&m, &nn_cpu, (struct nn_shape){50, 1, 363}, 1) == 0, "no memory");
    m.width = width;
    CHECK(graph_by_name(&m, name, n_classes) == 0, "%s is not built", name);
    CHECK(m.n_weights == want, "%s of width %g: %zu weights, not %zu", name, width, m.n_weights,
          want);
    graph_fini(&m);
}

static void check_sides(const char *name, int side, const int *want, int n)
{
    struct nn_model m;
    int at = 0;
    CHECK(graph_init(&m, &nn_cpu, (struct nn_shape){side, side, 3}, 1) == 0, "no memory");
    CHECK(graph_by_name(&m, name, 10) == 0, "%s is not built", name);
    for (int i = 1; i < m.n_nodes; i++) {
        const struct node *node = &m.nodes[i];
        if (node->kind != &layer_conv && node->kind != &layer_pool_max)
            continue;
        CHECK(at < n && node->window.out.h == want[at] && node->window.out.w == want[at],
              "%s at %d pixels: side %d is %dx%d", name, side, at, node->window.out.h,
              node->window.out.w);
        at++;
    }
    CHECK(at == n, "%s: %d convolutions and poolings, not %d", name, at, n);
    graph_fini(&m);
}

static void check_order(const char *name, const char *want)
{
    static const struct {
        const struct layer_kind *kind;
        char letter;
    } letters[] = {{&layer_conv, 'c'}, {&layer_relu, 'r'},    {&layer_pool_max, 'p'},
                   {&layer_lrn, 'n'},  {&layer_dropout, 'd'}, {&layer_linear, 'l'}};
    struct nn_model m;
    char order[80] = "";
    CHECK(graph_init(&m, &nn_cpu, (struct nn_shape){64, 64, 3}, 1) == 0, "no memory");
    CHECK(graph_by_name(&m, name, 10) == 0, "%s is not built", name);
    for (int i = 1; i < m.n_nodes && i < 79; i++) {
        const struct node *node = &m.nodes[i];
        for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
            if (node->kind == letters[k].kind)
                order[i - 1] = letters[k].letter;
        CHECK(node->kind != &layer_dropout || node->p == 0.5, "%s: dropout of %g", name, node->p);
        CHECK(node->kind != &layer_lrn || node->p == 1e-4, "%s: alpha %g", name, node->p);
    }
    CHECK(!strcmp(order, want), "%s is %s, not %s", name, order, want);
    graph_fini(&m);
}

static void check_smallest(const char *name, int side)
{
    struct capture said;
    char want[40];
    struct nn_model *m;
    snprintf(want, sizeof want, "need at least %d pixels a side", side);
    for (int below = 0; below < 2; below++) {
        struct nn_model built;
        const struct nn_shape in = {side - below, side - below, 3};
        CHECK(graph_init(&built, &nn_cpu, in, 1) == 0, "no memory");
        capture_begin(&said);
        const int rc = graph_by_name(&built, name, 10);
        capture_end(&said);
        CHECK(rc == (below ? -EINVAL : 0), "%s at %d pixels: %d", name, in.h, rc);
        CHECK(capture_lines(said.text) == below && (!below || strstr(said.text, want)), "%s",
              said.text);
        graph_fini(&built);
    }
    const struct nn_shape wide = {side - 1, 100, 3};
    capture_begin(&said);
    const int rc = nn_model_open(&nn_cpu, NULL, name, wide, 10, 1, 1, &m);
    capture_end(&said);
    CHECK(rc == -EINVAL && strstr(said.text, want), "%s, one side too small: %d, %s", name, rc,
          said.text);
}

int main(void)
{
    check_weights("caffenet", 227, 1000, 60965224);
    check_weights("alexnet", 227, 1000, 62378344);
    check_weights("vgg19", 224, 1000, 143667240);
    check_sequence("lstm", 1, 132, 13634692); /* in the QSGD paper */
    check_sequence("lstm", 0.25, 28, 1134364);
    /* GPT-2 has 12 c^2 + 13 c weights in a block; c is 128, or 36 instead of 32.6 */
    check_sequence("chargpt", 1, 65, 2 * 198272 + 364 * 128 + 256 + 129 * 65);
    check_sequence("chargpt", 0.255, 65, 2 * 16020 + 364 * 36 + 72 + 37 * 65);
    check_weights("mlp", 28, 10, 318986);
    check_weights("lenet5", 28, 10, 62006);
    check_weights("resnet8", 32, 10, 75290); /* He et al., Table 6; batch norms have 2 a channel */
    check_weights("resnet20", 32, 10, 269722);
    check_weights("resnet32", 32, 10, 464154);
    check_weights("resnet44", 32, 10, 658586);
    check_weights("resnet56", 32, 10, 853018);
    check_weights("resnet110", 32, 10, 1727962);
    check_weights("resnet18", 32, 10, 11173962);
    check_weights("resnet18", 224, 1000, 11689512);
    check_weights("resnet50", 32, 10, 23520842);
    check_weights("resnet50", 224, 1000, 25557032);
    check_weights("resnet152", 224, 1000, 60192808);
    check_weights("googlenet", 224, 1000, 13378280);
    check_weights("bn-inception", 224, 1000, 11295240);
    check_weights("fcn", 512, 19, 49497734);
    check_weights("davidnet", 32, 10, 6573120);
    check_sizes("googlenet", 224, 128, 156);
    check_sizes("resnet152", 224, 467, 314);
    for (int i = 0; i < 4; i++) {
        static const double widths[] = {0.5, 0.25, 0.03, 1.5};
        check_width("resnet8", widths[i]);
        check_width("resnet18", widths[i]);
        check_width("davidnet", widths[i]);
        check_width("lenet5", widths[i]);
        check_width("mlp", widths[i]);
        check_width("caffenet", widths[i]);
        check_width("vgg19", widths[i]);
        check_width("googlenet", widths[i]);
        check_width("bn-inception", widths[i]);
    }
    check_weights("caffenet", 64, 10, 20209034);
    check_weights("alexnet", 64, 10, 21622154);
    check_weights("vgg19", 32, 10, 38947914);
    check_weights("vgg19", 64, 10, 45239370);
    check_sides("caffenet", 227, (const int[]){55, 27, 27, 13, 13, 13, 13, 6}, 8);
    check_sides("alexnet", 64, (const int[]){14, 7, 7, 3, 3, 3, 3, 1}, 8);
    check_dilations("fcn", (const int[]){2, 2, 2, 2, 2, 2, 4, 4}, 8);
    check_heads("fcn", &loss_dense, (const double[]){1, 0.4}, 2);
    check_heads("googlenet", &loss_class, (const double[]){1, 0.3, 0.3}, 3);
    check_heads("bn-inception", &loss_class, (const double[]){1}, 1);
    check_order("caffenet", "crpncrpncrcrcrplrdlrdl");
    check_order("alexnet", "crnpcrnpcrcrcrplrdlrdl");
    check_order("vgg19", "crcrpcrcrpcrcrcrcrpcrcrcrcrpcrcrcrcrplrdlrdl");
    check_smallest("caffenet", 39);
    check_smallest("alexnet", 39);
    check_smallest("vgg19", 32);
    DONE();
}
