#!/bin/bash
# deps.sh : fails when an #include goes against the arrows of the folder map (README.md).
# usage: deps.sh [TREE]   (another tree: for the check of the check, test_deps.sh)
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# What each folder may include. host/include is the public API: anybody, but it includes nothing of ours.
declare -A may=(
    [hls]="hls"
    [device]="device hls"
    [host/include]=""
    [host/base]="host/base hls"
    [host/control]="host/control host/base hls"
    [host/vec]="host/vec host/base hls"
    [host/codec]="host/codec host/vec host/base hls"
    [host/comm]="host/comm host/codec host/vec host/base hls"
    [host/reduce]="host/reduce host/comm host/codec host/vec host/base hls"
    [host/offload]="host/offload host/reduce host/comm host/codec host/vec host/base hls"
    [host/job]="host/job host/offload host/reduce host/comm host/codec host/vec host/base host/include hls"
    [host/nn]="host/nn host/codec host/vec host/base hls"
    [host/app]="host/app host/nn host/job host/offload host/control host/reduce host/comm host/codec host/vec host/base host/include hls"
    [sim]="sim host/control hls host/vec host/base"
)
# The only files that may leave their folder's list, or use a foreign library.
device_users='host/vec/(gpu.*|vec_cuda)\.[ch]|host/nn/nn_cuda.*\.[ch]|host/comm/mates.*\.[ch]|host/comm/algo_(.*_gpu|native_nccl)\.c|host/app/info_gpu\.c'
bad=0
say() { echo "$1: $2" && bad=1; }

for file in $(find hls device host sim -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.def' 2>/dev/null | sort); do
    folder=$(dirname "$file")
    [ -n "${may[$folder]+set}" ] || { say "$file" "folder '$folder' is not on the map"; continue; }
    while read -r header; do
        for root in "" host/ host/include/ "$folder/"; do [ -f "$root$header" ] && break; done
        [ -f "$root$header" ] || continue  # generated, or a library's
        from=$(dirname "$root$header")
        [ "$folder" = "$from" ] && continue
        [ "$from" = device ] && [[ $file =~ ^($device_users)$ ]] && continue
        [[ " ${may[$folder]} " == *" $from "* ]] || say "$file" "includes '$header' of $from; $folder may include: ${may[$folder]:-nothing}"
    done < <(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$file")
    grep -q '#include *<mpi.h>' "$file" && [ "$folder" != host/comm ] && say "$file" "includes <mpi.h>: only host/comm knows MPI"
    grep -qE '#include *<xrt' "$file" && [ "$file" != host/offload/fpga_xrt.c ] && say "$file" "includes XRT: only host/offload/fpga_xrt.c may"
    grep -qE '#include *<(cuda|cudnn|cublas|nccl)' "$file" && [ "$folder" != device ] && say "$file" "includes CUDA: only device/ may"
done

# Names are unique in the tree, files have one idea in under 400 lines, and say it in their first line.
find hls device host rtl sim tests bench -type f ! -name README.md -printf '%f\n' 2>/dev/null | sort | uniq -d | while read -r name; do
    echo "$name: name is used twice in the tree"
done | grep . && bad=1
for file in $(find hls device host rtl sim tests bench \( -name '*.[ch]' -o -name '*.sv' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.sh' \) 2>/dev/null) Makefile; do
    [ -f "$file" ] || continue
    lines=$(wc -l <"$file")
    [ "$lines" -lt 400 ] || say "$file" "$lines lines: one idea each, under 400"
done
exit $bad
