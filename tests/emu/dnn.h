/* dnn.h : declares internals of the emulated cuDNN: descriptors as maps of attributes, and
 * convolutions read from them.
 *
 * Its engines, in the order of its heuristics. A caller must skip 4, 1, 2, and also 0 unless it
 * allows TF32; otherwise the errors of 0 and 2 exceed any tolerance:
 *       4  never finalises     1  wants 1 TiB     2  nondeterministic: off by 1/16
 *       0  tensor cores: floats are rounded to TF32     3  exact sums; writes all of its workspace
 *       5  for FALLBACK: engine 3 without workspace
 * Engines that add in halves need aligned tensors, so FALLBACK has none. Their sums are computed
 * like all others. */
#ifndef EMU_DNN_H
#define EMU_DNN_H
#include <cudnn.h>
#include <map>
#include <memory>
#include <string.h>
#include <vector>

struct dnn_values {
    cudnnBackendAttributeType_t type;
    int64_t n;
    std::vector<char> bytes;
};

struct dnn_state {
    cudnnBackendDescriptorType_t type;
    bool finalised = false;
    int engine = -1;
    std::map<int, dnn_values> values;
    std::map<int, std::vector<std::shared_ptr<dnn_state>>> children;

    template <class T> T get(int name, size_t i = 0) const
    {
        T v;
        memcpy(&v, values.at(name).bytes.data() + i * sizeof v, sizeof v);
        return v;
    }
    const dnn_state &child(int name) const { return *children.at(name)[0]; }
};
struct dnn_descriptor {
    std::shared_ptr<dnn_state> state;
};
struct cudnnContext {
    cudaStream_t stream;
};

struct dnn_tensor {
    int64_t uid, dims[4], strides[4], alignment;
    cudnnDataType_t type;
    size_t bytes() const;
};
struct dnn_conv {
    cudnnBackendDescriptorType_t operation;
    dnn_tensor x, w, y;
    int64_t stride[2], pad[2], dilation[2];
    float alpha, beta;
    cudnnDataType_t sums;
};

dnn_tensor dnn_tensor_of(const dnn_state &tensor);
dnn_conv dnn_conv_of(const dnn_state &operation);
size_t dnn_type_bytes(cudnnDataType_t type);
int64_t dnn_workspace_of(int engine, const dnn_conv &c);
/* p: x, w, y. */
void dnn_run(const dnn_conv &c, int engine, void *const p[3], void *workspace);
cudnnStatus_t dnn_refuse(cudnnStatus_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
