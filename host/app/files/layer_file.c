/* layer_file.c : casts one layer from a file to codes and back. */
#include "app/files/layer_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include "codec/codec_whole.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool layer_file_is_minifloat(const char *codec)
{
    const char *rest;
    return word_has_name(codec, codec_minifloat.name, &rest);
}

bool layer_file_asks_max(const struct codec *codec)
{
    return codec_asks_max(codec, NULL) || codec_guess(codec) == CODEC_NO_GUESS;
}

struct bytes {
    uint8_t *at;
    size_t n;
};

static int read_on(struct file_in *in, size_t most, struct bytes *b)
{
    for (size_t room = 1 << 20, got; b->n <= most; room = b->n) {
        uint8_t *more = realloc(b->at, b->n + room);
        if (!more)
            return ERR(-ENOMEM, "cannot load '%s': no memory for %zu bytes", in->path, b->n + room);
        b->at = more;
        TRY(file_in_read(in, b->at + b->n, room, &got));
        b->n += got;
        if (got < room)
            break;
    }
    return 0;
}

static int read_file(const char *path, size_t most, struct bytes *b)
{
    struct file_in in = {.f = NULL};
    int rc = file_in_open(&in, path);
    if (!rc)
        rc = read_on(&in, most, b);
    file_in_close(&in);
    return rc;
}

static int start_file(struct file_out *out, const char *path, const void *from, size_t bytes)
{
    TRY(file_out_open(out, path));
    return file_out_write(out, from, bytes);
}

/* The disk may still fail between the two commits. */
static int write_files(const char *path, const struct bytes *b, const char *path2,
                       const struct bytes *b2)
{
    struct file_out out = {.f = NULL}, out2 = {.f = NULL};
    int rc = start_file(&out, path, b->at, b->n);
    if (!rc && path2)
        rc = start_file(&out2, path2, b2->at, b2->n);
    if (!rc && path2)
        rc = file_out_sync(&out2);
    if (!rc)
        rc = file_out_commit(&out);
    if (!rc && path2)
        rc = file_out_commit(&out2);
    file_out_discard(&out);
    file_out_discard(&out2);
    return rc;
}

static bool all_finite(const struct bytes *b)
{
    return vec_best()->absmax((const float *)(const void *)b->at, b->n / sizeof(float)) <
           0x7f800000;
}

static int read_weights(const struct codec *codec, const char *path, struct bytes *weights,
                        struct codec_layer *layer)
{
    if (!codec_asks_weights(codec))
        return path ? ERR(-EINVAL, "--weights '%s' has no effect: this codec uses no weights", path)
                    : 0;
    if (!path)
        return ERR(-EINVAL, "--codec %s needs --weights FILE, the weights of the layer",
                   codec->kind->name);
    const size_t bytes = layer->n * sizeof(float);
    TRY(read_file(path, bytes, weights));
    if (weights->n != bytes)
        return ERR(-EINVAL, "cannot use --weights '%s': it has %s bytes than the %zu of %zu values",
                   path, weights->n < bytes ? "fewer" : "more", bytes, layer->n);
    if (!all_finite(weights))
        return ERR(-EINVAL, "cannot use --weights '%s': it holds inf or nan", path);
    layer->weights = (const float *)(const void *)weights->at;
    return 0;
}

/* others: ends with NULL. */
static int check_state(const char *path, const char *const *others)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return ERR(-EINVAL, "cannot use --state '%s': need a file that can be read and replaced",
                   path);
    for (; *others; others++)
        if (file_same(path, *others))
            return ERR(-EINVAL, "--state '%s' names the same file as '%s': need a file of its own",
                       path, *others);
    return 0;
}

/* Refuses inf and nan: residuals and step counts never have such bits. */
static int read_state(const char *path, size_t bytes, struct bytes *was, uint8_t **next)
{
    if (!bytes)
        return ERR(-EINVAL, "--state '%s' has no effect: this codec keeps no state", path);
    if (access(path, F_OK) == 0) {
        TRY(read_file(path, bytes, was));
        if (was->n != bytes)
            return ERR(
                -EINVAL,
                "cannot use --state '%s': it has %s bytes than the %zu of this codec's state", path,
                was->n < bytes ? "fewer" : "more", bytes);
        if (!all_finite(was))
            return ERR(-EINVAL, "cannot use --state '%s': it holds inf or nan", path);
    } else if (!(was->at = buf_alloc(bytes))) {
        return -ENOMEM;
    }
    *next = buf_alloc(bytes);
    if (!*next)
        return -ENOMEM;
    memcpy(*next, was->at, bytes);
    return 0;
}

/* The caller frees b->at, also after a failure. */
static int read_values(const char *path, struct bytes *b)
{
    TRY(read_file(path, SIZE_MAX, b));
    if (!b->n)
        return ERR(-EINVAL, "cannot encode '%s': it is empty", path);
    if (b->n % sizeof(float))
        return ERR(-EINVAL, "cannot encode '%s': %zu bytes are not a whole number of fp32 values",
                   path, b->n);
    return 0;
}

/* The caller frees the codes, also after a failure. */
static int cast_bytes(const struct bytes *in, const char *path, struct codec_whole *w,
                      struct bytes *codes)
{
    codes->n = reduce_op_in_at(&w->op, w->padded);
    codes->at = buf_alloc(codes->n);
    return codes->at ? codec_whole_encode(w, (const float *)(const void *)in->at, path, codes->at)
                     : -ENOMEM;
}

int layer_file_cast(const struct codec *codec, const char *in, const char *weights,
                    const char *state, const char *out, float *max)
{
    struct bytes x = {NULL, 0}, w_of = {NULL, 0}, codes = {NULL, 0}, was = {NULL, 0};
    struct codec_whole w;
    uint8_t *next = NULL;
    size_t kept = 0;
    /* weights may be NULL, which ends the list */
    const char *const others[] = {in, out, weights, NULL};
    int rc = state ? check_state(state, others) : 0;
    if (!rc)
        rc = read_values(in, &x);
    codec_whole(codec, rc ? 1 : x.n / sizeof(float), &w);
    if (!rc)
        rc = read_weights(codec, weights, &w_of, &w.layer);
    if (!rc && state) {
        kept = codec_state_bytes(codec, &w.layer);
        rc = read_state(state, kept, &was, &next);
        w.layer.state = was.at;
        w.layer.next_state = next;
    }
    if (!rc)
        rc = cast_bytes(&x, in, &w, &codes);
    if (!rc)
        rc = write_files(out, &codes, state, &(struct bytes){next, kept});
    *max = w.layer.max;
    free(x.at), free(w_of.at), free(codes.at), free(was.at), free(next);
    return rc;
}

static int count_values(const struct codec *codec, const struct bytes *codes, const char *path,
                        uint64_t count, struct codec_whole *w)
{
    codec_whole(codec, 1, w);
    const bool column = w->op.unit == 1; /* as long as the layer */
    if (!count && column)
        return ERR(-EINVAL, "cannot decode '%s': columns may have any length, so it needs --count",
                   path);
    if (count)
        codec_whole(codec, (size_t)count, w);
    const size_t unit_bytes = w->op.ops->in_bytes(&w->op, w->op.unit),
                 n_units = (codes->n + unit_bytes - 1) / unit_bytes;
    const bool in_part = w->op.ops->spared; /* the last unit may be shorter */
    if (!column && (!codes->n || (codes->n % unit_bytes && !(count && in_part))))
        return ERR(-EINVAL, "cannot decode '%s': %zu bytes are not a multiple of %zu%s", path,
                   codes->n, unit_bytes, codes->n && in_part ? ", need --count" : "");
    if (!count)
        codec_whole(codec, n_units * w->op.unit, w);
    if (!column && w->padded / w->op.unit != n_units)
        return ERR(-EINVAL, "cannot decode '%s': it holds %zu to %zu values, not %llu", path,
                   (n_units - 1) * w->op.unit + 1, n_units * w->op.unit, (unsigned long long)count);
    const size_t wanted = reduce_op_in_at(&w->op, w->padded);
    if (count && codes->n != wanted)
        return ERR(-EINVAL, "cannot decode '%s': %llu values take %zu bytes, and it has %zu", path,
                   (unsigned long long)count, wanted, codes->n);
    return 0;
}

int layer_file_uncast(const struct codec *codec, const char *in, const char *weights,
                      uint64_t count, float max, const char *out)
{
    struct bytes codes = {NULL, 0}, w_of = {NULL, 0};
    struct codec_whole w;
    float *x = NULL;
    int rc = read_file(in, SIZE_MAX, &codes);
    if (!rc)
        rc = count_values(codec, &codes, in, count, &w);
    if (!rc)
        rc = read_weights(codec, weights, &w_of, &w.layer);
    if (!rc) {
        w.layer.max = max;
        x = buf_alloc(w.layer.n * sizeof *x);
        rc = x ? codec_whole_decode(&w, codes.at, x) : -ENOMEM;
    }
    if (!rc)
        rc = write_files(out, &(struct bytes){(uint8_t *)x, w.layer.n * sizeof *x}, NULL, NULL);
    free(codes.at), free(w_of.at), free(x);
    return rc;
}
