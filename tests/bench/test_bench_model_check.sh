#!/bin/bash
# test_bench_model_check.sh : predict_check.sh must find a time a third off and a point that the
# model lacks.
set -u
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.." || exit 1
ln -s "$n" "$dir/narrowcast"
export B=$dir
check() { bench/allreduce/predict_check.sh --table >"$dir/out" 2>&1; }

check && fail 'a table of nothing'
grep -q 'run it without --table first' "$dir/out" || fail "nothing measured: $(cat "$dir/out")"

# the model's input: casts, a ring without limit, a card
row() {
    echo "{\"kind\":\"allreduce\",\"label\":\"$2\",\"algo\":\"$3\",\"type\":\"$4\",\"ranks\":4,\"size\":$5,\"time_us\":$6,\"wrong\":0,\"ratio\":1}" >>"$dir/$1"
}
echo '{"kind":"cast","name":"fp32 -> e5m2","gbs":10,"ratio":1}' >"$dir/predict_rates.json"
row predict_rates.json none ring e5m2 1024 400
row predict_rates.json none ring e5m2 2097152 5000
row predict_rates.json none offload e5m2 2097152 7000
row predict_rates.json 500mbit ring e5m2 2097152 20000
points() {
    rm -f "$dir/predict_points.json"
    local i=0
    for link in 1gbit 2.5gbit; do
        for algo in direct ring offload; do
            for size in 1048576 67108864; do
                i=$((i + 1))
                row predict_points.json $link $algo e5m2 $size "$(sed -n "${i}p" "$1")e3"
            done
        done
    done
}
yes 1000 | head -n 12 >"$dir/ms"
points "$dir/ms"
check && fail 'times of 1 s were met'
[ "$(grep -c ' off |$' "$dir/out")" = 12 ] || fail "not 12 points are off: $(cat "$dir/out")"
awk -F ' *[|] *' '/bit/ { print $7 }' "$dir/out" >"$dir/ms"
points "$dir/ms"
check || fail "the model does not meet itself: $(cat "$dir/out")"
grep -q '^12 of 12 points within 20 %' "$dir/out" || fail "not 12: $(cat "$dir/out")"
awk 'NR == 5 { $1 *= 1.33 } { print }' "$dir/ms" >"$dir/off"
points "$dir/off"
check && fail 'a third was within 20 %'
grep -q '^11 of 12 points within 20 %' "$dir/out" || fail "not 11: $(cat "$dir/out")"
[ "$(grep -c '^| 1gbit | offload | e5m2 | 1 MiB .* 0.75 off |$' "$dir/out")" = 1 ] || fail "not the fifth: $(cat "$dir/out")"
points "$dir/ms"
row predict_points.json 1gbit gather e5m2 1048576 1000
check && fail 'a point without an answer'
grep -q 'the model says nothing of 1gbit gather e5m2 1048576' "$dir/out" || fail "gather: $(cat "$dir/out")"
exit $bad
