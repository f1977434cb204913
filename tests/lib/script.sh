# shellcheck shell=bash disable=SC2034 # names for those who source this
# script.sh : provides $here (tests/), $B (the build, absolute), $n (the program), $dir (a folder
# that goes at the end), in_netlab, equal, differ, sum_of, need_xrt, need_plain, and `fail TEXT...`,
# which also shows the ends of the files $says, but does not end the script: its last line must be
# `exit $bad`.
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
# equal TEXT A B, differ TEXT A B: fail with TEXT unless A and B, such as checksums, are equal or
# differ; also if one of them is empty
equal() {
    if [ -z "$2" ] || [ "$2" != "$3" ]; then fail "$1: '$2' and '$3'"; fi
}
differ() {
    if [ -z "$2" ] || [ -z "$3" ] || [ "$2" = "$3" ]; then fail "$1: '$2' and '$3'"; fi
}
# sum_of [FILE]: print the checksum of the weights, from the output of a training
sum_of() { sed -n 's/^weights checksum //p' "$@"; }
# need_xrt, need_plain LIBRARY: end the script with a skip if this build has no simulated XRT device,
# or LIBRARY was built with sanitizers, which a program without them cannot load
need_xrt() {
    [ -e "$B/xrt/lib/libxrt_core.so.2" ] || { echo 'skip: no simulated XRT device in this build (libxrt-dev)' && exit 77; }
}
need_plain() {
    case $(nm -D "$1") in *__asan* | *__tsan*)
        echo 'skip: a program without sanitizers does not load a library with them'
        exit 77
        ;;
    esac
}
script_words=("$@")
# in_netlab OPTION...: goes on in a network of bench/netlab.sh
in_netlab() {
    [ -z "${NETLAB_HOSTS-}" ] || return 0
    rm -rf "$dir"
    B=$B exec "$here/../bench/netlab.sh" "$@" -- bash "$(realpath "$0")" "${script_words[@]}"
}
