#!/bin/bash
# test_install.sh : host/install.sh on machines that lack something: it installs, or says the command to type and fails.
set -eu
script=$(cd "$(dirname "$0")/../host" && pwd)/install.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for t in sh sort tr printf mktemp rm tail env; do ln -s "$(command -v $t)" "$dir/$t"; done
fake() { printf '#!/bin/sh\n%s\n' "$2" >"$dir/$1" && chmod +x "$dir/$1"; }
fail() { echo "$1"; cat "$dir/out"; exit 1; }
run() { env -i PATH="$dir" "$script" >"$dir/out" 2>&1; }

fake id 'echo 1000'
if run; then fail "no compiler and no apt-get: should have failed"; fi
grep -q 'missing: gcc libc6-dev libopenblas-dev libopenmpi-dev openmpi-bin zlib1g-dev' "$dir/out" || fail "should list the packages"

# shellcheck disable=SC2016  # expands in the fake, not here
fake apt-get 'echo "apt-get $*" >>"$LOG"'
if run; then fail "not root and no sudo: should have failed"; fi
grep -q 'as root, type: apt-get update && apt-get install -y' "$dir/out" || fail "should say the command to type"

fake id 'echo 0'
LOG=$dir/log env -i PATH="$dir" LOG="$dir/log" "$script" >"$dir/out" 2>&1 || fail "root: should have installed"
grep -q 'apt-get install -y --no-install-recommends gcc libc6-dev' "$dir/log" || fail "root: should have called apt-get install"

# shellcheck disable=SC2016  # expands in the fake, not here
fake apt-get 'echo "E: no network" >&2; exit 100'
if run; then fail "apt-get failed: should have failed"; fi
grep -q 'E: no network' "$dir/out" || fail "should show what apt-get said"
grep -q 'cannot install' "$dir/out" || fail "should say what failed"

# the optional tools, by the same ways
# shellcheck disable=SC2016  # expands in the fake, not here
fake apt-get 'echo "apt-get $*" >>"$LOG"'
LOG=$dir/log2 env -i PATH="$dir" LOG="$dir/log2" "$script" tools >"$dir/out" 2>&1 || fail "root: should have installed the tools"
grep -q 'install -y --no-install-recommends g++ gnuplot-nox iverilog libfabric-dev verilator yosys z3' "$dir/log2" || fail "tools: should have called apt-get install"

# all is there: silent
"$script" >"$dir/out" 2>&1 || fail "here everything is installed"
[ ! -s "$dir/out" ] || fail "should be silent"
