#!/bin/bash
# deps.sh : fails when an #include goes against the arrows of the folder map (README.md), when a name is used twice in the tree, when
# clang could not link two functions, when pip checks no hashes, and when a file or a function is too long.
# usage: deps.sh [TREE]   (another tree: for the check of the check, test_deps.sh)
#        deps.sh --map    prints the map: a line a folder, and those that it may include
set -u

# What each folder may include. host/include is the public API: anybody, but it includes nothing of ours.
declare -A may=(
    [hls]="hls"
    [device]="device hls"
    [host/include]=""
    [host/base]="host/base hls"
    [host/control]="host/control host/base hls"
    [host/vec]="host/vec host/base hls"
    [host/codec]="host/codec host/vec host/base hls"
    [host/comm]="host/comm host/codec host/vec host/base host/include hls"
    [host/reduce]="host/reduce host/comm host/codec host/vec host/base hls"
    [host/offload]="host/offload host/control host/reduce host/comm host/codec host/vec host/base hls"
    [host/job]="host/job host/offload host/reduce host/comm host/codec host/vec host/base host/include hls"
    [host/pmpi]="host/pmpi host/base host/include hls"
    [host/collnet]="host/collnet host/job host/offload host/reduce host/comm host/codec host/vec host/base host/include hls"
    [host/nn]="host/nn host/codec host/vec host/base hls"
    [host/app]="host/app host/nn host/job host/offload host/control host/reduce host/comm host/codec host/vec host/base host/include hls"
    [sim]="sim host/control hls host/vec host/base"
    [sim/xrt]="sim/xrt host/offload host/base hls"
)
if [ "${1-}" = --map ]; then
    for folder in "${!may[@]}"; do echo "$folder ${may[$folder]}"; done | sort
    exit
fi
cd "${1:-$(dirname "$0")/..}" || exit 1

# The only files that may leave their folder's list, or use a foreign library.
device_users='host/vec/(gpu.*|.*_cuda)\.[ch]|host/nn/nn_cuda.*\.[ch]|host/comm/mates.*\.[ch]|host/comm/algo_(.*_gpu|native_nccl)\.c|host/app/info_gpu\.c'
bad=0
say() { echo "$1: $2" && bad=1; }

sources() { find hls device host sim \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.def' \) "$@" 2>/dev/null; }

while read -r folder; do
    [ -n "${may[$folder]+set}" ] || say "$folder" "folder is not on the map"
done < <(sources -printf '%h\n' | sort -u)
while IFS=: read -r file header; do
    folder=${file%/*} name=${header:1}
    [ -n "${may[$folder]+set}" ] || continue
    case $header in
    '<mpi.h' | '<mpi-ext.h' | '"comm/comm_mpi.h') [[ $file =~ ^host/(comm/(comm_mpi.*|comm_library\.c|algo_native\.c)|pmpi/.*)$ ]] ||
        say "$file" "includes ${header:1}: only host/comm knows MPI, in comm_mpi*.c, comm_library.c and algo_native.c, and host/pmpi" ;;
    '<xrt'* | '<xcl'* | '<ert'*) [ "$file" = host/offload/fpga_xrt.c ] || [ "$folder" = sim/xrt ] ||
        say "$file" "includes XRT: only host/offload/fpga_xrt.c and sim/xrt/ may" ;;
    '<rdma'*) [ "$file" = host/offload/wire_fabric.c ] || say "$file" "includes libfabric: only host/offload/wire_fabric.c may" ;;
    '<cuda'* | '<cudnn'* | '<cublas'* | '<nccl'*) [ "$folder" = device ] || say "$file" "includes CUDA: only device/ may" ;;
    esac
    [ "${header:0:1}" = '"' ] || continue
    for root in "" host/ host/include/ "$folder/"; do [ -f "$root$name" ] && break; done
    [ -f "$root$name" ] || continue  # generated, or a library's
    from=$root$name from=${from%/*}
    [ "$folder" = "$from" ] && continue
    [ "$from" = device ] && [[ $file =~ ^($device_users)$ ]] && continue
    [[ " ${may[$folder]} " == *" $from "* ]] || say "$file" "includes '$name' of $from; $folder may include: ${may[$folder]:-nothing}"
done < <(sources -exec sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\(["<][^">]*\).*/\1/; T; s/.*/&/; F; p' {} + | paste -d : - - | sort)

# Names are unique in the tree, files have one idea in under 400 lines, and say it in their first line.
find hls device host rtl sim tests bench -type f ! -name README.md -printf '%f\n' 2>/dev/null | sort | uniq -d | while read -r name; do
    echo "$name: name is used twice in the tree"
done | grep . && bad=1
find hls device host rtl sim tests bench Makefile \( -name '*.[ch]' -o -name '*.sv' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.sh' \
    -o -name Makefile \) -exec wc -l {} + 2>/dev/null | awk '$1 >= 400 && $2 != "total" { print $2 ": " $1 " lines: one idea each, under 400" }' | grep . && bad=1

# A CPU_HOT function (host/nn/cpu_ops.h) is static, but clang makes global symbols of its name: two of one name do not link.
twice=$(grep -rhoE '^CPU_HOT .*' host --include=*.[ch] 2>/dev/null | sed -n 's/^[^(]*[ *]\([a-z0-9_]*\)(.*/\1/p' | sort | uniq -d)
[ -z "$twice" ] || say "$twice" "name of two CPU_HOT functions: clang cannot link them"

# Packages from PyPI are pinned by their hashes, so that nobody can exchange them.
while read -r file; do
    grep -q -- --require-hashes "$file" || say "$file" "runs pip without --require-hashes"
done < <(grep -rlE "pip[', ]*install" --include=*.sh --include=*.py host rtl tests bench sim hls device 2>/dev/null)

# Functions of host/ and device/, from their first line to the brace that ends them, as clang-format sets them.
long=$(find host device \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -exec awk '
    /^$|^[#}]|[;{]$|\*\/$/ && !/^{$/ { before = FNR }
    /^{$/ { first = before + 1 }
    /^}/ && first { if (FNR - first >= 60) print FILENAME ":" first ": " FNR - first + 1 " lines: functions have 60 at most"; first = 0 }
    ' {} + 2>/dev/null | sort)
[ -z "$long" ] || { echo "$long"; bad=1; }
exit $bad
