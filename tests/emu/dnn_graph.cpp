/* dnn_graph.cpp : implements the emulated cuDNN's functions: descriptors, heuristics, execution. */
#include "dnn_rules.h"

const char *cudnnGetErrorString(cudnnStatus_t status)
{
#define SAY(name) \
    case name:    \
        return #name
    switch (status) {
        SAY(CUDNN_STATUS_SUCCESS);
        SAY(CUDNN_STATUS_NOT_INITIALIZED);
        SAY(CUDNN_STATUS_BAD_PARAM);
        SAY(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
        SAY(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
        SAY(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
        SAY(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
        SAY(CUDNN_STATUS_NOT_SUPPORTED);
        SAY(CUDNN_STATUS_EXECUTION_FAILED);
    default:
        return "CUDNN_UNKNOWN_STATUS";
    }
#undef SAY
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0)
        return CUDNN_STATUS_NOT_INITIALIZED;
    *handle = new cudnnContext();
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t s)
{
    handle->stream = s;
    return CUDNN_STATUS_SUCCESS;
}

static dnn_state &dnn_of(cudnnBackendDescriptor_t d)
{
    return *((dnn_descriptor *)d)->state;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *out)
{
    dnn_descriptor *d = new dnn_descriptor{std::make_shared<dnn_state>()};
    d->state->type = type;
    *out = d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    delete (dnn_descriptor *)d;
    return CUDNN_STATUS_SUCCESS;
}

static size_t dnn_value_bytes(cudnnBackendAttributeType_t type)
{
    return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_VOID_PTR ||
                   type == CUDNN_TYPE_BACKEND_DESCRIPTOR
               ? 8
               : 4;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values)
{
    if (!d || !values)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "attribute %d: no descriptor or no values", name);
    dnn_state &s = dnn_of(d);
    const dnn_rule *r = dnn_rule_of(s.type, name);
    if (!r || s.finalised)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "attribute %d: %s", name,
                          r ? "the descriptor is finalised" : "of another descriptor");
    if (r->type != type)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d has type %d, not %d",
                          name, r->type, type);
    if (n < 1 || (r->n && n != r->n))
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "attribute %d has %d elements, not %d", name,
                          (int)r->n, (int)n);
    s.values[name] = {type, n,
                      std::vector<char>((const char *)values,
                                        (const char *)values + (size_t)n * dnn_value_bytes(type))};
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        s.children[name].clear();
        for (int64_t i = 0; i < n; i++) {
            const dnn_descriptor *child = ((dnn_descriptor *const *)values)[i];
            if (!child || !child->state->finalised)
                return dnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                                  "attribute %d is not finalised", name);
            s.children[name].push_back(child->state);
        }
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d)
{
    dnn_state &s = dnn_of(d);
    const cudnnStatus_t status = dnn_check(s);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (s.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        s.engine = s.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).engine;
        if (s.engine == 4)
            return CUDNN_STATUS_NOT_SUPPORTED;
    }
    s.finalised = true;
    return CUDNN_STATUS_SUCCESS;
}

dnn_tensor dnn_tensor_of(const dnn_state &s)
{
    dnn_tensor t = {};
    t.uid = s.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    t.alignment = s.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    t.type = s.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    for (size_t i = 0; i < 4; i++) {
        t.dims[i] = s.get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, i);
        t.strides[i] = s.get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, i);
    }
    return t;
}

static float dnn_factor(const dnn_state &s, int name, float otherwise)
{
    return s.values.count(name) ? s.get<float>(name) : otherwise;
}

dnn_conv dnn_conv_of(const dnn_state &s)
{
    static const int forward[] = {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    static const int data[] = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    static const int filter[] = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    const int *names = s.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ? forward
                       : s.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                           ? data
                           : filter;
    dnn_conv c = {};
    c.operation = s.type;
    c.x = dnn_tensor_of(s.child(names[0]));
    c.w = dnn_tensor_of(s.child(names[1]));
    c.y = dnn_tensor_of(s.child(names[2]));
    for (size_t i = 0; i < 2; i++) {
        c.stride[i] = s.child(names[3]).get<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i);
        c.pad[i] = s.child(names[3]).get<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i);
        c.dilation[i] = s.child(names[3]).get<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, i);
    }
    c.alpha = dnn_factor(s, names[4], 1);
    c.beta = dnn_factor(s, names[5], 0);
    c.sums = s.child(names[3]).get<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
    return c;
}

static std::vector<int> dnn_proposals(cudnnBackendHeurMode_t mode, const dnn_conv &c)
{
    if (c.x.type != c.y.type || c.x.type != c.w.type)
        return {};
    if (c.sums == CUDNN_DATA_HALF && c.x.type != CUDNN_DATA_HALF)
        return {};
    if (c.x.alignment < 16 || c.y.alignment < 16) /* only FALLBACK has an engine for these */
        return mode == CUDNN_HEUR_MODE_FALLBACK && c.sums == CUDNN_DATA_FLOAT ? std::vector<int>{5}
                                                                              : std::vector<int>();
    return {4, 1, 2, 0, 3};
}

static cudnnStatus_t dnn_results(const dnn_state &heuristics, int64_t most, int64_t *n,
                                 cudnnBackendDescriptor_t *out)
{
    const dnn_state &graph = heuristics.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const dnn_state &op = graph.child(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    const auto engines = dnn_proposals(
        heuristics.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE), dnn_conv_of(op));
    if (most == 0) { /* only their number is asked */
        *n = (int64_t)engines.size();
        return CUDNN_STATUS_SUCCESS;
    }
    *n = 0;
    for (int e : engines) {
        if (*n == most)
            break;
        dnn_state &config = dnn_of(out[*n]);
        if (config.type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
            return dnn_refuse(CUDNN_STATUS_BAD_PARAM,
                              "results of heuristics want configurations to write to");
        config.engine = e;
        config.finalised = true;
        config.children[CUDNN_ATTR_OPERATIONGRAPH_OPS] =
            graph.children.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
        ++*n;
    }
    return engines.empty() ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

static const dnn_state &dnn_operation_of(const dnn_state &plan)
{
    return plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).child(CUDNN_ATTR_OPERATIONGRAPH_OPS);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const d,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t *n,
                                       void *values)
{
    const dnn_state &s = dnn_of(d);
    if (!s.finalised || most < (name != CUDNN_ATTR_ENGINEHEUR_RESULTS))
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                          "attribute %d of what is not finalised", name);
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return dnn_results(s, most, n, (cudnnBackendDescriptor_t *)values);
    *n = 1;
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        dnn_state &engine = dnn_of(*(cudnnBackendDescriptor_t *)values);
        engine.engine = s.engine;
        engine.finalised = true;
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
        *n = s.engine == 0 || s.engine == 2;
        *(cudnnBackendNumericalNote_t *)values = s.engine == 2
                                                     ? CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC
                                                     : CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        *(int64_t *)values = dnn_workspace_of(s.engine, dnn_conv_of(dnn_operation_of(s)));
    } else {
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "attribute %d cannot be read as type %d", name,
                          type);
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t dnn_place(const dnn_state &pack, const dnn_tensor &t, void **out)
{
    char *base;
    size_t all;
    const int64_t n = pack.values.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).n;
    for (int64_t i = 0; i < n; i++)
        if (pack.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, (size_t)i) == t.uid) {
            char *p = pack.get<char *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, (size_t)i);
            if ((uintptr_t)p % (size_t)t.alignment)
                return dnn_refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                                  "tensor %d: not on %d bytes", (int)t.uid, (int)t.alignment);
            if (!emu_find(p, &base, &all) || (size_t)(p - base) + t.bytes() > all)
                return dnn_refuse(CUDNN_STATUS_BAD_PARAM,
                                  "tensor %d is not in device memory, or reaches out of it",
                                  (int)t.uid);
            *out = p;
            return CUDNN_STATUS_SUCCESS;
        }
    return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "variant pack: no pointer for tensor %d", (int)t.uid);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    const dnn_state &p = dnn_of(plan), &v = dnn_of(pack);
    if (!p.finalised || !v.finalised)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                          "plan or variant pack is not finalised");
    const dnn_conv c = dnn_conv_of(dnn_operation_of(p));
    const int engine = p.engine;
    const int64_t bytes = dnn_workspace_of(engine, c);
    char *workspace = v.get<char *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE), *base;
    size_t all;
    if (bytes && (!workspace || !emu_find(workspace, &base, &all) ||
                  (size_t)(workspace - base) + (size_t)bytes > all))
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "workspace of %lld bytes is not there",
                          (long long)bytes);
    void *at[3];
    const dnn_tensor *tensors[3] = {&c.x, &c.w, &c.y};
    for (int i = 0; i < 3; i++) {
        const cudnnStatus_t status = dnn_place(v, *tensors[i], &at[i]);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    void *x = at[0], *w = at[1], *y = at[2];
    emu_note("conv %s %s", c.sums == CUDNN_DATA_HALF ? "half" : "float",
             c.x.type == CUDNN_DATA_HALF ? "half" : "other");
    const cudaError_t e = emu_enqueue(handle->stream, [=] {
        void *const places[3] = {x, w, y};
        dnn_run(c, engine, places, workspace);
    });
    return e == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
