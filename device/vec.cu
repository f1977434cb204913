/* vec.cu : the table of the GPU's vector operations. */
#include "device/vec.cuh"

extern "C" const struct dev_vec_ops dev_vec = {
    vec_gpu_absmax, vec_gpu_encode,     vec_gpu_scan_encode, vec_gpu_aps,
    vec_gpu_decode, vec_gpu_decode_all, vec_gpu_fold,        vec_gpu_finish,
    vec_gpu_add,    vec_gpu_sum,        vec_gpu_spill,       vec_gpu_fold_wide,
};
