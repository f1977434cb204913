#!/bin/bash
# test_bench_tradeoff.sh : tests tradeoff.sh with a fake training and bench_train. Finished rows
# do not run again; failed ones give no row.
set -eu
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.."
export B="$dir/build" PATH="$dir/bin:$PATH" NETLAB_MPI=--lab
mkdir "$B" "$dir/bin"
cat >"$dir/bin/mpirun" <<'END'
#!/bin/bash
while [ "$1" != -np ]; do shift; done
shift 2
exec "$@"
END
# The fake network computes for 100 ms (davidnet: 400) and transfers 1 or 16 MB at 10 ns per byte.
# qsgd:4 sends an eighth, and casts for 1 ms. The first two steps take a minute. With a file
# "crash", qsgd:4 crashes; with "skip", it skips a step.
cat >"$B/narrowcast" <<'END'
#!/bin/bash
here=$(dirname "$0")
if [ "$2" = --help ]; then
    echo '  --model NAME   One of resnet20 davidnet resnet110.'
    echo '  minifloat      ...'
    echo '  qsgd           ...'
    exit
fi
echo "$*" >>"$here/ran"
ms=100 fp32=1000000 casts=0 skipped=false
case "$*" in *davidnet*) ms=400 fp32=16000000 ;; *resnet110*) ms=1000 ;; esac
sent=$fp32
case "$*" in
*'--codec qsgd:4'*)
    if [ -e "$here/crash" ]; then kill -SEGV $$; fi
    if [ -e "$here/skip" ]; then skipped=true; fi
    sent=$((fp32 / 8)) casts=0.001
    ;;
*'--algo native'*) ms=$((ms + 1)) ;;
esac
while [ $# -gt 0 ]; do
    case $1 in --log) log=$2 ;; --batch) batch=$2 ;; --steps) steps=$2 ;; esac
    shift
done
for step in $(seq "$steps"); do
    awk -v ms=$ms -v sent=$sent -v casts=$casts -v batch="$batch" -v step="$step" -v fp32=$fp32 -v skipped=$skipped 'BEGIN {
        comm = sent * 1e-8; s = step < 3 ? 60 : ms / 1000 + comm + casts
        printf "{\"kind\":\"step\",\"samples_per_s\":%.9g,\"sent_bytes\":%d,\"fp32_bytes\":%d,\"comm_s\":%.9g,\"codec_s\":%.9g,\"skipped\":%s}\n",
            batch / s, sent, fp32, comm, casts, step == 4 ? skipped : "false" }'
done >"$log"
END
cat >"$B/bench_train" <<'END'
#!/bin/sh
echo "$*" >>"$(dirname "$0")/ran"
case "$*" in *davidnet*) echo '{"gflop":8,"gflop_per_s":9}' ;; *resnet110*) echo '{"gflop":40,"gflop_per_s":9}' ;; *) echo '{"gflop":4,"gflop_per_s":9}' ;; esac
END
chmod +x "$dir/bin/mpirun" "$B/narrowcast" "$B/bench_train"
run() { bench/allreduce/tradeoff.sh 'resnet20 resnet110 davidnet caffenet' 'fp32 fp32,native qsgd:4 ternary' >"$dir/out" 2>"$dir/said"; }

touch "$B/crash"
if run; then fail 'a crash did not end it'; fi
grep -q '^tradeoff.sh: resnet20 with qsgd:4 failed' "$dir/said" || fail "does not say what failed: $(cat "$dir/said")"
rm "$B/crash" && touch "$B/skip"
if run; then fail 'a skipped step is no measurement'; fi
rm "$B/skip"
run || fail "$(cat "$dir/said")"
[ "$(grep -c 'left out: ternary, caffenet: this build' "$dir/said")" -eq 1 ] || fail "does not say what it left out: $(cat "$dir/said")"
# 3 networks with 3 codecs and their GFLOP; one crash, one skip
[ "$(wc -l <"$B/ran")" -eq 14 ] || fail "$(wc -l <"$B/ran") runs, not 14: $(cat "$B/ran")"
run || fail "$(cat "$dir/said")"
[ "$(wc -l <"$B/ran")" -eq 14 ] || fail 'what has ended is run again'
if grep narrowcast "$B/ran" | grep -qv -- '--batch 64'; then fail "$(cat "$B/ran")"; fi
# 64 images in 110 ms; in 102.25, with 1 of casts and 1.25 of transfer
for row in '| resnet20 | fp32 | 581.8 | 1.00 | 1000000 | 100.0 | 0.0 | 10.0 |' '| resnet20 | fp32,native | 576.6 | 0.99 | 1000000 | 101.0 | 0.0 | 10.0 |' \
    '| resnet20 | qsgd:4 | 625.9 | 1.08 | 125000 | 100.0 | 1.0 | 1.2 |' '| davidnet | qsgd:4 | 152.0 | 1.33 | 2000000 | 400.0 | 1.0 | 20.0 |' \
    '| resnet20 | 0.250 | 1.08 |' '| davidnet | 2.000 | 1.33 |' '| resnet110 | 0.025 | 1.01 |' '| rank correlation | | 1.00 |'; do
    grep -qF -- "$row" "$dir/out" || fail "no row '$row': $(cat "$dir/out")"
done
[ "$(grep -o '^| [a-z0-9]* | [0-9.]* | [0-9.]* |$' "$dir/out" | cut -d' ' -f2 | tr '\n' ' ')" = 'resnet110 resnet20 davidnet ' ] ||
    fail "networks do not rise by MB per GFLOP: $(cat "$dir/out")"
bench/allreduce/tradeoff.sh --table | cmp -s - "$dir/out" || fail '--table prints something else'
if [ -n "$(command -v gnuplot)" ]; then
    for words in 'travelling' 'resnet110 qsgd:4' 'MB of fp32 gradients'; do
        grep -qF -- "$words" "$B/tradeoff.svg" || fail "the chart does not say '$words'"
    done
fi

# --- speed-ups that do not rise with MB per GFLOP: 3, 1, 2 for 1, 2, 3 ---
for network in resnet20:1:3 resnet110:2:1 davidnet:3:2; do
    IFS=: read -r name mb speed <<<"$network"
    printf '%s\tgflop\t1\n%s\tfp32\t1\t5\t%s000000\t0.1\t0\n%s\tqsgd:4\t%s\t5\t%s000000\t0.1\t0\n' "$name" "$name" "$mb" "$name" "$speed" "$mb"
done >"$dir/other.tsv"
TABLE=$dir/other.tsv bench/allreduce/tradeoff.sh --table >"$dir/out"
grep -qF '| rank correlation | | -0.50 |' "$dir/out" || fail "$(cat "$dir/out")"

# --- names never run as commands ---
hostile="$dir/it's \$(touch hit); touch hit;.tsv"
printf "x\tgflop\t1\nx\tfp32\t1\t5\t1000000\t0.1\t0\nx\t';touch\${IFS}hit;'\t2\t5\t1000000\t0.1\t0\n" >"$hostile"
TABLE=$hostile bench/allreduce/tradeoff.sh --table >"$dir/out" 2>&1 || fail "a table with an odd name: $(cat "$dir/out")"
if [ -e hit ]; then fail 'a name became a command' && rm hit; fi
if [ -n "$(command -v gnuplot)" ] && [ ! -s "$B/$(basename "$hostile" .tsv).svg" ]; then fail "no chart of a table with an odd name: $(cat "$dir/out")"; fi
[ ! -e "${hostile%.tsv}.svg" ] || fail '--table writes beside the table'
if RATE=10gbit run; then fail 'rows of another rate pass for new ones'; fi
grep -q 'has rows with RATE 1gbit, STEPS 12, BATCH 64, not with RATE 10gbit, STEPS 12, BATCH 64' "$dir/said" || fail "another rate: $(cat "$dir/said")"
exit $bad
