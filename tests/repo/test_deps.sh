#!/bin/bash
# test_deps.sh : runs deps.sh on the tree and on copies with planted errors.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
"$here/deps.sh"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

declare -A may=()
while read -r folder list; do may[$folder]=$list; done < <("$here/deps.sh" --map)
for folder in "${!may[@]}"; do
    mkdir -p "$tree/$folder"
    touch "$tree/$folder/to_${folder//\//_}.h"
done
for from in "${!may[@]}"; do
    for to in "${!may[@]}"; do
        file=$from/from_${from//\//_}_to_${to//\//_}.c
        echo "#include \"$to/to_${to//\//_}.h\"" >"$tree/$file"
        [ "$from" = "$to" ] || [[ " ${may[$from]} " == *" $to "* ]] || echo "$file: includes '$to/to_${to//\//_}.h' of $to;"
    done
done | sort >"$tree/wanted"
"$here/deps.sh" "$tree" 2>&1 | sed 's/;.*/;/' | sort >"$tree/said" || true
diff "$tree/wanted" "$tree/said" || { echo "deps.sh does not say what the map says (< wanted, > said)"; exit 1; }
for pair in "host/nn host/comm" "host/nn host/offload" "host/reduce host/offload" "host/comm host/reduce" "host/base host/vec"; do
    grep -q "^${pair% *}/.* of ${pair#* };" "$tree/wanted" || { echo "the map allows $pair"; exit 1; }
done
echo "$(wc -l <"$tree/wanted") includes against the arrows, each named"
rm -r "${tree:?}"/*

mkdir -p "$tree"/hls/arith "$tree"/device/run "$tree"/host/{base,vec/gpu,comm/mpi,comm/algo,nn} "$tree"/tests
touch "$tree/host/vec/vec.h"
refused() {
    if out=$("$here/deps.sh" "$tree" 2>/dev/null); then echo "deps.sh missed: $1"; exit 1; fi
    case $out in *"$1"*) ;; *) echo "deps.sh did not say '$1' but: $out"; exit 1 ;; esac
}
echo '#include <mpi.h>' >"$tree/host/vec/a.c" && refused "know MPI"
rm "$tree/host/vec/a.c"
touch "$tree/host/comm/mpi/comm_mpi.h" # an algorithm may not include it
echo '#include "comm/mpi/comm_mpi.h"' >"$tree/host/comm/mpi/a.c" && "$here/deps.sh" "$tree"
mv "$tree/host/comm/mpi/a.c" "$tree/host/comm/algo/algo_a.c" && refused "know MPI"
rm "$tree"/host/comm/*/*
touch "$tree/device/run/dev.h"
echo '#include "device/run/dev.h"' >"$tree/host/vec/gpu/a.c" && "$here/deps.sh" "$tree"
mv "$tree/host/vec/gpu/a.c" "$tree/host/vec/a.c" && refused "host/vec may include"
echo '#include <cuda_runtime.h>' >"$tree/host/vec/a.c" && refused "only device/ may"
echo '#include <rdma/fabric.h>' >"$tree/host/vec/a.c" && refused "wire_fabric.c may"
echo '#include <xdp/xsk.h>' >"$tree/host/vec/a.c" && refused "only wire_xdp.c and"
rm -r "$tree/host/vec/a.c" "$tree/device"
touch "$tree/host/base/vec.h" && refused "used twice"
rm "$tree/host/base/vec.h"
yes '' | head -n 500 >"$tree/host/base/long.c" && refused "under 500"
rm "$tree/host/base/long.c"
{ echo 'int f(void)'; echo '{'; yes '    f();' | head -n 57; echo '}'; } >"$tree/host/base/f.c" && "$here/deps.sh" "$tree"
{ echo 'int f(void)'; echo '{'; yes '    f();' | head -n 58; echo '}'; } >"$tree/host/base/f.c" && refused "host/base/f.c:1: 61 lines"
rm "$tree/host/base/f.c"
echo 'CPU_HOT static void f(int n, real *y)' | tee "$tree/host/nn/a.c" >"$tree/host/nn/b.c" && refused "f: name of two CPU_HOT"
rm "$tree"/host/nn/[ab].c
echo "run(['pip', 'install', 'x'])" >"$tree/host/nn/a.py" && refused "host/nn/a.py: runs pip without --require-hashes"
rm "$tree/host/nn/a.py"
mkdir "$tree/host/misc" && touch "$tree/host/misc/b.c" && refused "host/misc: folder is not on the map"
rm -r "$tree/host/misc"
"$here/deps.sh" "$tree"
