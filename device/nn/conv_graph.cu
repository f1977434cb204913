/* conv_graph.cu : builds cuDNN's graph for a pass of conv2d, and plans of the engines that cuDNN
 * proposes.
 *
 *     tensors, operations -> operation graph -> heuristics -> engine configurations -> plans
 *
 * Dimensions are n, c, h, w; strides put channels last. Sums are floats; with NN_FP16_PURE, halves
 * if an engine adds in halves. Engines with these numerical notes are left out:
 *     all maths   a different order of sums in each run, or transforms that round more (FFT,
 *                 Winograd), except with NARROWCAST_CONV=any; sums in 16 bits, except with
 *                 NN_FP16_PURE
 *     fp32        tensor cores (inputs rounded to TF32)
 *     fp32, TF32  conversion to narrower types */
#include "device/nn/conv.cuh"

enum { MADE_MAX = 128, UID_X = 'x', UID_W = 'w', UID_Y = 'y' };

/* After the first failure, further calls do nothing. */
struct build {
    cudnnStatus_t status;
    int n_made;
    cudnnBackendDescriptor_t made[MADE_MAX];
};

static cudnnBackendDescriptor_t make(struct build *b, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made = NULL;
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = cudnnBackendCreateDescriptor(type, &made);
    if (made)
        b->made[b->n_made++] = made;
    return made;
}

static void set(struct build *b, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = cudnnBackendSetAttribute(d, name, type, n, values);
}

static void set_int(struct build *b, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    int64_t value)
{
    set(b, d, name, CUDNN_TYPE_INT64, 1, &value);
}

static void set_child(struct build *b, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                      cudnnBackendDescriptor_t child)
{
    set(b, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &child);
}

static void set_type(struct build *b, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                     cudnnDataType_t value)
{
    set(b, d, name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

static void finish(struct build *b, cudnnBackendDescriptor_t d)
{
    if (b->status == CUDNN_STATUS_SUCCESS)
        b->status = cudnnBackendFinalize(d);
}

static void build_close(struct build *b)
{
    while (b->n_made)
        if (b->made[--b->n_made])
            cudnnBackendDestroyDescriptor(b->made[b->n_made]);
}

static cudnnBackendDescriptor_t tensor(struct build *b, const struct dev_nn *d, int64_t uid,
                                       bool is_aligned, int n, struct nn_shape s)
{
    const int64_t h = s.h, w = s.w, c = s.c;
    const int64_t dims[4] = {n, c, h, w}, strides[4] = {h * w * c, 1, w * c, c};
    const cudnnDataType_t type = nn_half(d)           ? CUDNN_DATA_HALF
                                 : d->math == NN_BF16 ? CUDNN_DATA_BFLOAT16
                                                      : CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t t = make(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set_int(b, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
    set_type(b, t, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    set(b, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    set(b, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    set_int(b, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
            is_aligned ? CONV_ALIGNMENT : (int64_t)nn_bytes(d));
    finish(b, t);
    return t;
}

static cudnnBackendDescriptor_t convolution(struct build *b, const struct nn_window *g,
                                            cudnnDataType_t sums)
{
    const int64_t strides[2] = {g->stride, g->stride}, pads[2] = {g->pad, g->pad};
    const int64_t dilations[2] = {window_dilation(*g), window_dilation(*g)};
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    cudnnBackendDescriptor_t c = make(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set_int(b, c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
    set_type(b, c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, sums);
    set(b, c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(b, c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
    set(b, c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
    set(b, c, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations);
    set(b, c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides);
    finish(b, c);
    return c;
}

struct names {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};
static const struct names forward_names = {
    .operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    .x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
    .w = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
    .y = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
    .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
    .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
    .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
};
static const struct names data_names = {
    .operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
    .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
    .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
    .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
    .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
    .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
    .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
};
static const struct names filter_names = {
    .operation = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
    .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
    .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
    .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
    .convolution = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
    .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
    .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
};

static cudnnBackendDescriptor_t graph_of(struct build *b, const struct dev_nn *d,
                                         const struct conv_key *key, cudnnDataType_t sums)
{
    const struct nn_window *g = &key->g;
    const struct names *names = key->pass == CONV_FORWARD  ? &forward_names
                                : key->pass == CONV_FILTER ? &filter_names
                                                           : &data_names;
    /* cuDNN derives the number of groups from a filter's channels */
    const struct nn_shape filter = {g->k, g->k, g->in.c / conv_groups(g)};
    const float alpha = 1, beta = key->pass == CONV_DATA_ADD ? 1 : 0;
    cudnnBackendDescriptor_t op = make(b, names->operation);
    set_child(b, op, names->convolution, convolution(b, g, sums));
    set_child(b, op, names->x, tensor(b, d, UID_X, key->is_aligned, key->batch, g->in));
    set_child(b, op, names->w, tensor(b, d, UID_W, key->is_aligned, g->out.c, filter));
    set_child(b, op, names->y, tensor(b, d, UID_Y, key->is_aligned, key->batch, g->out));
    set(b, op, names->alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
    set(b, op, names->beta, CUDNN_TYPE_FLOAT, 1, &beta);
    finish(b, op);
    cudnnBackendDescriptor_t graph = make(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set_child(b, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, op);
    set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &d->conv->handle);
    finish(b, graph);
    return graph;
}

static bool is_wanted(const struct dev_nn *d, cudnnBackendDescriptor_t config)
{
    struct build b = {};
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0;
    cudnnBackendDescriptor_t engine = make(&b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    if (b.status == CUDNN_STATUS_SUCCESS)
        b.status = cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine);
    if (b.status == CUDNN_STATUS_SUCCESS)
        b.status = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                            CUDNN_TYPE_NUMERICAL_NOTE,
                                            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, notes);
    bool wanted = b.status == CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; wanted && i < n; i++)
        switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
            wanted = d->math != NN_FP32;
            break;
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            wanted = nn_bytes(d) == 2;
            break;
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
            wanted = nn_pure(d);
            break;
        case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
            break;
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        case CUDNN_NUMERICAL_NOTE_FFT:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD:
            wanted = d->conv->is_any;
            break;
        /* Notes on Winograd's tiles come with WINOGRAD. */
        default:
            wanted = d->conv->is_any && notes[i] > CUDNN_NUMERICAL_NOTE_WINOGRAD &&
                     notes[i] < CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
        }
    build_close(&b);
    return wanted;
}

/* Makes a plan, which then owns config. Returns false, with the reason in *why, if the engine
 * cannot do the pass in workspace_most bytes. */
static bool plan_of(const struct dev_nn *d, cudnnBackendDescriptor_t config, size_t workspace_most,
                    struct conv_plan *p, cudnnStatus_t *why)
{
    struct build b = {};
    int64_t n, bytes = 0;
    cudnnBackendDescriptor_t plan = make(&b, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_child(&b, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    set(&b, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &d->conv->handle);
    finish(&b, plan);
    if (b.status == CUDNN_STATUS_SUCCESS)
        b.status = cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                            CUDNN_TYPE_INT64, 1, &n, &bytes);
    if (b.status != CUDNN_STATUS_SUCCESS || (size_t)bytes > workspace_most) {
        *why = b.status != CUDNN_STATUS_SUCCESS ? b.status : CUDNN_STATUS_NOT_SUPPORTED;
        build_close(&b);
        return false;
    }
    p->config = config;
    p->plan = plan;
    p->workspace_bytes = (size_t)bytes;
    return true;
}

static int propose(const struct dev_nn *d, cudnnBackendDescriptor_t graph,
                   cudnnBackendHeurMode_t mode, size_t workspace_most, const struct conv_plan *like,
                   struct conv_plan *plans, cudnnStatus_t *why)
{
    struct build b = {}, results = {};
    int n_plans = 0;
    int64_t n = 0;
    cudnnBackendDescriptor_t heuristics = make(&b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set_child(&b, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    set(&b, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    finish(&b, heuristics);
    /* All results: the first ones may all be unwanted (in fp32, 16 engines with tensor cores). */
    if (b.status == CUDNN_STATUS_SUCCESS)
        b.status = cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL);
    while (b.status == CUDNN_STATUS_SUCCESS && results.n_made < n && results.n_made < MADE_MAX) {
        make(&results, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        b.status = results.status;
    }
    if (b.status == CUDNN_STATUS_SUCCESS)
        b.status = cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, results.n_made, &n,
                                            results.made);
    if (b.status != CUDNN_STATUS_SUCCESS)
        *why = b.status;
    n = n < results.n_made ? n : results.n_made;
    for (int64_t i = 0; b.status == CUDNN_STATUS_SUCCESS && i < n && n_plans < CONV_PLANS; i++) {
        plans[n_plans] = *like;
        if (is_wanted(d, results.made[i]) &&
            plan_of(d, results.made[i], workspace_most, &plans[n_plans], why)) {
            results.made[i] = NULL;
            n_plans++;
        }
    }
    build_close(&results);
    build_close(&b);
    return n_plans;
}

static int candidates(const struct dev_nn *d, const struct conv_key *key, cudnnDataType_t sums,
                      size_t scratch_most, struct conv_plan *plans, cudnnStatus_t *why)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B,
                                                   CUDNN_HEUR_MODE_FALLBACK};
    struct build b = {};
    struct conv_plan like = {};
    like.key = *key;
    if (key->pass == CONV_FILTER && conv_widens(d))
        like.result_bytes = (2 * conv_weights(&key->g) + 255) / 256 * 256;
    *why = CUDNN_STATUS_NOT_SUPPORTED;
    if (like.result_bytes > scratch_most)
        return 0;
    cudnnBackendDescriptor_t graph = graph_of(&b, d, key, sums);
    int n = 0;
    /* Modes B and FALLBACK repeat the previous modes' plans and add slower ones. */
    for (size_t i = 0;
         b.status == CUDNN_STATUS_SUCCESS && n == 0 && i < sizeof modes / sizeof *modes; i++)
        n = propose(d, graph, modes[i], scratch_most - like.result_bytes, &like, plans, why);
    if (b.status != CUDNN_STATUS_SUCCESS)
        *why = b.status;
    build_close(&b);
    return n;
}

int conv_candidates(const struct dev_nn *d, const struct conv_key *key, size_t scratch_most,
                    struct conv_plan *plans, cudnnStatus_t *why)
{
    const int n = nn_pure(d) ? candidates(d, key, CUDNN_DATA_HALF, scratch_most, plans, why) : 0;
    return n ? n : candidates(d, key, CUDNN_DATA_FLOAT, scratch_most, plans, why);
}

void conv_plan_close(struct conv_plan *p)
{
    if (p->pack)
        cudnnBackendDestroyDescriptor(p->pack);
    cudnnBackendDestroyDescriptor(p->plan);
    cudnnBackendDestroyDescriptor(p->config);
    p->pack = NULL;
}

static cudnnStatus_t pack_pointers(struct conv_plan *p, const struct conv_tensors *t, void *scratch)
{
    struct build b = {};
    const int64_t uids[3] = {UID_X, UID_W, UID_Y};
    const void *pointers[3] = {t->x, p->result_bytes ? scratch : t->w, t->y};
    const void *workspace = p->workspace_bytes ? (char *)scratch + p->result_bytes : NULL;
    cudnnBackendDescriptor_t pack = make(&b, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(&b, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, uids);
    set(&b, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers);
    set(&b, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    finish(&b, pack);
    if (b.status != CUDNN_STATUS_SUCCESS) {
        build_close(&b);
        return b.status;
    }
    if (p->pack)
        cudnnBackendDestroyDescriptor(p->pack);
    p->pack = pack;
    p->last = *t;
    p->last_scratch = scratch;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t conv_execute(struct dev_nn *d, struct conv_plan *p, const struct conv_tensors *t,
                           void *scratch)
{
    const bool same = p->pack && p->last.x == t->x && p->last.w == t->w && p->last.y == t->y &&
                      p->last_scratch == scratch;
    cudnnStatus_t status = same ? CUDNN_STATUS_SUCCESS : pack_pointers(p, t, scratch);
    return status == CUDNN_STATUS_SUCCESS ? cudnnBackendExecute(d->conv->handle, p->plan, p->pack)
                                          : status;
}
