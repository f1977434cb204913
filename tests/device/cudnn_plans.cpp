/* cudnn_plans.cpp : asks the real cuDNN for plans of the models' convolutions without a GPU.
 * Passes device/nn/conv_graph.cu a description of a device instead of a handle. */
#include <cudnn.h>
#include <stdio.h>
#include <string.h>

static cudnnBackendDescriptor_t device;
static int n_failed, n_fallbacks;

static cudnnStatus_t set_attribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE)
        return CUDNN_STATUS_SUCCESS;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE)
        return cudnnBackendSetAttribute(d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    cudnnStatus_t status = cudnnBackendSetAttribute(d, name, type, n, values);
    if (name == CUDNN_ATTR_ENGINEHEUR_MODE)
        n_fallbacks += *(const cudnnBackendHeurMode_t *)values == CUDNN_HEUR_MODE_FALLBACK;
    if (status == CUDNN_STATUS_SUCCESS && name == CUDNN_ATTR_ENGINEHEUR_MODE)
        status = cudnnBackendSetAttribute(d, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    if (status != CUDNN_STATUS_SUCCESS && n_failed++ < 10)
        fprintf(stderr, "attribute %d: %s\n", name, cudnnGetErrorString(status));
    return status;
}

/* Fails if fewer results are asked for than there are. */
static cudnnStatus_t get_attribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t asked, int64_t *n,
                                   void *values)
{
    int64_t there = 0;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && asked > 0 &&
        cudnnBackendGetAttribute(d, name, type, 0, &there, NULL) == CUDNN_STATUS_SUCCESS &&
        asked < there && n_failed++ < 10)
        fprintf(stderr, "%d of %d plans are asked for\n", (int)asked, (int)there);
    return cudnnBackendGetAttribute(d, name, type, asked, n, values);
}

#define cudnnBackendSetAttribute set_attribute
#define cudnnBackendGetAttribute get_attribute
#include "device/nn/conv_graph.cu"
#undef cudnnBackendSetAttribute
#undef cudnnBackendGetAttribute

static bool describe(int compute_capability)
{
    char json[1024];
    snprintf(json, sizeof json,
             "{\"deviceName\":\"a GPU\",\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":13000,"
             "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
             "\"regsPerBlock\":65536,"
             "\"multiProcessorCount\":132,\"warpSize\":32,\"totalGlobalMem\":80000000000,"
             "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
             "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"pciDeviceId\":0,"
             "\"isTccDriver\":0,"
             "\"supportCoopLaunch\":1,\"smClockRateKHz\":1500000,\"memClockRateKHz\":2600000,"
             "\"l2CacheSize\":41943040,"
             "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048}",
             compute_capability, compute_capability == 800 ? 166912 : 232448);
    return cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device) ==
               CUDNN_STATUS_SUCCESS &&
           cudnnBackendSetAttribute(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                    CUDNN_TYPE_CHAR, (int64_t)strlen(json),
                                    json) == CUDNN_STATUS_SUCCESS &&
           cudnnBackendFinalize(device) == CUDNN_STATUS_SUCCESS;
}

static const struct {
    struct nn_window g;
    int batch;
} windows[] = {
    {{{28, 28, 1}, {28, 28, 6}, 5, 1, 2}, 64}, /* lenet5 */
    {{{14, 14, 6}, {10, 10, 16}, 5, 1, 0}, 64},
    {{{32, 32, 3}, {32, 32, 64}, 3, 1, 1}, 512},
    {{{32, 32, 64}, {32, 32, 64}, 3, 1, 1}, 512},
    {{{32, 32, 64}, {16, 16, 128}, 3, 2, 1}, 512},
    {{{32, 32, 64}, {16, 16, 128}, 1, 2, 0}, 512},
    {{{8, 8, 256}, {8, 8, 512}, 3, 1, 1}, 512},
    {{{224, 224, 3}, {112, 112, 64}, 7, 2, 3}, 128}, /* resnet50 */
    {{{56, 56, 64}, {56, 56, 256}, 1, 1, 0}, 128},
    {{{56, 56, 256}, {28, 28, 512}, 1, 2, 0}, 128},
    {{{28, 28, 256}, {14, 14, 256}, 3, 2, 1}, 128},
    {{{7, 7, 512}, {7, 7, 2048}, 1, 1, 0}, 128},
    {{{27, 27, 96}, {27, 27, 256}, 5, 1, 2, 2}, 128}, /* caffenet */
    {{{13, 13, 384}, {13, 13, 384}, 3, 1, 1, 2}, 128},
    {{{13, 13, 384}, {13, 13, 256}, 3, 1, 1, 2}, 128},
    {{{227, 227, 3}, {55, 55, 96}, 11, 4, 0}, 128},
    {{{64, 64, 256}, {64, 64, 256}, 3, 1, 2, 1, 0, 2}, 16}, /* fcn */
    {{{64, 64, 512}, {64, 64, 512}, 3, 1, 4, 1, 0, 4}, 16},
    {{{5, 6, 3}, {5, 6, 5}, 3, 1, 1}, 1}, /* few engines support this shape */
};

int main()
{
    static const int chips[] = {800, 900, 1000};
    static const char *maths[] = {"fp32", "tf32", "fp16", "bf16", "fp16-pure"};
    enum { MATHS = sizeof maths / sizeof *maths, PASSES = 4 };
    /* n_half: plans that add in half */
    int n_plans = 0, n_passes = 0, n_pure = 0, n_half = 0, by_fallback[MATHS] = {};
    struct nn_conv conv = {};
    struct dev_nn d = {};
    d.conv = &conv;
    for (int chip : chips) {
        if (!describe(chip)) {
            puts("skip: this cuDNN cannot be told of a device");
            return 77;
        }
        for (const auto &w : windows)
            for (int i = 0; i < MATHS * PASSES * 2; i++) {
                struct conv_key key = {};
                struct conv_plan plans[CONV_PLANS];
                cudnnStatus_t why;
                key.g = w.g;
                key.batch = w.batch;
                key.pass = i / MATHS % PASSES;
                key.is_aligned = i < MATHS * PASSES;
                d.math = (enum nn_math)(i % MATHS);
                int n = 0;
                if (nn_pure(&d)) {
                    n = candidates(&d, &key, CUDNN_DATA_HALF, CONV_SCRATCH_MAX, plans, &why);
                    n_pure++;
                    n_half += n > 0;
                    for (int j = 0; j < n; j++)
                        conv_plan_close(&plans[j]);
                }
                n_fallbacks = 0;
                n = conv_candidates(&d, &key, CONV_SCRATCH_MAX, plans, &why);
                by_fallback[i % MATHS] += n_fallbacks;
                n_passes++;
                n_plans += n;
                if (n == 0 && n_failed++ < 10)
                    fprintf(stderr, "sm %d: conv %dx%d %d->%d batch %d %s pass %d%s: %s\n", chip,
                            w.g.k, w.g.k, w.g.in.c, w.g.out.c, w.batch, maths[i % MATHS], key.pass,
                            key.is_aligned ? "" : " on odd addresses", cudnnGetErrorString(why));
                for (int j = 0; j < n; j++)
                    conv_plan_close(&plans[j]);
            }
        cudnnBackendDestroyDescriptor(device);
    }
    printf("cuDNN %zu: %d plans for %d passes on 3 chips\n", cudnnGetVersion(), n_plans, n_passes);
    for (int i = 0; i < MATHS; i++)
        printf("%s: %d of %d passes have only cuDNN's fallback\n", maths[i], by_fallback[i],
               n_passes / MATHS);
    printf("pure fp16: %d of %d passes add in half\n", n_half, n_pure);
    return n_failed != 0;
}
