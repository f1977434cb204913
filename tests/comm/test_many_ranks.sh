#!/bin/bash
# test_many_ranks.sh : many more ranks than cores train, twice with the same table. `long`: 270
# ranks, three times, which takes minutes.
set -u
B=${B:-build}
ranks=18 runs=2
[ "${1-}" = long ] && { ranks=270 runs=3; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for ((run = 1; run <= runs; run++)); do
    # lowest priority, as waiting ranks poll
    host/ranks.sh $ranks nice -n 19 "$B/narrowcast" train --data synthetic:2700,3 --batch 270 --model mlp --steps 1 >"$log" 2>&1 </dev/null
    code=$?
    table=$(grep -E '^(run|accuracy|loss|bytes|weights checksum) ' "$log")
    if [ $code -ne 0 ] || [ "$(grep -c . <<<"$table")" -ne 6 ] || [ "${first:=$table}" != "$table" ]; then
        echo "run $run of $ranks ranks: exit $code"
        tail -n 30 "$log"
        exit 1
    fi
done
