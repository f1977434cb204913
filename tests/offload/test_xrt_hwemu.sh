#!/bin/bash
# test_xrt_hwemu.sh : build/xrt/try must see the same with sim/xrt as with XRT's hardware
# emulation, whose simulator is narrowcast-sim (sim/xrt/hwemu_bridge.c). Only with `long`: each
# start sleeps 10 s.
set -eu
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
[ "${1-}" = long ] || { echo 'skip: slow; tests/offload/test_xrt_hwemu.sh long'; exit 77; }
[ -x "$B/xrt/hwemu" ] || { echo 'skip: no simulated XRT device in this build (libxrt-dev)'; exit 77; }
for tool in zip unzip setsid; do
    command -v $tool >/dev/null || { echo "skip: $tool is not installed"; exit 77; }
done
lib=$(ldd "$B/xrt/try" | sed -n 's/.*libxrt_coreutil.so.2 => \(.*\)\/[^/]* .*/\1/p')
[ -e "$lib/libxrt_hwemu.so.2" ] || { echo "skip: no libxrt_hwemu.so.2 in $lib"; exit 77; }
dir=$(mktemp -d)
export USER=narrowcast-hwemu-$$
trap 'rm -rf "$dir" "/tmp/$USER"' EXIT
export XCL_EMULATION_MODE=hw_emu XILINX_XRT=$dir/xrt
bad=0

# The bitstream is an archive with the simulator. XRT uses the first message's length for all
# messages, so it is padded.
mkdir -p "$dir/xrt" "$dir/run" "$dir/pack/behav_waveform/xsim" "/tmp/$USER"
ln -s "$lib" "$dir/xrt/lib"
for model in c rtl; do
    if [ $model = rtl ] && ! env -u XCL_EMULATION_MODE XILINX_XRT="$B/xrt" NARROWCAST_SIM_ENGINE=rtl "$B/xrt/try" - about >/dev/null 2>&1; then
        echo 'not run: the Verilated card (no Verilator)'
        continue
    fi
    printf '#!/bin/sh\nexec "%s" "%s" --engine %s >"%s/simulator" 2>&1\n' "$B/xrt/hwemu" "$B/narrowcast-sim" $model "$dir" \
        >"$dir/pack/behav_waveform/xsim/simulate.sh"
    chmod 755 "$dir/pack/behav_waveform/xsim/simulate.sh"
    rm -f "$dir/sim.zip"
    (cd "$dir/pack" && zip -qr "$dir/sim.zip" behav_waveform)
    "$B/narrowcast" xclbin --make "$dir/card.xclbin" --mode hw_emu --bitstream "$dir/sim.zip" >/dev/null
    printf '[Emulation]\nsystem_dpa=false\npacket_size=4096\n[Debug]\npad=%05000d\n' 0 >"$dir/run/xrt.ini"
    cp "$B/xrt/try" "$dir/run/"  # XRT looks for xrt.ini beside the program
    for what in identity 'runs 3'; do
        # libxrt_hwemu ends its process group
        # shellcheck disable=SC2086
        if ! (cd "$dir/run" && rm -rf .run && timeout -k 1 100 setsid -w ./try "$dir/card.xclbin" $what >"$dir/out" 2>&1); then
            echo "test_xrt_hwemu.sh: $model, $what: $(tail -n 5 "$dir/out" "$dir/simulator")" >&2
            bad=1
        fi
    done
done
exit $bad
