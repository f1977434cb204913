#!/bin/bash
# test_install.sh : host/install.sh on machines that lack something: it installs, goes on without, or says the command to type and
# fails; make sees in the same command what was installed.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for t in sh echo sort tr sed printf mktemp rm tail env touch chmod id make nproc mkdir cat cmp find expand; do ln -s "$(type -P $t)" "$dir/$t"; done
fake() { rm -f "$dir/$1" && printf '#!/bin/sh\n%s\n' "$2" >"$dir/$1" && chmod +x "$dir/$1"; }
fail() { echo "$1"; cat "$dir/out"; exit 1; }
run() { : >"$dir/log"; env -i PATH="$dir" DIR="$dir" host/install.sh "$@" >"$dir/out" 2>&1; }
says() { grep -qF -- "$1" "$dir/out" || fail "$2: should say '$1'"; }
asked() { grep -qxF "apt-get $1" "$dir/log" || fail "$2: should have called apt-get $1, not $(cat "$dir/log")"; }
without() { for t in "$@"; do rm -f "$dir/$t"; done; }

essential='gcc libc6-dev libopenblas-dev libopenmpi-dev openmpi-bin zlib1g-dev'
optional='g++ gnuplot-nox iproute2 iverilog libfabric-dev libxrt-dev procps python3 uuid-dev verilator yosys z3'
commands='mpicc mpirun g++ gnuplot ip iverilog pgrep python3 verilator yosys z3'
all=$(echo "$essential $optional" | tr ' ' '\n' | sort -u | tr '\n' ' ')
all=${all% }

# --- no compiler ---
fake id 'echo 1000'
if run; then fail "no compiler and no apt-get: should have failed"; fi
says "missing: $essential; " "no compiler"
fake apt-get 'exit 100'
if run; then fail "not root and no sudo: should have failed"; fi
says 'as root, type: apt-get update && apt-get install -y' "not root and no sudo"
if run needs; then fail "needs: should have failed"; fi
says "missing: $essential;" "needs"

# --- root: one line that says what and how much, then it is there ---
# shellcheck disable=SC2016  # expands in the fake, not here
installs='echo "apt-get $*" >>"$DIR/log"
case "$*" in
update*) ;;
*--assume-no*) printf "Need to get 244 MB of archives.\nAfter this operation, 1024 MB of additional disk space will be used.\n"; exit 1 ;;
*) for t in cc '$commands'; do printf "#!/bin/sh\n" >"$DIR/$t" && chmod +x "$DIR/$t"; done ;;
esac'
fake id 'echo 0'
fake apt-get "$installs"
run || fail "root: should have installed"
asked "install -y --no-install-recommends $all" root
[ "$(cat "$dir/out")" = "installing $all: 244 MB to load, 1024 MB on disk; TOOLS=no leaves out what the build can do without" ] || fail "root: one line"
run || fail "all is there"
[ ! -s "$dir/out" ] || fail "all is there: should be silent"
without verilator z3
run tools || fail "tools: should have installed"
asked 'install -y --no-install-recommends verilator z3' tools

# --- another BLAS: its header is there, but what is linked is OpenBLAS ---
fake cc 'case "$*" in *-lopenblas*) exit 1 ;; esac'
run || fail "another BLAS: should have installed"
asked 'install -y --no-install-recommends libopenblas-dev' "another BLAS"

# --- make sees in the same command what it installed ---
fake cc ''
without verilator
: >"$dir/log"
env -i PATH="$dir" DIR="$dir" make B="$dir/b" NVCC= skips >"$dir/out" 2>&1 || fail "make: should have worked"
asked 'install -y --no-install-recommends verilator' make
if grep -q 'no verilator' "$dir/out"; then fail "make does not see what it installed"; fi
without verilator
env -i PATH="$dir" DIR="$dir" make B="$dir/c" NVCC= TOOLS=no skips >"$dir/out" 2>&1 || fail "make TOOLS=no: should have worked"
says 'no verilator' "make TOOLS=no"

# --- no network: what only tools lack is said, a line each, and it goes on; what the build needs ends it ---
fake apt-get 'echo "E: no network" >&2; exit 100'
without z3
run || fail "no network: should have gone on"
[ "$(grep -c '^no [a-z0-9]*: ' "$dir/out")" -eq 2 ] || fail "no network: one line a missing tool"
says 'no verilator: what needs it is left out' "no network"
if run tools; then fail "no network, tools asked for: should have failed"; fi
without mpicc
if run; then fail "no network and no mpicc: should have failed"; fi
says 'E: no network' "no mpicc"
says 'missing: libopenmpi-dev openmpi-bin; ' "no mpicc"

# --- a package that this Debian has not: what the build needs is installed all the same ---
fake apt-get 'case "$*" in *verilator*) exit 100 ;; esac
'"${installs/$commands/mpicc}"
run || fail "no package of verilator: should have gone on"
asked 'install -y --no-install-recommends libopenmpi-dev openmpi-bin' "no package of verilator"
says 'no verilator: what needs it is left out' "no package of verilator"

# --- an archive without XRT: a line, and all else is installed ---
fake apt-cache 'echo "libxrt-dev: Candidate: (none)"'
fake apt-get "$installs"
fake cc 'case "$*" in *xrt_device.h*) exit 1 ;; esac'
without verilator
run || fail "no XRT in the archive: should have gone on"
asked 'install -y --no-install-recommends verilator z3' "no XRT in the archive"
says "no libxrt-dev in this system's archive: what needs it is left out" "no XRT in the archive"
