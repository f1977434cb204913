#!/bin/bash
# test_lint.sh : `make lint` must find nothing. Only with `long` clang reads all C and the kernels,
# and shellcheck the tests and what a script includes. Otherwise clang reads the small libraries that
# test_sanitizers.sh does not build, and shellcheck the scripts that are no tests, for nothing that
# depends on includes.
set -u
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
cd "$(dirname "$0")/../.." || exit 1
small=''
[ "${1-}" = long ] || small=$(echo host/pmpi/*.c host/collnet/*.c host/comm/mpi/mpi_calls.c)
exec make -s B="$(realpath "${B:-build}")" LINT_C="$small" lint
