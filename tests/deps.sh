#!/bin/bash
# deps.sh : fails if an #include breaks the folder map or a file breaks a structural rule: file
# names are unique, files and functions are short, clang can link all CPU_HOT functions, and pip
# checks hashes.
# usage: deps.sh [TREE]   checks another tree (test_deps.sh plants errors there)
#        deps.sh --map    prints the map: each folder and the folders that it may include
set -u

# Top folders (hls, device, sim) and folders of host/: each may include itself and all rooms
# (subfolders) of the listed folders. host/include, the public API, includes none.
declare -A may=(
    [hls]=""
    [device]="hls"
    [host/include]=""
    [host/base]="hls"
    [host/control]="host/base hls"
    [host/vec]="host/base hls"
    [host/codec]="host/vec host/base hls"
    [host/comm]="host/codec host/vec host/base host/include hls"
    [host/reduce]="host/comm host/codec host/vec host/base hls"
    [host/offload]="host/control host/reduce host/comm host/codec host/vec host/base hls"
    [host/job]="host/offload host/reduce host/comm host/codec host/vec host/base host/include hls"
    [host/pmpi]="host/job host/base host/include hls"
    [host/collnet]="host/job host/offload host/reduce host/comm host/codec host/vec host/base host/include hls"
    [host/nn]="host/codec host/vec host/base hls"
    [host/app]="host/nn host/job host/offload host/control host/reduce host/comm host/codec host/vec host/base host/include hls"
    [sim]="host/control hls host/vec host/base"
    [sim/xrt]="host/offload host/base hls"
)
# Rooms that each room may include within its folder; for GPU code of host/ also those of device/.
declare -A rooms=(
    [hls/arith]=""
    [hls/card]=""
    [hls/core]="hls/arith hls/card"
    [hls/nn]="hls/arith"
    [device/run]=""
    [device/vec]="device/run"
    [device/nn]="device/run device/vec"
    [host/base]=""
    [host/base/opt]="host/base"
    [host/vec]="host/vec/cast host/vec/sum host/vec/list"
    [host/vec/cast]="host/vec"
    [host/vec/sum]="host/vec host/vec/cast"
    [host/vec/list]="host/vec host/vec/cast"
    [host/vec/gpu]="host/vec host/vec/list device/run device/vec"
    [host/comm]=""
    [host/comm/mpi]="host/comm"
    [host/comm/over]="host/comm"
    [host/comm/virtual]="host/comm"
    [host/comm/algo]="host/comm host/comm/mpi host/comm/virtual host/comm/gpu"
    [host/comm/gpu]="host/comm host/comm/algo device/run"
    [host/offload]="host/offload/window host/offload/wire host/offload/card host/offload/xrt"
    [host/offload/window]="host/offload/wire host/offload/card"
    [host/offload/wire]="host/offload/card"
    [host/offload/card]="host/offload/window"
    [host/offload/xrt]="host/offload/window host/offload/card"
    [host/nn]=""
    [host/nn/layers]="host/nn host/nn/cpu"
    [host/nn/cpu]="host/nn"
    [host/nn/cuda]="host/nn device/nn"
    [host/nn/round]="host/nn"
    [host/nn/optim]="host/nn"
    [host/nn/data]="host/nn"
    [host/nn/zoo]="host/nn host/nn/data"
    [host/app]="host/app/train"
    [host/app/receipts]=""
    [host/app/train]="host/app host/app/doctor host/app/receipts"
    [host/app/plot]="host/app host/app/train"
    [host/app/files]="host/app"
    [host/app/predict]="host/app host/app/train"
    [host/app/doctor]="host/app"
    [host/app/conform]="host/app"
    [host/app/card]="host/app"
    [sim]="sim/rtl"
    [sim/rtl]="sim"
)
# house FOLDER: sets $house to the folder in `may` that has the room FOLDER
house() {
    case $1 in
    sim/xrt | host/include) house=$1 ;;
    host/*) house=$(cut -d / -f 1,2 <<<"$1") ;;
    *) house=${1%%/*} ;;
    esac
}
declare -A all=() # folder -> all folders that it may include
for folder in "${!may[@]}"; do [ "$folder" = hls ] || [ "$folder" = device ] || rooms[$folder]=${rooms[$folder]-}; done
for folder in "${!rooms[@]}"; do
    house "$folder"
    list="$folder ${rooms[$folder]}"
    for room in "${!rooms[@]}"; do
        for other in ${may[$house]}; do
            [[ $room/ != "$other"/* ]] || [ "$room" = sim/xrt ] || list+=" $room"
        done
    done
    all[$folder]=$(tr ' ' '\n' <<<"$list" | grep . | sort -u | tr '\n' ' ')
done
if [ "${1-}" = --map ]; then
    for folder in "${!all[@]}"; do echo "$folder ${all[$folder]}"; done | sort
    exit
fi
cd "${1:-$(dirname "$0")/..}" || exit 1

# The only files that may include device/ without an entry in the map.
device_users='host/comm/algo/algo_(.*_gpu|native_nccl)\.c|host/app/doctor/info_gpu\.c'
bad=0
say() { echo "$1: $2" && bad=1; }

sources() { find hls device host sim \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.def' \) "$@" 2>/dev/null; }

while read -r folder; do
    [ -n "${all[$folder]+set}" ] || say "$folder" "folder is not on the map"
done < <(sources -printf '%h\n' | sort -u)
while IFS=: read -r file header; do
    folder=${file%/*} name=${header:1}
    [ -n "${all[$folder]+set}" ] || continue
    case $header in
    '<mpi.h' | '<mpi-ext.h' | '"comm/mpi/comm_mpi.h' | '"comm/mpi/mpi_calls.h') [[ $file =~ ^host/(comm/mpi/.*|comm/algo/algo_native\.c|pmpi/.*)$ ]] ||
        say "$file" "includes ${header:1}: only host/comm/mpi, algo_native.c and host/pmpi know MPI" ;;
    '<xrt'* | '<xcl'* | '<ert'*) [ "$file" = host/offload/xrt/fpga_xrt.c ] || [ "$folder" = sim/xrt ] ||
        say "$file" "includes XRT: only host/offload/xrt/fpga_xrt.c and sim/xrt/ may" ;;
    '<rdma'*) [ "$file" = host/offload/wire/wire_fabric.c ] || say "$file" "includes libfabric: only host/offload/wire/wire_fabric.c may" ;;
    '<xdp'* | '<bpf'*) [[ $file =~ ^host/offload/wire/wire_(xdp|filter)\.c$ ]] || say "$file" "includes libxdp: only wire_xdp.c and wire_filter.c of host/offload/wire may" ;;
    '<dnnl'*) [ "$file" = host/nn/cpu/gemm_dnnl.c ] || say "$file" "includes oneDNN: only host/nn/cpu/gemm_dnnl.c may" ;;
    '<cuda'* | '<cudnn'* | '<cublas'* | '<nccl'*) [[ $folder == device/* ]] || say "$file" "includes CUDA: only device/ may" ;;
    esac
    [ "${header:0:1}" = '"' ] || continue
    for root in "" host/ host/include/ "$folder/"; do [ -f "$root$name" ] && break; done
    [ -f "$root$name" ] || continue  # generated, or of a library
    from=$root$name from=${from%/*}
    [ "$folder" = "$from" ] && continue
    [[ $from == device/* ]] && [[ $file =~ ^($device_users)$ ]] && continue
    [ "$file" = device/run/library.cu ] && [[ $from == device/* ]] && continue # it lists all libraries
    [[ " ${all[$folder]} " == *" $from "* ]] || say "$file" "includes '$name' of $from; $folder may include: ${all[$folder]:-nothing}"
done < <(sources -exec sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\(["<][^">]*\).*/\1/; T; s/.*/&/; F; p' {} + | paste -d : - - | sort)

find hls device host rtl sim tests bench -type f ! -name README.md -printf '%f\n' 2>/dev/null | sort | uniq -d | while read -r name; do
    echo "$name: name is used twice in the tree"
done | grep . && bad=1
find hls device host rtl sim tests bench Makefile \( -name '*.[ch]' -o -name '*.sv' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.sh' \
    -o -name Makefile \) -exec wc -l {} + 2>/dev/null | awk '$1 >= 500 && $2 != "total" { print $2 ": " $1 " lines: one idea each, under 500" }' | grep . && bad=1

# CPU_HOT functions (host/nn/cpu/cpu_ops.h) are static, but clang makes global symbols of them:
# equal names do not link.
twice=$(grep -rhoE '^CPU_HOT .*' host --include=*.[ch] 2>/dev/null | sed -n 's/^[^(]*[ *]\([a-z0-9_]*\)(.*/\1/p' | sort | uniq -d)
[ -z "$twice" ] || say "$twice" "name of two CPU_HOT functions: clang cannot link them"

# A replaced package of PyPI must not be installed.
while read -r file; do
    grep -q -- --require-hashes "$file" || say "$file" "runs pip without --require-hashes"
done < <(grep -rlE "pip[', ]*install" --include=*.sh --include=*.py host rtl tests bench sim hls device 2>/dev/null)

# Functions end with the first closing brace in column 1, as clang-format sets them.
long=$(find host device \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -exec awk '
    /^$|^[#}]|[;{]$|\*\/$/ && !/^{$/ { before = FNR }
    /^{$/ { first = before + 1 }
    /^}/ && first { if (FNR - first >= 60) print FILENAME ":" first ": " FNR - first + 1 " lines: functions have 60 at most"; first = 0 }
    ' {} + 2>/dev/null | sort)
[ -z "$long" ] || { echo "$long"; bad=1; }
exit $bad
