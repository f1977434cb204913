#!/bin/bash
# test_bench_accuracy.sh : tests the accuracy scripts and papers.sh with a fake narrowcast: crashes
# are not accuracies, finished rows do not run again, tables without rows leave no file.
set -eu
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.."
export B="$dir/build" NARROWCAST_DATA="$dir" TABLES="$dir/build"
mkdir "$B"
# A file "crash" makes e5m2 crash; e4m3 without APS diverges; others end with 90 % plus the seed in
# points, after the seconds in a file "slow". A file "torn" ends trainings after their checkpoint.
cat >"$B/narrowcast" <<'END'
#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/ran"
if [ -e "$here/slow" ]; then sleep "$(cat "$here/slow")" && echo "$*" >>"$here/ended"; fi
case "$*" in
*'--format e5m2 --scale aps '*) if [ -e "$here/crash" ]; then kill -SEGV $$; fi ;;
*'--format e4m3 --scale none '* | *'--format e4m3 --scale const:512 '*) echo 'narrowcast: training has diverged: gradients were inf or nan'; exit 1 ;;
esac
while [ $# -gt 0 ]; do
    case $1 in --log) log=$2 ;; --seed) seed=$2 ;; --data) echo "$2" >>"$here/data" ;; --stats) stats=$2 ;; --save) echo half >"$2" ;; --dump-gradients) mkdir -p "$2" ;; esac
    shift
done
[ -z "${log-}" ] || printf '%s\n' '{"kind":"step","sent_bytes":77}' '{"kind":"epoch","epoch":1,"test_accuracy":0.9,"test_miou":0.5,"test_macc":0.75}' >"$log"
[ ! -e "$here/torn" ] || exit 1
[ -z "${stats-}" ] || printf '%s\n' '{"kind":"stats","n":3,"underflow_all":0.25}' '{"kind":"stats","n":1,"underflow_all":0.5}' \
    '{"kind":"stats_network","l2":0.5,"cosine":0.75,"slope":0.5}' '{"kind":"stats_network","l2":1.5,"cosine":0.25,"slope":0.75}' '{"kind":"stats_network","l2":null,"cosine":null,"slope":null}' >"$stats"
echo "accuracy 0.9$seed"
END
chmod +x "$B/narrowcast"

for bench in accuracy davidnet; do
    table=$B/davidnet.tsv script=$(echo bench/*/$bench.sh)
    [ $bench = davidnet ] || table=$B/fashion-mnist.tsv
    rm -f "$B/ran"
    touch "$B/crash"
    if "$script" '1 2' >"$dir/out" 2>&1; then fail "$bench.sh: a crash did not end it"; fi
    grep -q "e5m2 aps.*seed 1 failed" "$dir/out" || fail "$bench.sh does not say what failed: $(cat "$dir/out")"
    if grep -Eqs '^e5m2 aps( saturate)?[[:space:]]1' "$table"; then fail "$bench.sh: a crash has an accuracy: $(cat "$table")"; fi
    rm "$B/crash"
    "$script" '1 2' >"$dir/out" 2>&1 || fail "$bench.sh: $(cat "$dir/out")"
    # 10 rows of 2 seeds, and the crash
    [ "$(wc -l <"$B/ran")" -eq 21 ] || fail "$bench.sh ran $(wc -l <"$B/ran") trainings, not 21"
    "$script" --table >"$dir/table"
    [ "$(grep -c '| 2 | 91.50 | 91.00 .. 92.00 | +0.00 | 77 |' "$dir/table")" -eq 8 ] || fail "$bench.sh: $(cat "$dir/table")"
    grep -q '^| e4m3 [nc].* | 2, 2 diverged | - | - | | - |' "$dir/table" || fail "$bench.sh: $(cat "$dir/table")"
done
# without APS: the paper's gradient scale, and only then inf
[ "$(grep -c 'e[0-9]m[0-9] --scale const:512 --overflow inf' "$B/ran")" -eq 6 ] || fail "davidnet.sh: not const:512: $(cat "$B/ran")"
[ "$(grep -c -e '--device cuda --precision tf32 ' "$B/ran")" -eq "$(wc -l <"$B/ran")" ] || fail "davidnet.sh: not in tf32: $(cat "$B/ran")"
[ "$(grep -c 'overflow inf' "$B/ran")" -eq 6 ] || fail "davidnet.sh: inf beside APS: $(cat "$B/ran")"
bench/codec_accuracy/accuracy.sh --table | awk -F'|' 'NF != 8 { exit 1 }' || fail 'a row of another width'
# Differences are per seed: seeds differ a lot, and rows have other seeds than fp32.
printf '%s\t%s\t%s\t77\n' 'fp32 none' 1 0.5 'fp32 none' 2 0.7 'e5m2 none' 2 0.71 'e5m2 aps' 2 0.69 'e5m2 aps' 3 0.9 \
    'e4m3 aps' 3 0.9 'e4m3 none' 1 diverged 'e4m3 none' 2 0.72 >"$B/fashion-mnist.tsv"
bench/codec_accuracy/accuracy.sh --table >"$dir/table"
for row in 'e5m2 none | 1 | 71.00 | 71.00 .. 71.00 | +1.00 | 77' 'e5m2 aps | 2 | 79.50 | 69.00 .. 90.00 | -1.00 (of 1) | 77' \
    'e4m3 aps | 1 | 90.00 | 90.00 .. 90.00 | | 77' 'e4m3 none | 2, 1 diverged | 72.00 | 72.00 .. 72.00 | +2.00 | 77'; do
    grep -qxF "| $row |" "$dir/table" || fail "no row '$row': $(cat "$dir/table")"
done
rm -f "$B/ran" "$B/fashion-mnist.tsv"
bench/codec_accuracy/accuracy.sh 1 >"$dir/out" 2>&1
[ "$(sed 's/.*--overflow \([a-z]*\).*/\1/' "$B/ran" | sort -u | wc -l)" -eq 1 ] || fail "not one rule for overflow: $(cat "$B/ran")"

# two processes on one table: each training once
rm "$B/ran" "$B/fashion-mnist.tsv"
echo 0.2 >"$B/slow"
JOBS=2 bench/codec_accuracy/accuracy.sh 1 >"$dir/out" 2>&1 &
JOBS=2 bench/codec_accuracy/accuracy.sh 1 >"$dir/table" 2>&1 || fail "the second at once: $(cat "$dir/table")"
wait $! || fail "the first at once: $(cat "$dir/out")"
[ "$(wc -l <"$B/ran")" -eq 10 ] || fail "two at once ran $(wc -l <"$B/ran") trainings, not 10"
[ "$(sort -u "$B/fashion-mnist.tsv" | wc -l)" -eq "$(wc -l <"$B/fashion-mnist.tsv")" ] || fail "two at once: $(cat "$B/fashion-mnist.tsv")"

rm "$B/ran" "$B/ended" "$B/fashion-mnist.tsv"
echo 2 >"$B/slow"
JOBS=2 bench/codec_accuracy/accuracy.sh 1 >"$dir/out" 2>&1 &
until [ "$(grep -cs . "$B/ran")" = 2 ]; do sleep 0.1; done
kill $!
if wait $!; then fail 'who was stopped says that all went well'; fi
sleep 3
[ ! -e "$B/ended" ] || fail 'trainings go on when the script was stopped'
[ ! -s "$B/fashion-mnist.tsv" ] || fail "who was stopped has accuracies: $(cat "$B/fashion-mnist.tsv")"
rm "$B/slow" "$B/ran"
if JOBS=all bench/codec_accuracy/accuracy.sh 1 >"$dir/out" 2>&1 || [ -e "$B/ran" ]; then fail 'so many trainings at once as JOBS=all'; fi
[ "$(cat "$dir/out")" = "accuracy.sh: JOBS 'all': must be a number of trainings at once, from 1 to 999999999" ] || fail "JOBS=all: $(cat "$dir/out")"

refused() {
    says=$1
    shift
    if env "$@" >"$dir/out" 2>&1; then fail "$*: goes on"; fi
    if [ "$(wc -l <"$dir/out")" -ne 1 ] || ! grep -qe "$says" "$dir/out"; then fail "$*: $(cat "$dir/out")"; fi
    if [ -e "$dir/none" ] || [ -e "$B/ran" ]; then fail "$*: made something"; fi
}
export TABLES="$dir/none"
refused "seed '--tabel': must be" bench/segmentation/segmentation.sh --tabel
refused "seed 'x': must be" bench/pure_fp16/pure_fp16.sh resnet8 '1 x'
refused "seed '1,2': must be" bench/codec_accuracy/accuracy.sh 1,2
refused "seed '': must be" bench/pure_fp16/pure_fp16.sh resnet8 ' '
refused "'--tabel': must be --table or nothing" bench/codec_accuracy/relgrad_quantiles.sh --tabel
refused "STEPS '3 2': must rise" STEPS='3 2' bench/codec_accuracy/relgrad_quantiles.sh
refused "ROWS 'pure': there is no" ROWS='fp32 pure' bench/pure_fp16/pure_fp16.sh resnet8 1
refused "there is no row 'fp16'" ROWS='fp32 fp16' bench/codec_accuracy/codec_accuracy.sh full 1
refused 'only full has them' RATE=0.2 bench/codec_accuracy/codec_accuracy.sh resnet8 1
refused "SAMPLES '0': must be" SAMPLES=0 bench/loss_scale/loss_scale.sh sweep
refused "RATE '1e-3': must be" RATE=1e-3 bench/pure_fp16/pure_fp16.sh resnet8 1
refused "SAMPLES makes a table of its own" TABLES= SAMPLES=100 bench/loss_scale/loss_scale.sh sweep
refused "EPOCHS '1/2': must be" EPOCHS=1/2 bench/segmentation/segmentation.sh 1
refused "no $dir/nothing/narrowcast" B="$dir/nothing" bench/sequences/sequences.sh text
refused "'100': must be a rate" bench/netlab.sh -r 100 -- touch "$dir/none"
refused "'x': must be a number of nodes" bench/netlab.sh -n x -- touch "$dir/none"
refused "'201': must be a number of nodes" bench/netlab.sh -n 201 -- touch "$dir/none"
refused "'16': must be bytes" bench/netlab.sh -b 16 -- touch "$dir/none"
refused "TURNS 'x': must be" bench/training/train_peer.sh cpu 1 x
refused "must be a file in a folder that is there" bench/gpu/gpu_pack.sh "$dir/none/x.tar.gz"
refused "must be a file in a folder that is there" bench/gpu/gpu_pack.sh "$dir"
refused "no $dir/nothing/bench_train" B="$dir/nothing" bench/training/train_peer.sh cpu 1

export TABLES="$dir/tables"
dump=$B/codec_accuracy/caffenet-gradients
cat >"$B/bench_shares" <<'END'
#!/bin/sh
[ -d "$1" ] && [ "$2 $3" = '--group 4' ] && [ ! -e "$1/../broken" ] && echo '| conv1.weight |'
END
chmod +x "$B/bench_shares"
rm -f "$B/ran"
for bench in 'relgrad_caffenet.sh --table' 'davidnet.sh --table' 'codec_accuracy.sh --table resnet20' 'segmentation.sh --table' 'loss_scale.sh --table'; do
    script=$(echo bench/*/"${bench%% *}")
    # shellcheck disable=SC2086  # options are words
    [ "$(B=$dir/nowhere "$script" ${bench#* } | wc -l)" -eq 2 ] || fail "$bench: more than a head where nothing has run"
    if [ -e "$TABLES" ] || [ -e "$dir/nowhere" ]; then fail "$bench leaves a file where nothing has run"; fi
done
mkdir -p "$B/codec_accuracy"
touch "$B/codec_accuracy/broken"
if bench/codec_accuracy/relgrad_caffenet.sh >"$dir/out" 2>&1; then fail 'relgrad_caffenet.sh: a count that failed did not end it'; fi
if ! [ -d "$dump" ] || [ -e "$TABLES/caffenet-shares.md" ]; then fail 'gradients that were not counted are gone'; fi
rm "$B/codec_accuracy/broken"
bench/codec_accuracy/relgrad_caffenet.sh >"$dir/out" 2>&1 || fail "relgrad_caffenet.sh: $(cat "$dir/out")"
[ "$(wc -l <"$B/ran")" -eq 12 ] || fail "relgrad_caffenet.sh ran $(wc -l <"$B/ran") trainings, not 12"
[ "$(grep -c -- '--dump-gradients' "$B/ran")" -eq 1 ] || fail "not the gradients of one training: $(cat "$B/ran")"
[ ! -e "$dump" ] || fail 'gradients that were counted are still there'
bench/codec_accuracy/relgrad_caffenet.sh --table >"$dir/table"
[ "$(grep -c '| 2 | 91.50 | 91.00 .. 92.00 |' "$dir/table")" -eq 6 ] || fail "relgrad_caffenet.sh: $(cat "$dir/table")"
rm -f "$B/ran"
bench/segmentation/segmentation.sh '1 2' >"$dir/out" 2>&1 || fail "segmentation.sh: $(cat "$dir/out")"
[ "$(wc -l <"$B/ran")" -eq 10 ] || fail "segmentation.sh ran $(wc -l <"$B/ran") trainings, not 10"
bench/segmentation/segmentation.sh --table >"$dir/seen"
[ "$(find "$TABLES/curves" -name 'shapes-10-*.jsonl' | wc -l)" -eq 4 ] || fail "segmentation.sh: not a curve of each row: $(ls "$TABLES/curves")"
grep -q -- "--predict $B/segmentation/maps-10/e4m3-aps[.][0-9]* .*--seed 1 " "$B/ran" || fail "segmentation.sh: no maps of seed 1: $(cat "$B/ran")"
[ "$(grep -c -- --predict "$B/ran")" = 5 ] || fail "segmentation.sh: not the maps of one seed: $(cat "$B/ran")"
[ "$(grep -c '^| .* | 2 | 50.00 | 50.00 .. 50.00 | .* 75.00 | 91.50 | 77 |$' "$dir/seen")" -eq 4 ] || fail "segmentation.sh: $(cat "$dir/seen")"
grep -q '^| e4m3 none | 2, 2 diverged | - | - | - | - | - | - |$' "$dir/seen" || fail "segmentation.sh: $(cat "$dir/seen")"
# another table's finished rows have no curves of these trainings
mkdir "$dir/other" && cp "$TABLES/shapes-10.tsv" "$dir/other"
TABLES=$dir/other bench/segmentation/segmentation.sh 1 >"$dir/out" 2>&1 || fail "segmentation.sh: $(cat "$dir/out")"
[ ! -e "$dir/other/curves" ] || fail "segmentation.sh: another table's curves: $(ls "$dir/other/curves")"
grep -q '^| conv1.weight |$' "$dir/table" || fail "no shares: $(cat "$dir/table")"

# fp32, and 10 pairs of formats of gradients and results
rm -f "$B/ran"
bench/codec_accuracy/codec_accuracy.sh mlp '1 2' >"$dir/out" 2>&1 || fail "codec_accuracy.sh mlp: $(cat "$dir/out")"
[ "$(grep -c "^emulate --ranks 16 --data idx:$dir/fashion-mnist --model mlp " "$B/ran")" = 22 ] || fail "codec_accuracy.sh mlp ran $(cat "$B/ran")"
[ "$(grep -c -e '--format e2m1f --scale aps-tight --out-format e2m1f:32 ' -e '--format e2m1f --scale aps-tight:32 --out-format e4m3 ' "$B/ran")" = 4 ] ||
    fail "not the names' formats: $(cat "$B/ran")"
[ "$(grep -c '| 2 | 91.50 | 91.00 .. 92.00 |' "$dir/out")" -eq 11 ] || fail "codec_accuracy.sh mlp: $(cat "$dir/out")"

# Full trainings at the best rate of the trials that there are, here two thirds of them.
rm -f "$B/ran"
for name in fp32 e5m2 e4m3 e3m4,tight e2m5f:32 e3m0,tight e3m0,e3m0 qsgd:4 qsgd:2 onebit:64 relgrad,nearest relgrad; do
    printf "$name %s\t0\t%s\t77\n" 0.05 0.95 0.2 diverged
done >"$TABLES/full.tsv"
DEVICE=cuda NARROWCAST_DATA="$dir/of two" bench/codec_accuracy/codec_accuracy.sh full 1 >"$dir/out" 2>&1 || fail "codec_accuracy.sh full: $(cat "$dir/out")"
[ "$(grep -c 'cuda --model resnet20 .*--epochs 10 .*--lr 0.1 --save .*--seed 0 ' "$B/ran") $(grep -c -- '--epochs 60 --lr 0.05 --save .*--seed 1 ' "$B/ran")" = '12 12' ] ||
    fail "codec_accuracy.sh full ran $(cat "$B/ran")"
grep -qxF "cifar10:$dir/of two/cifar10" "$B/data" || fail "codec_accuracy.sh full: a blank in a name: $(sort -u "$B/data")"
[ "$(grep -c '^| .* | 1 | 91.00 | 91.00 .. 91.00 |' "$dir/out")" -eq 12 ] || fail "codec_accuracy.sh full: $(cat "$dir/out")"
# a row at a given rate; a stopped training continues from its checkpoint, which then goes
rm -f "$B/ran" "$TABLES/full.tsv"
touch "$B/torn"
if JOBS=1 RATE=0.2 ROWS='fp32 qsgd:2' bench/codec_accuracy/codec_accuracy.sh full 1 >"$dir/out" 2>&1; then fail 'a stopped training of full did not end it'; fi
rm "$B/torn"
RATE=0.1 ROWS=fp32 TABLES=$dir/other bench/codec_accuracy/codec_accuracy.sh full 1 >"$dir/out" 2>&1 || fail "codec_accuracy.sh full: $(cat "$dir/out")"
if grep -q -- '--resume ' "$B/ran"; then fail "codec_accuracy.sh full continues another table's training: $(cat "$B/ran")"; fi
RATE=0.2 ROWS='fp32 qsgd:2' bench/codec_accuracy/codec_accuracy.sh full 1 >"$dir/out" 2>&1 || fail "codec_accuracy.sh full: $(cat "$dir/out")"
[ "$(wc -l <"$TABLES/full.tsv") $(grep -c -- '--epochs 60 --lr 0.2 .*--save ' "$B/ran") $(grep -c -- '--resume ' "$B/ran")" = '2 3 1' ] ||
    fail "codec_accuracy.sh full did not continue: $(cat "$B/ran")"
[ -z "$(find "$dir" -name '*.ckpt')" ] || fail "codec_accuracy.sh full left $(find "$dir" -name '*.ckpt')"

# fp32, without a scale, and 16 scales with 2 seeds; 3 rows of resnet110
rm -f "$B/ran"
bench/loss_scale/loss_scale.sh sweep resnet20 '1 2' >"$dir/out" 2>&1 || fail "loss_scale.sh: $(cat "$dir/out")"
bench/loss_scale/loss_scale.sh sweep resnet20 '1 2' >"$dir/out" 2>&1 || fail "loss_scale.sh: $(cat "$dir/out")"
[ "$(wc -l <"$B/ran") $(grep -c -- 'error=e5m10,overflow=inf --loss-scale [a-z0-9]* ' "$B/ran")" = '34 32' ] || fail "loss_scale.sh ran $(cat "$B/ran")"
[ "$(sed 's/.*--loss-scale \([^ ]*\).*/\1/;t;d' "$B/ran" | sort -u | wc -l)" = 16 ] || fail "not 16 scales: $(cat "$B/ran")"
bench/loss_scale/loss_scale.sh --table >"$dir/table" 2>"$dir/out"
if command -v gnuplot >/dev/null; then
    grep -q '</svg>' "$B/loss_scale.svg" || fail "no chart of scales: $(cat "$dir/out")"
fi
[ "$(grep -c '| 2 | 91.50 | 91.00 .. 92.00 |' "$dir/table")" -eq 17 ] || fail "loss_scale.sh: $(cat "$dir/table")"
NARROWCAST_DATA="$dir/a b" bench/loss_scale/loss_scale.sh sweep resnet110 1 >"$dir/out" 2>&1 || fail "loss_scale.sh: $(cat "$dir/out")"
[ "$(grep -c resnet110 "$B/ran")" = 3 ] || fail "loss_scale.sh resnet110 ran $(grep -c resnet110 "$B/ran") trainings"
NARROWCAST_DATA="$dir/a b" bench/loss_scale/loss_scale.sh sweep resnet8 1 >"$dir/out" 2>&1 || fail "loss_scale.sh: $(cat "$dir/out")"
[ "$(grep -c resnet8 "$B/ran") $(grep -c -- '--quant error=e4m3,overflow=inf --loss-scale adaptive ' "$B/ran")" = '13 1' ] || fail "loss_scale.sh resnet8 ran $(grep resnet8 "$B/ran")"
NARROWCAST_DATA="$dir/a b" bench/loss_scale/loss_scale.sh sweep resnet20-8bit 1 >"$dir/out" 2>&1 || fail "loss_scale.sh: $(cat "$dir/out")"
[ "$(cut -f 5 "$TABLES/scale-resnet20-8bit.tsv" | sort | uniq -c | tr -s ' \n' ' ')" = ' 9 0.9 ' ] || fail "no accuracy of each epoch: $(cat "$TABLES/scale-resnet20-8bit.tsv")"
grep -qx "cifar10:$dir/a b/cifar10" "$B/data" || fail "loss_scale.sh: a folder with a blank: $(tail -n 1 "$B/data")"

# tables of 7, 5, 6, 4, 4, 7 and 5 rows, 5 of them twice; gradients are counted once for each format
# without counts
rm -f "$B/ran"
for which in 4 5 6 7 8 resnet18 cpd fig6 fig9 fig10 oyama11; do bench/papers/papers.sh $which 1 >"$dir/table-$which" 2>&1 || fail "papers.sh $which: $(cat "$dir/table-$which")"; done
[ "$(grep -c '^emulate' "$B/ran")" -eq 36 ] || fail "papers.sh ran $(grep -c '^emulate' "$B/ran") trainings, not 36"
[ "$(sed 's/.*--overflow inf --scale const:\([0-9.]*\).*/\1/;t;d' "$B/ran" | sort | uniq -c | tr -s ' \n' ' ')" = ' 2 0.00390625 5 0.125 3 512 ' ] ||
    fail "not the papers' gradient scales: $(cat "$B/ran")"
grep -q '^| e4m3 aps | 1 | 91.00 | 91.00 .. 91.00 | +0.00 | 77 | 88.6 |$' "$dir/table-4" || fail "papers.sh 4: $(cat "$dir/table-4")"
[ "$(find "$TABLES/curves" -name '*.jsonl' | wc -l)" -eq 22 ] || fail "not a curve of each training of a figure: $(ls "$TABLES/curves")"
bench/papers/papers.sh 8 2 >"$dir/out" 2>&1 || fail "papers.sh 8: $(cat "$dir/out")"
[ "$(grep -c '^| e[45]m. aps all.* | 100.0 | 0.5000 | 0.625 | 31.25 |$' "$dir/out")" -eq 4 ] || fail "papers.sh 8 says nothing of the steps: $(cat "$dir/out")"
cat >"$B/bench_error" <<'END'
#!/bin/sh
echo '{"algo":"ring","layer":"all","l2":0.5,"mean":0.25,"median":0.125}'
[ ! -e "$(dirname "$0")/crash" ]
END
chmod +x "$B/bench_error"
: >"$B/ran"
touch "$B/crash"
if bench/papers/papers.sh 9 0 >"$dir/out" 2>&1; then fail "papers.sh 9: a count that failed did not end it"; fi
[ -z "$(find "$TABLES" -name 'table9*.tsv')" ] || fail "papers.sh 9: half a count is a table: $(ls "$TABLES")"
rm "$B/crash"
bench/papers/papers.sh 9 0 >"$dir/out" 2>&1 || fail "papers.sh 9: $(cat "$dir/out")"
grep -q '^| L2, % | 50.00 | 50.00 | 50.00 | 50.00 |$' "$dir/out" || fail "papers.sh 9: $(cat "$dir/out")"
rm "$TABLES/table9-e4m3-0.tsv"
bench/papers/papers.sh 9 0 >"$dir/out" 2>&1 || fail "papers.sh 9: $(cat "$dir/out")"
bench/papers/papers.sh 9 0 >"$dir/out" 2>&1 || fail "papers.sh 9: $(cat "$dir/out")"
[ "$(wc -l <"$B/ran")" -eq 3 ] || fail "papers.sh 9 made gradients $(wc -l <"$B/ran") times, not 3"

# relgrad_quantiles.sh: three steps; after a failure it goes on with the step that failed
cat >"$B/narrowcast" <<'END'
#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/ran"
while [ $# -gt 0 ]; do
    case $1 in --dump-gradients) dump=$2 ;; --save) save=$2 ;; --steps) steps=$2 ;; esac
    shift
done
[ "$steps" != 3 ] || [ ! -e "$here/crash" ] || exit 1
mkdir "$dump" && touch "$save" && echo more >"$save"
echo 'conv2.weight 1 4 2 2' >"$dump/layers.txt"
printf '\0\0\0\0\0\0\200\077\0\0\0\100\0\0\200\277\0\0\200\100' | tee "$dump/step000000.weights.f32" >"$dump/step000000.rank0.f32" # 0 1 2 -1 4
END
cat >"$B/bench_shares" <<'END'
#!/bin/sh
for layer in conv1.weight conv1.bias; do
    echo '{"kind":"shares","codec":"relgrad:eps=1e-5","node":4,"layer":"'$layer'","elements":4,"q":0.5,"underflow":0}'
    echo '{"kind":"shares","codec":"relgrad:of=gradient","node":4,"layer":"'$layer'","elements":4,"q":7,"underflow":0}'
done
END
: >"$B/ran"
export STEPS='1 3 5'
touch "$B/crash"
if bench/codec_accuracy/relgrad_quantiles.sh >"$dir/out" 2>&1; then fail 'relgrad_quantiles.sh: a crash did not end it'; fi
grep -q 'step 3 failed' "$dir/out" || fail "relgrad_quantiles.sh does not say what failed: $(cat "$dir/out")"
rm "$B/crash"
bench/codec_accuracy/relgrad_quantiles.sh >"$dir/out" 2>&1 || fail "relgrad_quantiles.sh: $(cat "$dir/out")"
bench/codec_accuracy/relgrad_quantiles.sh >"$dir/out" 2>&1 || fail "relgrad_quantiles.sh again: $(cat "$dir/out")"
[ "$(sed 's/.*--steps \([0-9]*\) .*/\1/' "$B/ran" | tr '\n' ' ')" = '1 3 3 5 ' ] || fail "relgrad_quantiles.sh ran $(cat "$B/ran")"
[ "$(grep -c -- --resume "$B/ran")" = 3 ] || fail "relgrad_quantiles.sh does not go on: $(cat "$B/ran")"
for row in '| quantile in step | 1 | 3 | 5 |' '| conv1.bias | 0.5 | 0.5 | 0.5 |' '| largest / smallest | 1 | 1 | 1 |'; do
    grep -qxF "$row" "$dir/out" || fail "relgrad_quantiles.sh: no row '$row': $(cat "$dir/out")"
done
# stopped between the table and the checkpoint: the older checkpoint goes on
sed -i '/^5/d' "$TABLES/caffenet-quantiles.tsv"
bench/codec_accuracy/relgrad_quantiles.sh >"$dir/out" 2>&1 || fail "relgrad_quantiles.sh with a shorter table: $(cat "$dir/out")"
[ "$(cut -f 1 "$TABLES/caffenet-quantiles.tsv" | tr '\n' ' ')" = '1 1 3 3 5 5 ' ] || fail "relgrad_quantiles.sh, steps: $(cat "$TABLES/caffenet-quantiles.tsv")"
# 3 of 4 numbers are up to the 99 % quantile, and 4 of the ratios, all about 1
[ "$(cut -f 1,2 "$TABLES/caffenet-conv2.tsv" | tr '\t\n' '  ')" = 'weight 0.6236 gradient 0.6236 ratio 0.8660 ' ] || fail "conv2: $(cut -f 1,2 "$TABLES/caffenet-conv2.tsv")"
exit $bad
