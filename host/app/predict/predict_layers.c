/* predict_layers.c : the layers whose gradients are reduced: of a file, of a network, or one. */
#include "app/predict/predict.h"
#include "base/buf.h"
#include "base/err.h"
#include "nn/model.h"
#include <stdlib.h>
#include <string.h>

/* "N", "NAME N" or "NAME OFFSET N ...". Returns 0 or -EINVAL with a line. */
static int read_layer(const char *path, int line_no, char *line, size_t *n)
{
    const char *last = NULL;
    char *end = NULL, *save, *word = strtok_r(line, " \t\r\n", &save);
    for (int i = 0; word && i < 3; word = strtok_r(NULL, " \t\r\n", &save), i++)
        last = word;
    errno = 0;
    const unsigned long long x =
        last && *last >= '0' && *last <= '9' ? strtoull(last, &end, 10) : 0;
    if (x < 1 || x > (uint64_t)1 << 40 || errno || *end)
        return ERR(-EINVAL, "cannot read '%s', line %d: want a layer's name and number of elements",
                   path, line_no);
    *n = (size_t)x;
    return 0;
}

int predict_layers_file(const char *path, struct reducer_layer **layers, int *n)
{
    enum { MOST = 1 << 16 };
    char line[512];
    int rc = 0, n_lines = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        return ERR(-errno, "cannot open '%s': %s", path, strerror(errno));
    struct reducer_layer *list = buf_alloc(MOST * sizeof *list);
    rc = list ? 0 : -ENOMEM;
    errno = 0;
    while (rc == 0 && fgets(line, sizeof line, f)) {
        if (n_lines == MOST)
            rc = ERR(-EINVAL, "cannot use '%s': it has more than %d layers", path, MOST);
        else
            rc = read_layer(path, n_lines + 1, line, &list[n_lines].n);
        if (rc == 0)
            list[n_lines++].name = "";
    }
    if (rc == 0 && ferror(f))
        rc =
            ERR(errno ? -errno : -EIO, "cannot read '%s': %s", path, strerror(errno ? errno : EIO));
    fclose(f);
    if (rc == 0 && n_lines == 0)
        rc = ERR(-EINVAL, "cannot use '%s': no layer is in it", path);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *layers = list;
    *n = n_lines;
    return 0;
}

int predict_layers_network(const struct predict_options *o, struct reducer_layer **layers, int *n)
{
    const struct nn_shape in = {(int)o->image, (int)o->image, 3};
    struct nn_param *params;
    int n_params;
    TRY(nn_model_list(o->network, o->width, in, (int)o->classes, &params, &n_params));
    struct reducer_layer *list = buf_alloc((size_t)n_params * sizeof *list);
    for (int i = 0; i < n_params && list; i++)
        list[i] = (struct reducer_layer){
            .name = "", .n = params[i].n, .column = params[i].column, .stride = params[i].stride};
    free(params);
    *layers = list;
    *n = n_params;
    return list ? 0 : -ENOMEM;
}

int predict_layers_size(uint64_t bytes, struct reducer_layer **layers, int *n)
{
    struct reducer_layer *list = buf_alloc(sizeof *list);
    if (!list)
        return -ENOMEM;
    list[0] = (struct reducer_layer){.name = "", .n = (size_t)bytes / 4};
    *layers = list;
    *n = 1;
    return 0;
}
