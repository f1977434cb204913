#!/bin/bash
# test_gpu_build.sh : every file of device/ compiles by nvcc without a warning, to PTX for one generation of chips; where bits are
# promised operation by operation (hls/level.h), no product is joined with an addition.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
nvcc=${NVCC-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo 'skip: no nvcc'; exit 77; }
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
found=$(device/libs.sh cudnn "$cuda") || { echo 'skip: no cuDNN'; exit 77; }
words=${found%%|*}
if found=$(device/libs.sh nccl "$cuda"); then words+=" ${found%%|*} -DHAVE_NCCL"; fi
read -ra flags <<<"$words"
[ -f "$B/libnarrowcast_cuda.so" ] && [ -z "$(find device hls -newer "$B/libnarrowcast_cuda.so" -name '*.*')" ] && { echo 'built'; exit 0; }
out=$B/tmp/gpu_build
mkdir -p "$out"
bad=0
for f in device/*.cu; do
    "$nvcc" -std=c++17 -O3 -I. -Werror all-warnings -arch=compute_90 ${flags[@]+"${flags[@]}"} -ptx "$f" -o "$out/$(basename "$f").ptx" >"$out/log" 2>&1 ||
        { echo "FAIL $f"; head -n 20 "$out/log"; bad=1; }
done
for name in levels signs counts; do
    grep -m 1 -H 'fma\.' "$out/$name.ptx" && { echo "FAIL $name.cu: a product is joined with an addition"; bad=1; }
done
rm -rf "$out"
exit $bad
