#!/bin/bash
# emulate.sh : compares an emulated rank's step with a plain step of the same images, in turn.
# usage: bench/training/emulate.sh [-n RUNS] RANKS [OPTION...]
# OPTIONs are those of train, for both. Each rank has 32 images.
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
runs=5
[ "${1-}" != -n ] || { runs=${2-} && shift $(($# < 2 ? $# : 2)); }
[ $# -ge 1 ] || { echo "usage: bench/training/emulate.sh [-n RUNS] RANKS [OPTION...]" >&2; exit 2; }
ranks=$1 && shift
whole RUNS "$runs" 'a number of runs'
whole RANKS "$ranks" 'a number of ranks'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
each=32
images=$((ranks * each * 5 / 4 / 10 * 10 + 40)) # a fifth are test images
common=(--data "synthetic:$images,1" --warmup 0 "$@")

# rate COMMAND...: print images per second
rate() {
    "$B/narrowcast" "$@" "${common[@]}" >"$dir/out" 2>"$dir/said" || { tail -n 3 "$dir/said" >&2 && return 1; }
    sed -n 's/^speed *\([0-9]*\) images.s/\1/p' "$dir/out"
}
for ((i = 0; i < runs; i++)); do
    plain=$(rate train --batch $each --steps "$ranks")
    emulated=$(rate emulate --ranks "$ranks" --batch $((ranks * each)) --steps 1)
    echo "$plain $emulated $(sed -n 's/^emulated.*; \(.*\) of memory.*/\1/p' "$dir/out")"
done | tee "$dir/rates" | awk '{ printf "plain %s images/s, emulated %s: %.3f of the time; %s %s at most\n", $1, $2, $1 / $2, $3, $4 }'
awk '{ print $1 / $2 }' "$dir/rates" | median 'median %.3f\n'
