#!/bin/bash
# test_xrt_device.sh : tests the simulated card as a device of the Xilinx runtime (sim/xrt),
# through build/xrt/try, which uses only XRT's C API. With `long` more scenes under valgrind.
set -eu
. "$(dirname "$0")/../lib/script.sh"
try=$B/xrt/try xclbin=$B/narrowcast.sim.xclbin
[ -x "$try" ] || { echo 'skip: no simulated XRT device in this build (libxrt-dev)'; exit 77; }
export XILINX_XRT=$B/xrt NARROWCAST_SIM_ENGINE=c TMPDIR=$dir
unset NARROWCAST_SIM_LISTEN NARROWCAST_SIM_CARDS NARROWCAST_SIM_FAULT XCL_EMULATION_MODE
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT

# sees RC LINE ARGUMENTS...: `try ARGUMENTS` must end with RC in time and print LINE (for grep)
sees() {
    local rc=0 want=$1 line=$2
    timeout -k 1 120 "$try" "${@:3}" >"$dir/out" 2>&1 || rc=$?
    [ $rc = "$want" ] || fail "'$*': exit $rc: $(grep -v '^[A-Z][^ ]* *[a-z]*:' "$dir/out" | tail -n 4)"
    [ -z "$line" ] || grep -q -- "$line" "$dir/out" || fail "'$*': no line '$line': $(tail -n 3 "$dir/out")"
}

sees 0 '^sim_verilator_1 slot 0 40 C$' "$xclbin" about
sees 0 'frames to 7f000001:[1-9]' "$xclbin" registers
sees 0 '' "$xclbin" memory
sees 0 '' "$xclbin" runs 10000
sees 0 '' "$xclbin" twice
sees 0 '^same$' "$xclbin" uuid
sees 0 '' "$xclbin" forks
if NARROWCAST_SIM_ENGINE=rtl "$try" "$xclbin" about >/dev/null 2>&1; then
    export NARROWCAST_SIM_ENGINE=rtl
    sees 0 'frames to 7f000001:[1-9]' "$xclbin" registers
    sees 0 '' "$xclbin" runs 20
    sees 0 '' "$xclbin" reload
    export NARROWCAST_SIM_ENGINE=c
else
    echo 'not run: the Verilated card (no Verilator)'
fi

# The card of an opened device ends with it and frees its port.
sees 0 'frames to 7f000001:[1-9]' "$xclbin" registers
port=$(sed -n 's/.*frames to 7f000001:\([0-9]*\).*/\1/p' "$dir/out") # free a moment ago
NARROWCAST_SIM_LISTEN=127.0.0.1:$port sees 0 "7f000001:$port" "$xclbin" registers
NARROWCAST_SIM_LISTEN=127.0.0.1:$port sees 0 '' "$xclbin" reload
NARROWCAST_SIM_LISTEN=127.0.0.1:$port "$try" "$xclbin" hold 60 >"$dir/held" 2>&1 &
holder=$!
sleep 0.1
while ! grep -q held "$dir/held" && kill -0 $holder; do sleep 0.1; done
NARROWCAST_SIM_LISTEN=127.0.0.1:$port sees 1 'ended with status 1' "$xclbin" registers
sees 2 '^busy$' "$xclbin" hold 0
sees 0 '' "$xclbin" runs 1 # another kernel of the container
"$B/narrowcast" xclbin --make "$dir/other.xclbin" >/dev/null
printf 'x' | dd of="$dir/other.xclbin" bs=1 seek=416 conv=notrunc status=none # a byte of its UUID
sees 1 'another process uses the card with another container' "$dir/other.xclbin" runs 1
kill -9 $holder
wait $holder 2>/dev/null || true
is_free=''
for _ in $(seq 100); do # the card notices that its owner is gone
    NARROWCAST_SIM_LISTEN=127.0.0.1:$port "$try" "$xclbin" registers >"$dir/out" 2>&1 && is_free=1 && break
    sleep 0.3
done
[ -n "$is_free" ] || fail "port $port is still taken"
sees 0 '^held$' "$xclbin" hold 0
sees 0 '' "$dir/other.xclbin" runs 1

NARROWCAST_SIM_CARDS=3 sees 0 '^sim_verilator_1 slot 2 ' "$xclbin" about 2
NARROWCAST_SIM_CARDS=3 sees 1 'no simulated card 3' "$xclbin" about 3
NARROWCAST_SIM_CARDS=0 sees 1 'no simulated card 0' "$xclbin" about
NARROWCAST_SIM_CARDS=0 sees 1 "no simulated card '0000:00:00.0'" "$xclbin" registers
NARROWCAST_SIM_CARDS=many sees 1 "NARROWCAST_SIM_CARDS='many'" "$xclbin" about

wrong() { LC_ALL=C sed "s/$1/$2/g" "$xclbin" >"$dir/wrong.xclbin"; }
wrong 'reduce_mm:reduce_mm_1' 'reduce_mn:reduce_mm_1'
sees 1 "no kernel 'reduce_mn:reduce_mm_1' at 0x1810000" "$dir/wrong.xclbin" runs
head -c 600 "$xclbin" >"$dir/wrong.xclbin"
sees 1 'not so' "$dir/wrong.xclbin" runs

# 5 is ERT_CMD_STATE_ERROR, 8 ..._TIMEOUT; 2 and 3 are in progress.
NARROWCAST_SIM_FAULT=dies:50 sees 0 '^50 reads$' "$xclbin" dies 50
NARROWCAST_SIM_FAULT=dies:50 sees 0 'killed by signal 9' "$xclbin" dies 50
for n in 1 7 19; do NARROWCAST_SIM_FAULT=dies:$n sees 0 '^state 5$' "$xclbin" fails 20000; done
NARROWCAST_SIM_FAULT=run-hangs sees 0 '^state [238]$' "$xclbin" fails 200
NARROWCAST_SIM_FAULT=read-hangs sees 0 '' "$xclbin" stuck 200
NARROWCAST_SIM_FAULT=uuid sees 0 '^other$' "$xclbin" uuid
NARROWCAST_SIM_FAULT=dies:0 sees 1 "NARROWCAST_SIM_FAULT='dies:0'" "$xclbin" uuid

mkdir "$dir/none" "$dir/less"
echo 'int nothing;' | ${CC:-cc} -shared -fPIC -Wl,-soname,libxrt_noop.so.2 -x c - -o "$dir/none/libxrt_noop.so.2"
rc=0
LD_LIBRARY_PATH=$dir/none "$try" "$xclbin" about >"$dir/out" 2>&1 || rc=$?  # XRT itself may abort()
if [ $rc = 0 ] || ! grep -q 'libxrt_noop lacks xrt_core::singleton' "$dir/out"; then fail "no symbols: exit $rc, $(cat "$dir/out")"; fi
noop=$(ldd "$B/xrt/lib/libxrt_core.so.2" | sed -n 's/.*libxrt_noop.so.2 => \([^ ]*\).*/\1/p')
for name in 8reg_readEjjPj:8reg_reaXEjjPj 6system17get_total_devicesEb:6system17get_total_deviXesEb; do
    LC_ALL=C sed "s/${name%:*}/${name#*:}/g" "$noop" >"$dir/less/libxrt_noop.so.2"
    LD_LIBRARY_PATH=$dir/less sees 1 "this version of XRT is not supported.* lacks .*${name%:*}" "$xclbin" about
done

if command -v valgrind >/dev/null && [ -z "${SAN-}" ]; then
    for what in registers 'runs 50' 'dies 50' ${1:+twice memory reload}; do
        fault=
        [ "${what% *}" = dies ] && fault=dies:50
        # shellcheck disable=SC2086
        NARROWCAST_SIM_FAULT=$fault timeout 120 valgrind -q --error-exitcode=9 --leak-check=full "$try" "$xclbin" $what >"$dir/out" 2>&1 ||
            fail "valgrind, $what: $(grep -m 20 '==' "$dir/out")"
    done
else
    echo 'not run: valgrind (not installed)'
fi
exit $bad
