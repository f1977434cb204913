/* vec.cu : the table of the GPU's vector operations. */
#include "device/vec.cuh"

extern "C" const struct dev_vec_ops dev_vec = {
    .absmax = vec_gpu_absmax,
    .encode = vec_gpu_encode,
    .scan_encode = vec_gpu_scan_encode,
    .aps = vec_gpu_aps,
    .decode = vec_gpu_decode,
    .decode_all = vec_gpu_decode_all,
    .fold = vec_gpu_fold,
    .finish = vec_gpu_finish,
    .add = vec_gpu_add,
    .sum = vec_gpu_sum,
    .spill = vec_gpu_spill,
    .fold_wide = vec_gpu_fold_wide,
    .levels_encode = vec_gpu_levels_encode,
    .levels_decode = vec_gpu_levels_decode,
    .levels_sum = vec_gpu_levels_sum,
    .signs_encode = vec_gpu_signs_encode,
    .signs_decode = vec_gpu_signs_decode,
    .signs_sum = vec_gpu_signs_sum,
    .clip = vec_gpu_clip,
    .draw = vec_gpu_draw,
    .counts_decode = vec_gpu_counts_decode,
    .counts_sum = vec_gpu_counts_sum,
    .counts_add = vec_gpu_counts_add,
    .counts_spill = vec_gpu_counts_spill,
};
