#!/bin/bash
# test_samples.sh : compares sample outputs of READMEs with new runs (tests/samples.sh), with `long`
# also the weights of one with those over MPI.
set -u
[ "${1-}" = long ] || export QUICK=1
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
export SAMPLES=${SAMPLES:-$dir/samples}
"$here/samples.sh" --check >"$dir/first" 2>&1 || bad=1
cat "$dir/first"

# planted LINE FROM TO: changes samples in lines that begin with LINE
planted() {
    local file n=0
    while read -r file; do
        mkdir -p "$dir/tree/$(dirname "$file")"
        cp "$here/../$file" "$dir/tree/$file"
        sed -i "s/^\($1.*\)$2/\1$3/" "$dir/tree/$file"
        cmp -s "$here/../$file" "$dir/tree/$file" || n=$((n + 1))
    done < <(cd "$here/.." && find . -name README.md -not -path './build*' \
        -exec grep -l '^<!-- samples\.sh ' {} +)
    [ $n -gt 0 ] || { echo "FAIL no sample has '$1'" && bad=1; }
    TREE=$dir/tree "$here/samples.sh" --check >"$dir/said" 2>&1 &&
        { echo "FAIL missed: $1, $3 instead of $2" && bad=1; }
    grep -q '^FAIL samples.sh: sample ' "$dir/said" || { echo "FAIL $1: said $(cat "$dir/said")" && bad=1; }
}
planted 'run ' '198 steps' '199 steps'
planted 'gradients ' e4m3 e5m2
planted 'emulated: ' GiB MiB
if ! grep -q '^skip: sample' "$dir/first"; then
    planted 'accuracy ' '[0-9] %' '7 %'
    planted 'weights checksum ' '[0-9a-f]' g
    planted 'until ' '[0-9] MB' 'x MB'
    planted '"not_finite_all"' '"exponent":-' '"exponent":'
fi
exit $bad
