#!/bin/bash
# test_bench_cast.sh : tests bench_cast, whose baselines are the fastest copy and memcpy.
set -eu
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.."
[ -x "$B/bench_cast" ] || { echo 'skip  bench_cast is not built'; exit 77; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

# Ratios and speeds are of one run.
"$B/bench_cast" --mib 1 --reps 1 --json >"$dir/json"
grep '"kind":"copy"' "$dir/json" >"$dir/copies"
grep '"kind":"cast"' "$dir/json" >"$dir/rows"
[ "$(wc -l <"$dir/rows")" -eq 51 ] || fail "not 51 rows: $(cat "$dir/json")"
head -n 1 "$dir/copies" | grep -q '"memcpy"' || fail "memcpy is not among the copies: $(cat "$dir/copies")"
if [ "$(uname -m)" = x86_64 ]; then
    grep -q '"rep movsb"' "$dir/copies" || fail "no rep movsb: $(cat "$dir/copies")"
    if grep -qw avx /proc/cpuinfo; then grep -q '"stream avx' "$dir/copies" || fail "no streaming copy: $(cat "$dir/copies")"; fi
fi
[ "$(grep -c '"fastest":true' "$dir/copies")" -eq 1 ] || fail "not one fastest copy: $(cat "$dir/copies")"
grep '"fastest":true' "$dir/copies" | field gbs >"$dir/fastest"
field gbs <"$dir/copies" | sort -g | tail -n 1 | cmp -s - "$dir/fastest" || fail "not the fastest copy is taken: $(cat "$dir/copies")"
names='gbs copy_gbs memcpy_gbs stream_gbs read_gbs ratio ratio_memcpy ratio_stream ratio_read'
for name in $names; do field "$name" <"$dir/rows" >"$dir/$name"; done
# shellcheck disable=SC2086 # names are words
(cd "$dir" && paste $names) | awk '
    function off(ratio, want) { return ratio < 0.999 * want || ratio > 1.001 * want }
    NF != 9 || $2 < $3 || off($6, $1 / $2) || off($7, $1 / $3) || off($8, $1 / $4) || off($9, $1 / $5) { print; bad = 1 }
    END { exit bad || NR != 51 }' >&2 || fail 'ratios that are not those of the speeds, or a fastest copy that memcpy beats'

"$B/bench_cast" --mib 1 --reps 1 --only 'fp32 -> e5m2' >"$dir/table"
grep -q '^ *copy=1 *memcpy=1 *stream=1 *read=1$' "$dir/table" || fail "no headline: $(cat "$dir/table")"
grep -q 'the fastest copy$' "$dir/table" || fail "does not say which copy is the fastest: $(cat "$dir/table")"
awk '/^fp32 -> e5m2 / { n++; if ($(NF - 3) > $(NF - 2)) exit 1 } END { exit n != 2 }' "$dir/table" || fail "$(cat "$dir/table")"

"$B/bench_cast" --kib 96 --reps 1 --pages small --prefetch auto --only 'read only' >"$dir/table"
grep -q ', 96 KiB of fp32 in small pages, ' "$dir/table" || fail "does not say what it goes through: $(cat "$dir/table")"
grep -q '^read only  ' "$dir/table" || fail "no row: $(cat "$dir/table")"
if "$B/bench_cast" --isa scalar --prefetch no --mib 1 2>/dev/null; then fail 'took --prefetch no for an instruction set with one way'; fi

if [ -n "$(command -v gnuplot)" ]; then
    FILE=$dir/json gnuplot bench/casts/bench_cast.gp >"$dir/chart.svg"
    for words in 'shift + fp32' 'to memcpy' "$(grep '"fastest":true' "$dir/copies" | field name)"; do
        grep -qF -- "$words" "$dir/chart.svg" || fail "the chart does not say '$words'"
    done
else
    echo 'skip  the chart: no gnuplot'
fi
exit $bad
