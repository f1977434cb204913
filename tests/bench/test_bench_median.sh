#!/bin/bash
# test_bench_median.sh : tests median.sh.
set -eu
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.."
# Run i prints word i of $dir/ratios; "bad" fails.
cat >"$dir/bench" <<'END'
#!/bin/sh
read -r ratio rest <"$0.ratios"
echo "$rest" >"$0.ratios"
[ "$ratio" != bad ] || exit 3
echo '{"kind":"mpi","algorithm":"ring","size":64,"time_us":5.0}'
echo "{\"kind\":\"allreduce\",\"algo\":\"mpi:ring$ratio\",\"type\":\"fp32\",\"size\":64,\"time_us\":5000.0,\"ratio\":1}"
echo "{\"kind\":\"allreduce\",\"algo\":\"offload\",\"type\":\"e5m2\",\"size\":64,\"time_us\":${ratio}000,\"wrong\":${WRONG-0},\"ratio\":$ratio,\"codec_us\":1}"
echo '{"kind":"cast","name":"8 ranks, exact","gbs":1,"ratio":2}'
echo "{\"kind\":\"cast\",\"name\":\"8 ranks, fp32\",\"gbs\":3,\"ratio\":4}"
echo "{\"kind\":\"cast\",\"name\":\"fp32 -> e5m2\",\"gbs\":2$ratio,\"copy_gbs\":9,\"ratio\":1e1,\"ratio_memcpy\":$ratio}"
END
chmod +x "$dir/bench"
medians() {
    echo "$1" >"$dir/bench.ratios"
    bench/median.sh "$(echo "$1" | wc -w)" "$dir/bench" >"$dir/table" || fail "$1: it fails"
    shift
    for says in "$@"; do tr -s ' ' <"$dir/table" | grep -qxF -- "$says" || fail "no line '$says' in: $(cat "$dir/table")"; done
    [ "$(wc -l <"$dir/table")" -eq 6 ] || fail "not 5 rows: $(cat "$dir/table")"
}
medians '3 20 1 7 4' 'offload e5m2 64 4.00 ms 4.00 1.00 .. 20.00 5' 'MPI fp32 64 5.00 ms 1.00 1.00 .. 1.00 5' \
    '8 ranks, exact 1.00 GB/s 2.00 2.00 .. 2.00 5' '8 ranks, fp32 3.00 GB/s 4.00 4.00 .. 4.00 5' 'fp32 -> e5m2 24.00 GB/s 10.00 10.00 .. 10.00 5 to memcpy 4.00'
medians '4 1' 'offload e5m2 64 2.50 ms 2.50 1.00 .. 4.00 2'
echo '1 bad 2' >"$dir/bench.ratios"
if bench/median.sh 3 "$dir/bench" >"$dir/table" 2>&1; then fail "a run that failed is left out: $(cat "$dir/table")"; fi
if bench/median.sh 2 true >"$dir/table" 2>&1; then fail 'no row at all is no failure'; fi
if WRONG=2 bench/median.sh 1 "$dir/bench" >"$dir/table" 2>&1; then fail 'wrong sums have a median'; fi

# emulate.sh: plain steps are 1 and 3 times as fast
cat >"$dir/narrowcast" <<'END'
#!/bin/sh
read -r speed rest <"$0.speeds"
echo "$rest" >"$0.speeds"
echo "speed          $speed images/s"
END
chmod +x "$dir/narrowcast"
echo '10 10 30 10' >"$dir/narrowcast.speeds"
B=$dir bench/training/emulate.sh -n 2 1 >"$dir/table" || fail "emulate.sh: $(cat "$dir/table")"
grep -qx 'median 2.000' "$dir/table" || fail "emulate.sh: $(cat "$dir/table")"
exit $bad
