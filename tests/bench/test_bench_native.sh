#!/bin/bash
# test_bench_native.sh : tests bench_native and bench_native.sh. The baseline is MPI's faster
# all-reduce.
set -eu
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.."

mkdir "$dir/bin"
cat >"$dir/bin/mpirun" <<'END'
#!/bin/sh
env | grep _MCA_ | sort
case ${OMPI_MCA_coll_libnbc_iallreduce_algorithm-} in ring) echo '"ms":1.5' ;; *) echo '"ms":2.5' ;; esac
END
chmod +x "$dir/bin/mpirun"
B=$dir ROUNDS=1 PATH="$dir/bin:$PATH" OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1 \
    bench/allreduce/bench_native.sh 2 >"$dir/out" || fail "$(cat "$dir/out")"
grep -q '^ring  *1.50 ms$' "$dir/out" || fail "no trial of ring: $(cat "$dir/out")"
[ "$(sed -n 's/OMPI_MCA_coll_libnbc_iallreduce_algorithm=//p' "$dir/out")" = ring ] || fail "not by the fastest algorithm: $(cat "$dir/out")"
if grep 'single_copy\|yield\|binding' "$dir/out" >&2; then fail 'Open MPI is not run with its own settings'; fi

# --- ratios and times are of one run ---
[ -x "$B/bench_native" ] || { echo 'skip  bench_native is not built'; exit 77; }
host/ranks.sh 2 "$B/bench_native" --mib 1 --reps 1 --json >"$dir/json" 2>"$dir/said" || fail "$(cat "$dir/said")"
grep -q '^{"kind":"mpi","allreduce":"[a-z_]*","copies":"[^"]*(process_vm_readv is [not ]*permitted here)"}' "$dir/json" ||
    fail "does not say what MPI does: $(cat "$dir/json")"
by() { sed -n "s/.*\"name\":\"$1\".*\"$2\":\([0-9.e+-]*\).*/\1/p" "$dir/json"; }
[ "$(grep -c '"kind":"allreduce"' "$dir/json")" -eq 8 ] || fail "not 8 rows: $(cat "$dir/json")"
for name in 'MPI_Allreduce fp32' 'MPI_Iallreduce fp32' 'MPI_Iallreduce our MPI_Op fp32' 'MPI_Iallreduce fp16 nearest' 'direct e5m2 exact'; do
    awk -v ms="$(by "$name" ms)" -v base="$(by "$name" fp32_ms)" -v other="$(by "$name" fp32_slower_ms)" -v ratio="$(by "$name" ratio)" \
        'BEGIN { exit !(ms > 0 && base > 0 && base <= other && ratio > 0.999 * base / ms && ratio < 1.001 * base / ms) }' ||
        fail "$name: not a ratio to the faster of two: $(cat "$dir/json")"
done
host/ranks.sh 2 "$B/bench_native" --mib 1 --reps 1 --only direct >"$dir/table" 2>"$dir/said"
grep -q 'MPI_Allreduce by .*; copies between ranks: ' "$dir/table" || fail "$(cat "$dir/table")"
! host/ranks.sh 2 "$B/bench_native" --only nothing --mib 1 >"$dir/table" 2>"$dir/said" || fail '--only nothing was taken'
grep -q "no row has 'nothing' in its name" "$dir/said" || fail "--only nothing: $(cat "$dir/said")"
exit $bad
