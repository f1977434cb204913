#!/bin/bash
# test_nc_table.sh : the library answers with the table of host/job/README.md, also if cards lose
# packets; a killed card changes no bit.
set -eu
# shellcheck source=tests/lib/card_net.sh
. "$(dirname "$0")/../lib/card_net.sh"
sed -n '/test_nc_table_mpi$/,/```/p' "$here/../host/job/README.md" | sed '1d;$d' >table
bad_net="--drop 0.05 --dup 0.05 --reorder 0.1"
# shellcheck disable=SC2086
card lossy --engine c $bad_net --seed 3
# shellcheck disable=SC2086
[ -z "$rtl" ] || card rtl $bad_net --seed 4
for name in lossy $rtl; do
    mpirun -np 4 "$B/tests/test_nc_table_mpi" "$(at "$name")" >out 2>err || fail "$name: exit $?: $(cat err)"
    diff out table || fail "$name: host/job/README.md has another table"
done
row=0
while read -r line; do
    case $line in
    *both*)
        card mortal --engine c
        mpirun -np 4 "$B/tests/test_nc_table_mpi" "$(at mortal)" "$(cat mortal.pid)" $row </dev/null >out 2>err || fail "$line: exit $?: $(cat err)"
        ;;
    esac
    row=$((row + 1))
done < <(sed 1d table)
[ $row -ge 9 ] || fail "only $row rows"
exit $bad
