#!/bin/bash
# loss_scale.sh : measures the effect of scaling activation gradients, in e5m10 and in 8 bits, on
# gradients and accuracy: CIFAR-10, tiny Shakespeare.
# usage: NARROWCAST_DATA=DIR bench/loss_scale/loss_scale.sh layers [resnet110|resnet8|resnet20]
#        NARROWCAST_DATA=DIR bench/loss_scale/loss_scale.sh sweep [MODEL [SEEDS]]
#        bench/loss_scale/loss_scale.sh --table [MODEL]
# MODEL: resnet20, resnet56, resnet110 (e5m10), resnet8, resnet20-8bit or charlstm (8 bits).
# DIR/cifar10 holds the binary batches, DIR/tinyshakespeare input.txt (charlstm).
#   layers   200 steps of resnet110 (bench_loss_scale); a line per step, scheme and layer in
#            $B/loss_scale/layers.tsv. resnet8, resnet20: one table for each of e5m2, e4m3 and e3m4,
#            in which only activation gradients are; the same lines in layers-MODEL-FORMAT.tsv
#   sweep    fp32, constant scales 1, 2, 4 ... 8192, dynamic, adaptive; 5 passes over 10,000 images
#            (resnet56: fp32, none, 16 and adaptive; resnet110: fp32, none and adaptive, 3 over
#            5,000; resnet8, resnet20-8bit: 10 passes, charlstm: 8 over the text, each with
#            activation gradients in e5m2, e4m3 and, for resnet8, e3m4), SEEDS "1 2 3"; appends to
#            $TABLES/scale-MODEL.tsv (bench/data)
#   --table  prints the results, and draws $B/loss_scale.svg for resnet20; for resnet20-8bit and
#            charlstm also the passes that each row needs to reach an accuracy or bits a character
# With TABLES, another folder: SAMPLES, EPOCHS, RATE.
set -eu
. "$(dirname "$0")/../usage.sh"
tables=${TABLES:-bench/data}
only=''
case ${1-} in
layers)
    need_data 'cifar10/'
    mkdir -p "$B/loss_scale"
    data=(--data "cifar10:$NARROWCAST_DATA/cifar10")
    case ${2:-resnet110} in
    resnet110) exec "$B/bench_loss_scale" "${data[@]}" --layers "$B/loss_scale/layers.tsv" ;;
    resnet8 | resnet20) ;;
    *) refuse "'$2': must be resnet110, resnet8 or resnet20" ;;
    esac
    for format in e5m2 e4m3 e3m4; do
        "$B/bench_loss_scale" "${data[@]}" --model "$2" --act fp32 --format $format --layers "$B/loss_scale/layers-$2-$format.tsv"
    done
    exit
    ;;
--table) only=1 ;;
sweep) ;;
*) refuse "'${1-}': must be layers, sweep or --table" ;;
esac
model=${2:-resnet20} seeds=${3:-1 2 3} formats='' goals=''
tsv=$tables/scale-$model.tsv
LOGS=$B/loss_scale/$model
case $model in
resnet20)
    samples=10000 epochs=5 rate=0.1
    scales=$(echo none && for ((k = 2; k <= 8192; k *= 2)); do echo $k; done && echo dynamic && echo adaptive)
    ;;
resnet56)
    samples=10000 epochs=5 rate=0.1
    scales=$(printf '%s\n' none 16 adaptive)
    ;;
resnet110) # at 0.1 the first steps are chaotic, also in fp32
    samples=5000 epochs=3 rate=0.02
    scales=$(printf '%s\n' none adaptive)
    ;;
resnet8)
    samples=10000 epochs=10 rate=0.1
    formats='e5m2 e4m3 e3m4'
    ;;
resnet20-8bit)
    samples=10000 epochs=10 rate=0.1
    formats='e5m2 e4m3'
    history=test_accuracy goals='0.5 0.6 0.65'
    ;;
charlstm)
    figure=bits figure_is='bits a character' figure_unit='' figure_times=1
    epochs=8 rate=0.2
    formats='e5m2 e4m3'
    history=test_bits goals='2.7 2.6 2.5'
    ;;
*) refuse "'$model': must be resnet20, resnet56, resnet110, resnet8, resnet20-8bit or charlstm" ;;
esac
if [ "$formats" ]; then scales=$(for format in $formats; do printf "$format %s\n" none 128 dynamic adaptive; done); fi
another='SAMPLES EPOCHS RATE'
. bench/trainings.sh

# passes_of: print the passes after which each row first reached each of $goals
passes_of() {
    awk -F '\t' -v goals="$goals" -v names="fp32|${scales//$'\n'/|}" '
        { runs[$1]++; n = split($5, x, ",")
          for (g = split(goals, goal, " "); g > 0; g--)
              for (i = 1; i <= n; i++) # bits fall, accuracies rise
                  if (goal[g] > 1 ? x[i] + 0 <= goal[g] : x[i] + 0 >= goal[g]) { sum[$1, g] += i; reached[$1, g]++; break } }
        END { n_goals = split(goals, goal, " ")
              printf "\n| passes to |"
              for (g = 1; g <= n_goals; g++) printf((goal[g] > 1 ? " %s bits |" : " %s %% |"), (goal[g] > 1 ? goal[g] : 100 * goal[g]))
              printf "\n|---|"
              for (g = 1; g <= n_goals; g++) printf "---|"
              print ""
              for (k = 1; k <= split(names, name, "|"); k++) {
                  if (!runs[name[k]]) continue
                  printf "| %s |", name[k]
                  for (g = 1; g <= n_goals; g++)
                      if (reached[name[k], g] == runs[name[k]]) printf " %.1f |", sum[name[k], g] / runs[name[k]]
                      else printf " %d of %d |", reached[name[k], g], runs[name[k]]
                  print "" } }' "$tsv"
}
table() {
    table_of scale fp32 <<<"fp32
$scales"
    [ -z "$goals" ] || passes_of
    [ "$model" = resnet20 ] && [ -s "$tsv" ] && command -v gnuplot >/dev/null || return 0
    mkdir -p "$B"
    FILE=$tsv gnuplot -d bench/loss_scale/loss_scale.gp >"$B/loss_scale.svg" && echo "chart $B/loss_scale.svg" >&2
}
if [ "$only" ]; then
    table
    exit
fi
common="--model ${model%-8bit} --format fp32 --scale none --epochs ${EPOCHS:-$epochs} --lr ${RATE:-$rate} --momentum 0.9 --schedule cosine --warmup 1"
if [ "$model" = charlstm ]; then
    need_data 'tinyshakespeare/'
    data=(--data "text:$NARROWCAST_DATA/tinyshakespeare/input.txt")
    common+=" --width 0.25 --batch 16 --weight-decay 0${SAMPLES:+ --train-samples $SAMPLES}"
else
    need_data 'cifar10/'
    data=(--data "cifar10:$NARROWCAST_DATA/cifar10")
    common+=" --batch 128 --train-samples ${SAMPLES:-$samples} --weight-decay 1e-4 --augment crop+flip"
fi
for seed in $seeds; do
    # shellcheck disable=SC2086
    launch fp32 "$seed" 1 "${data[@]}" $common
    while read -r scale; do
        quant=act=e5m10,weight=e5m10,error=e5m10
        [ -z "$formats" ] || quant=error=${scale% *}
        # shellcheck disable=SC2086
        launch "$scale" "$seed" 1 "${data[@]}" $common --quant "$quant,overflow=inf" --loss-scale "${scale#* }"
    done <<<"$scales"
done
settle 1
table
