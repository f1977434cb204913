#!/bin/sh
# libs.sh : prints INCLUDES|LIBRARIES for nvcc of a library of NVIDIA's, or exits with status 1.
# usage: libs.sh cublas|cudnn|nccl CUDA_FOLDER [FOLDER]
# Searches FOLDER (CUDNN=FOLDER of make; has include/ and lib/ or lib64/) if given, else CUDA's
# folder, the system's folders, and the Python packages nvidia-* that come with PyTorch.
set -eu
name=$1 cuda=$2 only=${3-}
case $name in
cublas) header=cublas_v2.h ;;
*) header=$name.h ;;
esac

# newest FOLDER: print its lib$name.so with the highest version number
newest() { find -L "$1/" -maxdepth 1 -name "lib$name.so*" -type f 2>/dev/null | sort -V | tail -n 1; }

# here INCLUDE LIB...: print the result if both exist. System folders are left out: naming them
# would change the search order of compiler and loader.
here() {
    include=$1
    shift
    [ -f "$include/$header" ] || return 1
    for lib in "$@"; do
        file=$(newest "$lib")
        [ -n "$file" ] || continue
        case $include in /usr/include*) include='' ;; esac
        case $lib in /usr/lib*) lib='' ;; esac
        printf '%s|%s\n' "${include:+-I$include}" "-Xlinker $file${lib:+ -Xlinker -rpath=$lib}"
        exit 0
    done
    return 1
}

if [ -n "$only" ]; then
    only=$(cd "$only" 2>/dev/null && pwd) || exit 1 # absolute: programs start from any folder
    here "$only/include" "$only/lib64" "$only/lib" || exit 1
fi
here "$cuda/include" "$cuda/lib64" "$cuda/lib" || true
for triple in "$(uname -m)-linux-gnu" ''; do
    here "/usr/include/$triple" "/usr/lib/$triple" /usr/lib64 || here /usr/include "/usr/lib/$triple" /usr/lib64 || true
done
"${PYTHON:-python3}" - <<'END' 2>/dev/null |
import importlib.util
spec = importlib.util.find_spec("nvidia")
print(*(spec.submodule_search_locations if spec else []), sep="\n")
END
    while read -r packages; do
        for at in "$packages/$name" "$packages"/cu[0-9]*; do
            here "$at/include" "$at/lib" || true
        done
    done | head -n 1 | grep . # the exit of here() ends only its part of the pipe
