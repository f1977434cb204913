#!/bin/bash
# test_cudnn_plans.sh : runs cudnn_plans.cpp, only with `long`; needs cuDNN, but no GPU.
set -u
[ "${1-}" = long ] || { echo 'skip: cuDNN searches plans for 20 s (make test-long)' && exit 77; }
cuda=${CUDA_HOME:-/usr/local/cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v g++ >/dev/null || ! found=$(device/run/libs.sh cudnn "$cuda" "${CUDNN-}"); then
    echo "skip: no g++ with cuDNN's headers"
    exit 77
fi
read -ra include <<<"${found%%|*}"
read -ra link <<<"${found##*|}"
version() { echo "#include <cudnn_version.h>" | g++ -E -dM "${include[@]}" -x c++ - | sed -n "s/^#define CUDNN_$1 //p"; }
major=$(version MAJOR) minor=$(version MINOR)
if [ "$((major * 100 + minor))" -lt 908 ]; then
    echo "skip: cuDNN $major.$minor cannot be told of a device, 9.8 can"
    exit 77
fi
g++ -std=c++17 -O1 -I. "${include[@]}" -I"$cuda/include" tests/device/cudnn_plans.cpp "${link[@]}" -o "$work/plans" || exit 1
"$work/plans"
