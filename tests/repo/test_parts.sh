#!/bin/bash
# test_parts.sh : an empty VERILATOR, FABRIC, XDP, XRT, CXX, NVCC, CUDNN or NCCL must leave its part
# out of make's commands. `long`: builds (each from a copy of $B, all together from nothing), tests,
# and trains through a card.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
dir=$B/parts
rm -rf "$dir" && mkdir -p "$dir" || exit 1
unset MAKEFLAGS MFLAGS MAKEOVERRIDES VERILATOR FABRIC XDP XRT CXX NVCC CUDNN NCCL
bad=0
fail() { echo "test_parts.sh: $*"; bad=1; }

# plans NAME VARIABLE=...: writes a build's commands to a file. lacks, has NAME PATTERN...: no
# command, or some command, matches.
plans() { make -n V=1 B="$dir/none" "${@:2}" all >"$dir/$1" 2>&1 || fail "make -n ${*:2}: $(tail -n 3 "$dir/$1")"; }
lacks() {
    for pattern in "${@:2}"; do
        if grep -qE -- "$pattern" "$dir/$1"; then fail "a build without $1 has $pattern"; fi
    done
}
has() {
    for pattern in "${@:2}"; do grep -qE -- "$pattern" "$dir/$1" || fail "a build without $1 has no $pattern"; done
}
for folder in '' "$dir/a b"; do
    make --no-print-directory -n B="$folder" all >"$dir/folder" 2>&1 && fail "B='$folder' is taken"
    if [ "$(wc -l <"$dir/folder")" -ne 1 ] || ! grep -q 'must be a folder' "$dir/folder"; then fail "B='$folder': $(head -n 3 "$dir/folder")"; fi
done
all=(VERILATOR='' FABRIC='' XDP='' DNNL='' XRT='' CXX='' NVCC='' CUDNN='' NCCL='')
plans verilator VERILATOR=
lacks verilator 'verilator --|shell_rtl|verilated' && has verilator sim/rtl/shell_none narrowcast-sim
plans fabric FABRIC=
lacks fabric '-lfabric|libnarrowcast_fabric|host/offload/wire/wire_fabric\.c' && has fabric host/offload/wire/wire.c
plans xdp XDP=
lacks xdp '-lxdp|libnarrowcast_xdp|host/offload/wire/wire_(xdp|filter|hop)\.c' && has xdp host/offload/wire/wire.c
plans dnnl DNNL=
lacks dnnl '-ldnnl|libnarrowcast_dnnl|host/nn/cpu/gemm_dnnl\.c' && has dnnl host/nn/cpu/gemm_bf16.c
plans xrt XRT=
lacks xrt '-lxrt|fpga_xrt|sim/xrt/' && has xrt narrowcast-sim
plans cxx CXX=
lacks cxx '\.cpp|emu/build.sh|c\+\+' && has cxx narrowcast-sim sim/rtl/shell_none
plans nvcc NVCC=
lacks nvcc 'bin/nvcc |libcublas'
plans cudnn CUDNN=
lacks cudnn 'libcudnn|libcublas'
plans nccl NCCL=
lacks nccl 'libnccl\.|HAVE_NCCL' # libnccl-net-narrowcast.so does not need it
plans parts "${all[@]}"
lacks parts 'verilator --|shell_rtl|-lfabric|-lxdp|-ldnnl|-lxrt|host/offload/wire/wire_(fabric|xdp)\.c|\.cpp|emu/build.sh|c\+\+|bin/nvcc ' && has parts narrowcast-sim sim/rtl/shell_none

fake=$PWD/$dir/fake
mkdir "$fake"
# shellcheck disable=SC2016 # for the stand-ins
{
    printf '#!/bin/sh\ncase "$*" in *install*) echo "$*" >>%s/asked; echo "Need to get 1 MB of archives."; esac\n' "$fake" >"$fake/apt-get"
    printf '#!/bin/sh\nexec "$@"\n' >"$fake/sudo"
    printf '#!/bin/sh\nexit 1\n' >"$fake/python3"
}
chmod +x "$fake"/*
# asks LIST GOAL VARIABLE=...: packages of LIST (none, needs, tools) for apt-get
asks() {
    rm -rf "$dir/new" "$fake/asked" && touch "$fake/asked"
    local list=none plan=-n
    [ "$2" != tools ] || plan=''
    # shellcheck disable=SC2086 # a word or none
    PATH=$fake:$PATH make $plan B="$dir/new" CXX=nosuch "${@:3}" "$2" >"$dir/said" 2>&1
    ! grep -q 'openmpi' "$fake/asked" || list=needs
    ! grep -qE 'g\+\+|verilator|yosys|python3' "$fake/asked" || list=$list,tools
    [ "$list" = "$1" ] || fail "make $2 ${*:3} asks for '$list', not '$1': $(cat "$fake/asked")"
}
for goal in run all install check; do asks none $goal; done
asks needs run MPICC=nosuch
grep -q '^narrowcast: missing: .*openmpi.*; .*apt-get install' "$dir/said" || fail "make run does not say that MPI is missing: $(head -n 3 "$dir/said")"
asks none,tools test
grep -q '^narrowcast: missing: .*g++.*; what needs it is left out; ' "$dir/said" || fail "make test does not say that g++ is missing: $(head -n 3 "$dir/said")"
asks none,tools tools

# built some|check VARIABLE=...: builds, tests and trains
tests=(tests/sim/test_sim_cli.sh tests/app/test_cli.sh tests/device/test_gpu_none.sh)
programs=(test_sim_listen test_offload_fabric test_comm_mpi test_comm_fail_mpi test_offload_mpi test_attack)
built() {
    local b=$dir/build said=$dir/said
    make -s B="$b" "${@:2}" all >"$said" 2>&1 || { fail "make ${*:2}: $(tail -n 5 "$said")" && return; }
    if [ "$1" = check ]; then
        make -s B="$b" "${@:2}" check >"$said" 2>&1
    else
        env "${@:2}" B="$b" tests/run.sh --check "${tests[@]}" tests/offload/test_train_offload.sh "${programs[@]/#/$b/tests/}" >"$said" 2>&1
    fi || fail "tests of a build with ${*:2}: $(grep -E 'FAIL|  \|' "$said")"
    make -s B="$b" "${@:2}" run ARGS='--data synthetic:240,3 --batch 24 --steps 4' >"$said" 2>&1 || fail "make ${*:2} run: $(tail -n 5 "$said")"
    grep -q '^all-reduce: offload through 1 card' "$said" || fail "make ${*:2} run: not through a card: $(cat "$said")"
    echo "built, tested and ran with ${*:2}"
}
if [ "${1-}" = long ]; then
    for word in "${all[@]}"; do
        rm -rf "$dir/build" && mkdir "$dir/build" || exit 1
        for made in o flags installed rtl gpu emu libnarrowcast.a libsim.a; do [ ! -e "$B/$made" ] || cp -a "$B/$made" "$dir/build/"; done
        built some "$word"
    done
    rm -rf "$dir/build"
    built check "${all[@]}"
fi
rm -rf "$dir"
exit $bad
