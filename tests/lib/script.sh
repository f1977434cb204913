# shellcheck shell=bash disable=SC2034 # names for those who source this
# script.sh : provides $here (tests/), $B (the build, absolute), $n (the program), $dir (a folder
# that goes at the end), in_netlab, and `fail TEXT...`, which also shows the ends of the files
# $says, but does not end the script: its last line must be `exit $bad`.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
n=$B/narrowcast
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
fail() {
    # shellcheck disable=SC2086 # patterns
    echo "FAIL ${0##*/}: $*${says+: $(tail -n 20 $says 2>&1)}" >&2
    bad=1
}
script_words=("$@")
# in_netlab OPTION...: goes on in a network of bench/netlab.sh
in_netlab() {
    [ -z "${NETLAB_HOSTS-}" ] || return 0
    rm -rf "$dir"
    B=$B exec "$here/../bench/netlab.sh" "$@" -- bash "$(realpath "$0")" "${script_words[@]}"
}
