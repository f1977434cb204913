#!/bin/bash
# test_bench_words.sh : no script of bench/ runs a command hidden in an argument or variable. With
# `long` each word in each place, otherwise in every fourth.
set -eu
long=${1-}
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.."
# Fakes of this tree's and the system's programs: scripts only read their arguments.
mkdir "$dir/build" "$dir/bin"
printf '#!/bin/sh\necho "{}"\n' >"$dir/bin/nothing"
chmod +x "$dir/bin/nothing"
for program in narrowcast bench_allreduce bench_cast bench_codecs bench_error bench_gpu bench_native bench_train; do
    ln -s ../bin/nothing "$dir/build/$program"
done
for program in python3 mpirun unshare gnuplot ncu nsys ompi_info; do ln -s nothing "$dir/bin/$program"; done
export B="$dir/build" PATH="$dir/bin:$PATH" TABLES="$dir/tables" TABLE="$dir/table.tsv" OUT="$dir/out" EMULATED=1 NARROWCAST_DATA="$dir" NETLAB_MPI=-q

# Hidden commands: bash's arithmetic runs the first, sed the second.
# shellcheck disable=SC2016  # they are not for this shell
words=('PATH[$(>$RAN)0]' '1/;e>$RAN;#')
export RAN="$dir/ran"
# ran LABEL COMMAND...: the word's command must not run
ran() {
    timeout 20 env "${@:2}" >"$dir/said" 2>&1 </dev/null || true
    [ ! -e "$RAN" ] || fail "$1: runs a command of its user's word"
    rm -f "$RAN"
}
tried=0
for script in bench/*.sh bench/*/*.sh; do
    case $script in */trainings.sh | */usage.sh | */json.sh | */netlab.sh | */gpu_pack.sh) continue ;; esac # sourced, or their arguments are commands and files
    # a variable's default marks it: ${NAME:-...}
    variables=$(grep -oh '[{][A-Z_]*[:-]' "$script" | tr -d '{:-' | sort -u)
    for at in 0 1; do
        word=${words[at]} turn=$at
        for variable in $variables; do
            case $variable in B | PATH | TABLES | TABLE | OUT | NARROWCAST_DATA | NARROWCAST_LIBRARY | PYTHON) continue ;; esac # folders, a program
            turn=$((turn + 1))
            for arguments in '' 1; do
                [ "$script$arguments" != bench/gpu/gpu_all.sh ] || continue
                turn=$((turn + 1))
                [ -n "$long" ] || [ $((turn % 4)) = 0 ] || continue
                tried=$((tried + 1))
                # shellcheck disable=SC2086  # arguments are words
                ran "$script, $variable=$word" "$variable=$word" "$script" $arguments
            done
        done
        case $script in */median.sh) rest=(true) ;; *) rest=() ;; esac
        for first in '' -n 4 9 cpu resnet8 sweep an4; do
            turn=$((turn + 1))
            [ -n "$long" ] || [ $((turn % 4)) = 0 ] || continue
            tried=$((tried + 1))
            ran "$script $first $word" "$script" ${first:+"$first"} "$word" ${rest[@]+"${rest[@]}"}
        done
        ran "$script cpu 1 $word" "$script" cpu 1 "$word"
    done
done
[ $tried -ge 100 ] || fail "only $tried words were tried"

refused() {
    local rc=0
    timeout 20 env "${@:2}" >"$dir/said" 2>&1 </dev/null || rc=$?
    if [ $rc -ne 2 ] || [ "$(wc -l <"$dir/said")" -ne 1 ] || ! grep -qF "$1" "$dir/said"; then fail "${*:2}: exit $rc: $(cat "$dir/said")"; fi
}
refused "RANKS 'x': must be a number of ranks, from 1 to 999999999" bench/training/emulate.sh x
refused "RUNS '1e3': must be" bench/training/emulate.sh -n 1e3 4
refused "RANKS '99999999999999999999': must be" bench/training/emulate.sh 99999999999999999999
refused "BATCH '0': must be" BATCH=0 bench/allreduce/tradeoff.sh
refused "STEPS '-1': must be" STEPS=-1 bench/allreduce/tradeoff.sh
refused "NODES '0': must be" NODES=0 bench/allreduce/tradeoff.sh
refused "MIB '1k': must be" MIB='16 1k' bench/gpu/gpu_all.sh 1
refused "RUNS 'x': must be" bench/median.sh x true
refused "RUNS '1000000000': must be a number of runs, from 1 to 999999999" bench/median.sh 1000000000 true
refused "RUNS '0': must be" RUNS=0 bench/papers/by_nodes.sh oyama3
refused "STEPS '1.5': must be" STEPS=1.5 bench/codec_accuracy/relgrad_quantiles.sh
refused "ROUNDS '0x2': must be" ROUNDS=0x2 bench/allreduce/bench_native.sh 2
refused "RANKS '-h2': must be" bench/allreduce/bench_overlap.sh -h2
refused "NODES '1 2': must be" NODES='1 2' bench/allreduce/predict_check.sh
refused "CORES 'x': must be" bench/training/train_peer.sh cpu 5 1 x
refused "DEVICE 'cuda': only full" DEVICE=cuda bench/codec_accuracy/codec_accuracy.sh resnet8
refused "EPOCHS 'x': must be 0 or a number of passes" bench/papers/papers.sh 9 '0 x'
for script in 'accuracy.sh 1' 'codec_accuracy.sh' 'davidnet.sh' 'loss_scale.sh layers' 'loss_scale.sh sweep' 'papers.sh 9' 'papers.sh 4' 'pure_fp16.sh' \
    'relgrad_caffenet.sh' 'sequences.sh' 'papers.sh fig1'; do
    # shellcheck disable=SC2086  # options are words
    refused 'NARROWCAST_DATA is not set: must be the folder that holds' -u NARROWCAST_DATA bench/*/$script
done
# New scripts too must check user input before arithmetic; bash must print no errors of its own
# about a variable.
! grep -n '{NARROWCAST_DATA:?' bench/*.sh bench/*/*.sh || fail 'bash names the script and the line where NARROWCAST_DATA is missing'
exit $bad
