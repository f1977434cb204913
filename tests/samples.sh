#!/bin/bash
# samples.sh : makes the sample outputs of READMEs and compares them with new runs. They are the
# blocks after a line <!-- samples.sh NAME, machine KEY -->. KEY is the column of
# tests/checksums.tsv for the machine that ran it.
# usage: samples.sh            runs all samples and rewrites their blocks
#        samples.sh --check    runs all samples; exit 1 if a figure differs that is not a time
# On another kind of machine --check leaves out figures that depend on rounding, and says so; with
# QUICK=1 also the sample stats, which has no others.
# shellcheck disable=SC2317 # samples are called by name
# Environment: QUICK=1, a part of them; SAMPLES, a folder of outputs that are used instead of new runs; TREE, the tree with
# the READMEs (default: this one).
set -eu
check=''
[ "${1-}" != --check ] || check=1
tree=$(realpath "${TREE:-$(dirname "$0")/..}") kept=$(realpath -m "${SAMPLES:-.}")
. "$(dirname "$0")/lib/card_net.sh"
[ -n "${SAMPLES-}" ] || kept=$dir/samples
mkdir -p "$kept"
export CUDA_VISIBLE_DEVICES=''
unset NARROWCAST_OFFLOAD
key=$(machine_key)

# Without Verilator. The same network over MPI must give the same weights, which QUICK=1 leaves out.
sample_run() {
    NARROWCAST_OFFLOAD=sim:c mpirun -np 4 "$n" train >out 2>err
    if [ -z "${QUICK-}" ]; then
        mpirun -np 4 "$n" train --algo group-scatter:2 >scatter.out 2>>stderr
        same "group-scatter:2" scatter.out "$(sum_of out)"
    fi
    grep '^all-reduce: ' err
    echo ...
    grep -E '^(run|gradients|offload|accuracy|bytes) .* |^weights' out
}

# QUICK=1 ends the run after the only line without times.
sample_emulate() {
    local options='--ranks 256 --model resnet20 --batch 2048 --data synthetic:5120,1 --steps 2'
    options+=' --format e5m2 --algo group-master:16 --sum nearest'
    echo "\$ build/narrowcast emulate $options"
    # shellcheck disable=SC2086 # words
    "$n" emulate $options >out 2>err &
    while [ -n "${QUICK-}" ] && kill -0 $! 2>/dev/null && ! grep -q '^emulated: ' err; do sleep 0.1; done
    [ -z "${QUICK-}" ] || kill $! || true
    wait $! || [ -n "${QUICK-}" ]
    grep '^emulated: ' err
    echo ...
    grep '^emulated ' out || [ -n "${QUICK-}" ]
}

sample_doctor() {
    echo '$ host/ranks.sh 4 build/narrowcast doctor'
    mpirun -np 4 "$n" doctor >out 2>>stderr || true
    sed -n '/ launcher /p; s/^/...\n/; / cores /p; / cards /p' out
}

sample_stats() {
    local options='--stats stats.jsonl --stats-every 50 --until 0.95'
    echo "\$ host/ranks.sh 4 build/narrowcast train $options"
    # shellcheck disable=SC2086 # words
    mpirun -np 4 "$n" train $options >out 2>>stderr
    printf '...\n%s\n' "$(grep '^until ' out)"
    echo "\$ grep '\"stats\",\"step\":101,.*s1b0.conv1' stats.jsonl"
    grep '"stats","step":101,.*s1b0.conv1' stats.jsonl |
        sed -E 's/"bins":\[(([0-9]+,){10})[0-9,]*((,[0-9]+){3})\]/"bins":[\1...\3]/
            s/"bins_all":\[[^]]*\]/"bins_all":[...]/' |
        awk -F , '{ for (i = 1; i <= NF; i++) {
                        word = $i (i < NF ? "," : "")
                        if (length(line word) > 100) { print line; line = "" }
                        line = line word
                    }
                    print line }'
}

# steady: removes times and traffic that depends on timing
steady() {
    sed -E 's/RTT [0-9.]+ us/RTT/; s/, [0-9]+ sent again; a card answers in .*//
        s/: [0-9.]+ s of steps/:/; s/ [0-9]+ a step and rank, against (.*) \(.*/ \1/
        /^(card|speed|all-reduce  |emulated  |warn )/d'
}
# portable: also removes figures that differ between machines
portable() { sed -E '/^(accuracy|loss|until|weights checksum|[{"]|[0-9]+,)/d'; }

block() {
    awk -v head="<!-- samples.sh $2, " 'index($0, head) == 1 { at = 1; next }
        at && /^```/ { if (at++ == 2) exit; next }
        at == 2' "$1"
}

write() {
    awk -v head="<!-- samples.sh $2, " -v key="$key" -v text="$kept/$2" '
        index($0, head) == 1 { print head "machine " key " -->"; at = 1; next }
        at == 1 && /^```/ { print; while ((getline line <text) > 0) print line; at = 2; next }
        at == 2 { if (/^```/) { at = 0; print } next }
        { print }' "$1" >new
    cp new "$1"
}

compare() {
    filter="cat"
    if [ "$3" != "$key" ]; then
        filter=portable
        echo "skip: sample $2 is of machine $3, this is $key: figures that depend on rounding"
    fi
    block "$1" "$2" | steady | $filter >want
    steady <"$kept/$2" | $filter >have
    diff -u --label "$1" --label 'a new run' want have || fail "sample $2: run tests/samples.sh, or mend what changed"
}

n_samples=0
while IFS=: read -r file name machine; do
    n_samples=$((n_samples + 1))
    if [ "$name" = stats ] && [ "$machine" != "$key" ] && [ -n "${QUICK-}" ]; then
        echo "skip: sample $name is of machine $machine, this is $key: all its figures depend on rounding"
        continue
    fi
    if [ ! -s "$kept/$name" ]; then
        "sample_$name" >"$dir/made" </dev/null || fail "sample $name: $(tail -n 3 err)"
        cp "$dir/made" "$kept/$name"
    fi
    if [ -n "$check" ]; then compare "$file" "$name" "$machine"; else write "$file" "$name"; fi
done < <(find "$tree" -name README.md -not -path "$tree/build*" -exec grep -H '^<!-- samples\.sh ' {} + |
    sed -E 's/^(.*):<!-- samples\.sh ([a-z_]+), machine ([0-9a-f]+) -->$/\1:\2:\3/')
[ $n_samples -gt 0 ] || fail "no README has a sample"
exit $bad
