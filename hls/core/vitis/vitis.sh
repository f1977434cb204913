#!/bin/bash
# vitis.sh : builds the container of a real card, an Alveo U55C.
#   hls/core/vitis/vitis.sh VNX [WORK]
#     VNX    a clone of github.com/Xilinx/xup_vitis_network_example, with its submodules
#     WORK   the output folder (build/vitis)
#     B      (environment) the build folder (build)
#
# Packages the RTL kernels, compiles the HLS kernels, links all of them with Xilinx' 100G
# network layer, and checks the result against hls/card/kernels.def. Needs Vitis with v++
# --mode hls (2023.2 or later), the platform below, a licence for the CMAC, and hours.
#
# NOT RUN: no Vitis was available. tests/hls/test_vitis.sh runs this script with stand-ins for the
# tools. It does not show that the real tools accept the files, or that the design meets its clock.
set -eu
platform=xilinx_u55c_gen3x16_xdma_3_202210_1
part=xcu55c-fsvh2892-2L-e
sockets=16 # nic_kernel's parameter

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../../.." && pwd)
say() {
    echo "vitis.sh: $*" >&2
    exit 1
}
built=${B:-$tree/build}
B=$(cd "$built" 2>/dev/null && pwd) || say "'$built' is no folder: make"
[ $# -ge 1 ] || say "which clone of xup_vitis_network_example? usage: vitis.sh VNX [WORK]"
[ -f "$1/Ethernet/post_sys_link.tcl" ] || say "'$1' is no clone of xup_vitis_network_example: it has no Ethernet/post_sys_link.tcl"
vnx=$(cd "$1" && pwd)
layers=$vnx/NetLayers/100G-fpga-network-stack-core
[ -n "$(ls -A "$layers" 2>/dev/null)" ] || say "'$layers' is empty: git submodule update --init --recursive"
for tool in v++ vivado make; do
    command -v "$tool" >/dev/null || say "$tool is not there: source Vitis' settings64.sh first"
done
[ -x "$B/narrowcast" ] || say "$B/narrowcast is not there: make"
[ -f "$B/rtl/nc_pkg.sv" ] || say "$B/rtl/nc_pkg.sv is not there: make $B/rtl/nc_pkg.sv"
mkdir -p "${2:-$B/vitis}"
work=$(cd "${2:-$B/vitis}" && pwd)

# Build the network layer and the MAC with their own makefiles.
make -C "$vnx/Ethernet" all DEVICE=$platform INTERFACE=0
make -C "$vnx/NetLayers" all DEVICE=$platform MAX_SOCKETS=$sockets
xo=("$vnx/Ethernet/_x.$platform/cmac_0.xo" "$vnx/NetLayers/_x.$platform/networklayer.xo")

# rtl KERNEL TOP: package a SystemVerilog kernel of ours, with all modules except those for proofs.
rtl() {
    mapfile -t modules < <(find "$tree/rtl" -name '*.sv' ! -name 'prove_*' | sort)
    "$B/narrowcast" xclbin --kernel-xml "$1" >"$work/$1.xml"
    (cd "$work" && vivado -mode batch -notrace -source "$here/package_kernel.tcl" -tclargs \
        $part "$2" "$1" "$work/$1.xml" "$work/$1.xo" "$work" "$B/rtl/nc_pkg.sv" "${modules[@]}")
    xo+=("$work/$1.xo")
}
rtl nic_core nic_kernel
rtl reduce_mm mm_kernel

# hls KERNEL FILE: compile one of our C kernels. v++ names the object after its top function.
hls() {
    cat >"$work/$1.cfg" <<END
part=$part

[hls]
flow_target=vitis
clock=3.1ns
syn.top=$1
syn.file=$tree/hls/core/$2
syn.cflags=-std=c11 -I$tree
package.output.format=xo
END
    v++ -c --mode hls --config "$work/$1.cfg" --work_dir "$work/$1"
    local made
    made=$(find "$work/$1" -name '*.xo' | head -1)
    [ -n "$made" ] || say "v++ has made no .xo of $1.cfg"
    xo+=("$made")
}
kernels=$(sed -n 's/^KERNEL([^,]*, *\([a-z_]*\),.*[ "]\([a-z_]*\.c\)").*/\1 \2/p' "$tree/hls/card/kernels.def")
while read -r kernel file; do
    hls "$kernel" "$file" </dev/null
done <<<"$kernels"

for object in "${xo[@]}"; do [ -f "$object" ] || say "'$object' was not made"; done
v++ -l -t hw --save-temps --temp_dir "$work/link" --config "$here/u55c.cfg" --user_ip_repo_paths "$layers/synthesis_results_HBM" \
    --advanced.param "compiler.userPostSysLinkOverlayTcl=$vnx/Ethernet/post_sys_link.tcl" -o "$work/narrowcast.u55c.xclbin" "${xo[@]}"
"$B/narrowcast" xclbin --check "$work/narrowcast.u55c.xclbin"
