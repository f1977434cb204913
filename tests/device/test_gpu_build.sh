#!/bin/bash
# test_gpu_build.sh : nvcc compiles device/ to PTX without a warning, and fuses no multiplication
# and addition where hls/arith/level.h promises bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
nvcc=${NVCC-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo 'skip: no nvcc'; exit 77; }
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
found=$(device/run/libs.sh cudnn "$cuda") || { echo 'skip: no cuDNN'; exit 77; }
words=${found%%|*}
if found=$(device/run/libs.sh nccl "$cuda"); then words+=" ${found%%|*} -DHAVE_NCCL"; fi
read -ra flags <<<"$words"
out=$B/tmp/gpu_build
mkdir -p "$out"
bad=0
exact=(device/vec/levels.cu device/vec/signs.cu device/vec/counts.cu)
files=(device/*/*.cu)
# with an up-to-date library, only the files below are compiled
[ -f "$B/libnarrowcast_cuda.so" ] && [ -z "$(find device hls -newer "$B/libnarrowcast_cuda.so" -name '*.*')" ] && files=("${exact[@]}")
for f in "${files[@]}"; do
    "$nvcc" -std=c++17 -O3 -I. -Werror all-warnings -arch=compute_90 ${flags[@]+"${flags[@]}"} -ptx "$f" -o "$out/$(basename "$f").ptx" >"$out/log" 2>&1 ||
        { echo "FAIL $f"; head -n 20 "$out/log"; bad=1; }
done
echo '__global__ void planted(float *x) { x[0] = x[0] * x[1] + x[2]; }' >"$out/planted.cu"
"$nvcc" -arch=compute_90 -ptx "$out/planted.cu" -o "$out/planted.ptx"
grep -q 'fma\.' "$out/planted.ptx" || { echo 'FAIL a joined product is not seen'; bad=1; }
for f in "${exact[@]}"; do
    grep -q 'mul\.' "$out/$(basename "$f").ptx" || { echo "FAIL $f: no machine code with a product"; bad=1; }
    grep -m 1 -H 'fma\.' "$out/$(basename "$f").ptx" && { echo "FAIL $f: a product is joined with an addition"; bad=1; }
done
rm -rf "$out"
exit $bad
