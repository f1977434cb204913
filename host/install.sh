#!/bin/sh
# install.sh : what the build cannot do without: is it here? Installs it with apt-get when root or sudo is there, otherwise
# says the command to type and fails. Prints nothing when all is there. Called by the Makefile.
# usage: install.sh [tools]     tools: instead, what the build can do without: simulation, cards on a network, synthesis, proofs, charts
set -eu
cc=${CC:-cc}
packages=

# need PACKAGES TEST...: when the test fails, the packages are wanted
need() {
    wanted=$1
    shift
    "$@" >/dev/null 2>&1 || packages="$packages $wanted"
}
tool() { command -v "$1"; }
header() { echo "#include <$1>" | "$cc" -E -; }

if [ "${1-}" = tools ]; then
    need g++ tool c++
    need verilator tool verilator
    need libfabric-dev header rdma/fabric.h
    need yosys tool yosys
    need z3 tool z3
    need iverilog tool iverilog
    need gnuplot-nox tool gnuplot
else
    need "gcc libc6-dev" header stdio.h
    need "libopenmpi-dev openmpi-bin" tool "${MPICC:-mpicc}"
    need openmpi-bin tool mpirun
    need libopenblas-dev header cblas.h
    need zlib1g-dev header zlib.h
fi
[ -n "$packages" ] || exit 0

# shellcheck disable=SC2086  # a list of words
packages=$(printf '%s\n' $packages | sort -u | tr '\n' ' ')
command="apt-get install -y --no-install-recommends ${packages% }"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "narrowcast: missing: ${packages% } (names of Debian packages); install them and type make again" >&2
    exit 1
elif [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo >/dev/null 2>&1; then
    sudo=sudo
else
    echo "narrowcast: missing: ${packages% }; as root, type: apt-get update && $command" >&2
    exit 1
fi
echo "installing ${packages% }"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# shellcheck disable=SC2086
if ! { $sudo apt-get update -qq && $sudo $command; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    echo "narrowcast: cannot install ${packages% }; type: $sudo apt-get update && $sudo $command" >&2
    exit 1
fi
rm -f "$log"
