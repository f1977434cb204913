#!/bin/sh
# test_formal.sh : runs the quick proofs of rtl/check/formal.list (`long`: all). A planted false
# property must not be proven.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
export B
if ! command -v yosys >/dev/null 2>&1; then
    echo "skip: no yosys"
    exit 77
fi
make -s B="$B" "$B/rtl/nc_pkg.sv" || exit 1

planted() {
    dir=$B/formal/planted
    rm -rf "$dir"
    mkdir -p "$dir/tests" && cp -r rtl "$dir/" && cp tests/formal.sh "$dir/tests/" || exit 1
    sed "$2" "rtl/$1.sv" >"$dir/rtl/$1.sv"
    cmp -s "rtl/$1.sv" "$dir/rtl/$1.sv" && echo "nothing to plant in $1: $2" && exit 1
    if "$dir/tests/formal.sh" "$1" >"$dir/log" 2>&1 || ! grep -q "^NOT PROVEN $1" "$dir/log"; then
        echo "proven though it does not hold: $1, $2" && exit 1
    fi
}
planted skid "s/held_q == 2'd2 || in_ready_o/in_ready_o/"
planted slot_rule 's/assert (/assert (!duplicate_o \&\& /'

if [ "${1-}" = long ]; then
    tests/formal.sh
else
    tests/formal.sh quick
fi
