#!/bin/bash
# test_deps.sh : the include arrows hold, and a planted wrong include, file name or length is found.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/deps.sh"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/hls "$tree"/host/{base,vec,comm,nn} "$tree"/tests
touch "$tree/host/nn/model.h" "$tree/host/vec/vec.h"
refused() {  # refused WHY: deps.sh must fail, and say WHY
    if out=$("$here/deps.sh" "$tree" 2>/dev/null); then echo "deps.sh missed: $1"; exit 1; fi
    case $out in *"$1"*) ;; *) echo "deps.sh did not say '$1' but: $out"; exit 1 ;; esac
}
echo '#include "nn/model.h"' >"$tree/host/vec/a.c" && refused "host/vec may include"
echo '#include <mpi.h>' >"$tree/host/vec/a.c" && refused "only host/comm knows MPI"
rm "$tree/host/vec/a.c"
mkdir "$tree/device" && touch "$tree/device/dev.h"
echo '#include "device/dev.h"' >"$tree/host/vec/gpu.c" && "$here/deps.sh" "$tree"
mv "$tree/host/vec/gpu.c" "$tree/host/vec/a.c" && refused "host/vec may include"
echo '#include <cuda_runtime.h>' >"$tree/host/vec/a.c" && refused "only device/ may"
rm -r "$tree/host/vec/a.c" "$tree/device"
touch "$tree/host/base/vec.h" && refused "used twice"
rm "$tree/host/base/vec.h"
yes '' | head -n 400 >"$tree/host/base/long.c" && refused "under 400"
rm "$tree/host/base/long.c"
mkdir "$tree/host/misc" && touch "$tree/host/misc/b.c" && refused "not on the map"
rm -r "$tree/host/misc"
"$here/deps.sh" "$tree"
