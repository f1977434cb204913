#!/bin/bash
# test_cudnn_plans.sh : asks the real cuDNN, on a machine without a GPU too, for plans of the models' convolutions.
set -u
cuda=${CUDA_HOME:-/usr/local/cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v g++ >/dev/null || [ ! -e "$cuda/include/cudnn.h" ]; then
    echo "skip: no g++ with cuDNN's headers"
    exit 77
fi
version() { sed -n "s/^#define CUDNN_$1 //p" "$cuda/include/cudnn_version.h"; }
major=$(version MAJOR) minor=$(version MINOR)
if [ "$((major * 100 + minor))" -lt 908 ]; then
    echo "skip: cuDNN $major.$minor cannot be told of a device, 9.8 can"
    exit 77
fi
g++ -std=c++17 -O1 -I. -I"$cuda/include" tests/cudnn_plans.cpp \
    -L"$cuda/lib64" -lcudnn -Wl,-rpath,"$cuda/lib64" -o "$work/plans" || exit 1
"$work/plans"
