#!/bin/bash
# test_gpu_libs.sh : cuDNN, cuBLAS and NCCL come from the named folder only, else from CUDA's and
# Python's packages, newest first.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
libs() { "$here/../device/run/libs.sh" "$@"; }

library() {
    mkdir -p "$1/include" && touch "$1/include/$2"
    for file in "${@:3}"; do mkdir -p "$1/$(dirname "$file")" && touch "$1/$file"; done
}
says() { [ "$(libs "${@:2}")" = "$1" ] || fail "${*:2}: says '$(libs "${@:2}")', not '$1'"; }
at() { echo "-I$1/include|-Xlinker $1/$2 -Xlinker -rpath=$1/$(dirname "$2")"; }

library "$dir/cuda" cublas_v2.h lib64/libcublas.so lib64/libcublas.so.12 lib64/libcublas.so.13 lib64/libcublasLt.so.14
library "$dir/own" cudnn.h lib/libcudnn.so.9
library "$dir/empty" cudnn.h lib/libcudnn_ops.so.9
ln -s /none "$dir/empty/lib/libcudnn.so.9" && mkdir "$dir/empty/lib/libcudnn.so"
library "$dir/site/nvidia/cudnn" cudnn.h lib/libcudnn.so.9
library "$dir/site/nvidia/nccl" nccl.h lib/libnccl.so.2
library "$dir/site/nvidia/cu13" cublas_v2.h lib/libcublas.so.13
says "$(at "$dir/cuda" lib64/libcublas.so.13)" cublas "$dir/cuda"
says "$(at "$dir/own" lib/libcudnn.so.9)" cudnn "$dir/cuda" "$dir/own"
(cd "$dir" && says "$(at "$PWD/own" lib/libcudnn.so.9)" cudnn cuda own && exit $bad) || bad=1
for folder in empty none; do
    libs cudnn "$dir/cuda" "$dir/$folder" >out && fail "cuDNN in $folder: $(cat out)"
done
if [ -n "$(command -v python3)" ] && ! libs nccl "$dir/none" >out; then
    export PYTHONPATH=$dir/site
    says "$(at "$dir/site/nvidia/nccl" lib/libnccl.so.2)" nccl "$dir/none"
    says "$(at "$dir/site/nvidia/cudnn" lib/libcudnn.so.9)" cudnn "$dir/none"
    says "$(at "$dir/site/nvidia/cu13" lib/libcublas.so.13)" cublas "$dir/none"
    says "$(at "$dir/cuda" lib64/libcublas.so.13)" cublas "$dir/cuda"
else
    echo "skip: Python's packages: no python3, or another NCCL comes before them: $(cat out)"
fi

mkdir -p "$dir/driver" "$dir/cuda/bin"
printf '#!/bin/sh\n' | tee "$dir/driver/nvidia-smi" >"$dir/cuda/bin/nvcc"
chmod +x "$dir/driver/nvidia-smi" "$dir/cuda/bin/nvcc"
install_says() {
    env PATH="$dir/driver:$PATH" "${@:2}" "$here/../host/install.sh" needs >out 2>&1
    case $1 in
    '') ! grep 'not fetched' out || fail "${*:2}: install.sh says that" ;;
    *) grep -q "$1" out || fail "${*:2}: install.sh does not say '$1' but: $(cat out)" ;;
    esac
}
install_says '^no nvcc, which is not fetched' NVCC="$dir/none"
install_says '' NVCC=
unset PYTHONPATH
for name in cudnn nccl; do
    libs $name "$dir/cuda" >out && echo "skip: what install.sh says of one that is missing: $name is on this machine: $(cat out)" && exit $bad
done
install_says '^no cudnn nccl, which is not fetched' NVCC="$dir/cuda/bin/nvcc"
install_says '^no nccl, which is not fetched' NVCC="$dir/cuda/bin/nvcc" CUDNN="$dir/own"
install_says '^no nccl, which is not fetched' NVCC=nvcc CUDNN="$dir/own" PATH="$dir/driver:$dir/cuda/bin:$PATH"
install_says '' NVCC="$dir/cuda/bin/nvcc" CUDNN="$dir/own" NCCL=
exit $bad
