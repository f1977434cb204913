/* dnn_rules.cpp : checks the emulated cuDNN's descriptors when they become final. */
#include "dnn_rules.h"
#include <stdarg.h>
#include <stdio.h>

cudnnStatus_t dnn_refuse(cudnnStatus_t status, const char *format, ...)
{
    char line[256];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    fprintf(stderr, "emu: cudnn: %s\n", line);
    return status;
}

#define FORWARD CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
#define DATA    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
#define FILTER  CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
static const dnn_rule rules[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1,
     true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
     1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
     CUDNN_TYPE_CONVOLUTION_MODE, 1, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2,
     true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64,
     2, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2,
     true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64,
     2, true},
    {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, false},
    {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, false},
    {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     true},
    {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {FORWARD, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {DATA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, false},
    {DATA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, false},
    {DATA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     true},
    {DATA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {DATA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {DATA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1, false},
    {FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1, false},
    {FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
     1, true},
    {FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     true},
    {FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {FILTER, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
     1, true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
     true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
     1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 0,
     true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
     CUDNN_TYPE_VOID_PTR, 0, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
     1, true},
};

const dnn_rule *dnn_rule_of(cudnnBackendDescriptorType_t descriptor, int name)
{
    for (const dnn_rule &r : rules)
        if (r.descriptor == descriptor && r.name == name)
            return &r;
    return nullptr;
}

static cudnnStatus_t dnn_check_tensor(const dnn_state &s)
{
    const dnn_tensor t = dnn_tensor_of(s);
    for (int i = 0; i < 4; i++)
        if (t.dims[i] <= 0 || t.strides[i] <= 0)
            return dnn_refuse(CUDNN_STATUS_BAD_PARAM,
                              "tensor %d: dimension %d is %d elements, %d apart", (int)t.uid, i,
                              (int)t.dims[i], (int)t.strides[i]);
    if (t.alignment < (int64_t)dnn_type_bytes(t.type) || (t.alignment & (t.alignment - 1)) != 0)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "tensor %d: alignment of %d bytes", (int)t.uid,
                          (int)t.alignment);
    int64_t n = 1;
    for (int64_t d : t.dims)
        n *= d;
    if (t.bytes() != (size_t)n * dnn_type_bytes(t.type))
        return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "tensor %d: strides leave gaps or meet",
                          (int)t.uid);
    if (t.strides[1] != 1)
        return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED, "tensor %d: channels are not last",
                          (int)t.uid);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t dnn_check_operation(const dnn_state &s)
{
    const dnn_conv c = dnn_conv_of(s);
    bool fits =
        c.x.dims[0] == c.y.dims[0] && c.w.dims[0] == c.y.dims[1] && c.x.dims[1] % c.w.dims[1] == 0;
    fits = fits && c.y.dims[1] % (c.x.dims[1] / c.w.dims[1]) == 0;
    for (int i = 0; i < 2; i++)
        fits = fits && c.y.dims[2 + i] ==
                           (c.x.dims[2 + i] + 2 * c.pad[i] - (c.w.dims[2 + i] - 1) * c.dilation[i] -
                            1) / c.stride[i] +
                               1;
    if (!fits)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "convolution: shapes do not fit");
    if (s.type == DATA && c.beta != 0 && emu_env("EMU_CUDNN_ADDS", 1) == 0)
        return CUDNN_STATUS_NOT_SUPPORTED; /* like real engines for some windows */
    if (c.x.uid == c.w.uid || c.x.uid == c.y.uid || c.w.uid == c.y.uid)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "convolution: two tensors have one id");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t dnn_check_convolution(const dnn_state &s)
{
    if (s.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2)
        return dnn_refuse(CUDNN_STATUS_BAD_PARAM,
                          "convolution: 2 strides and paddings, but not 2 dimensions");
    const cudnnDataType_t sums = s.get<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
    if ((sums != CUDNN_DATA_FLOAT && sums != CUDNN_DATA_HALF) ||
        s.get<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
        return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED,
                          "convolution: only correlations that are summed as float or half");
    for (size_t i = 0; i < 2; i++)
        if (s.get<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, i) < 1 ||
            s.get<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i) < 1 ||
            s.get<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i) !=
                s.get<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i))
            return dnn_refuse(CUDNN_STATUS_NOT_SUPPORTED,
                              "convolution: dilation, stride or padding");
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t dnn_check(const dnn_state &s)
{
    for (const dnn_rule &r : rules)
        if (r.descriptor == s.type && r.is_required && !s.values.count(r.name))
            return dnn_refuse(CUDNN_STATUS_BAD_PARAM, "descriptor %d lacks attribute %d",
                              (int)s.type, r.name);
    switch (s.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return dnn_check_tensor(s);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        return dnn_check_convolution(s);
    case FORWARD:
    case DATA:
    case FILTER:
        return dnn_check_operation(s);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return s.values.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).n ==
                       s.values.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).n
                   ? CUDNN_STATUS_SUCCESS
                   : dnn_refuse(CUDNN_STATUS_BAD_PARAM, "variant pack: as many pointers as ids");
    default:
        return CUDNN_STATUS_SUCCESS;
    }
}
