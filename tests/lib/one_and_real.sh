# one_and_real.sh : trains with $ranks ranks and options $common, in one process or in $ranks.
# Source in_folder.sh first. A run leaves LABEL.out, LABEL.jsonl and LABEL.ck.
# shellcheck shell=bash disable=SC2154 # $n: of in_folder.sh
: "${ranks:?}" "${common:?}"
one() {
    # shellcheck disable=SC2086
    timeout 120 "$n" emulate --ranks "$ranks" $common "${@:2}" --log "$1.jsonl" --save "$1.ck" >"$1.out" 2>"$1.err" || fail "one process, ${*:2}: $(tail -n 1 "$1.err")"
}
real() {
    # shellcheck disable=SC2086
    timeout 120 mpirun -np "$ranks" "$n" train $common "${@:2}" --log "$1.jsonl" --save "$1.ck" >"$1.out" 2>"$1.err" || fail "$ranks processes, ${*:2}: $(tail -n 1 "$1.err")"
}
sum() { sum_of "$1.out"; }
