# shellcheck shell=bash disable=SC2034 # names for those who source this
# in_folder.sh : moves a script into a temporary folder until it ends. Provides $B (the build,
# absolute), $n (the program), $here (tests/), $dir (the folder), mpirun's settings, and `fail
# TEXT...`, which does not end the script: its last line must be `exit $bad`.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$here/../host/ranks.sh"
. "$here/lib/same_state.sh"
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
n=$B/narrowcast
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
fail() {
    echo "FAIL ${0##*/}: $*" >&2
    bad=1
}
. "$here/lib/refused.sh"
