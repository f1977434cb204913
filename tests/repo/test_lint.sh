#!/bin/bash
# test_lint.sh : `make lint` must find nothing. Only with `long` clang reads all C and the kernels,
# and shellcheck what a script includes. Otherwise clang reads the small libraries that
# test_sanitizers.sh does not build, and shellcheck looks for nothing that depends on includes.
set -u
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
cd "$(dirname "$0")/../.." || exit 1
c='' sh=''
if [ "${1-}" != long ]; then
    c=$(echo host/pmpi/*.c host/collnet/*.c host/comm/mpi/mpi_calls.c)
    # not those that are only included: shellcheck would follow an include of a file in its list
    sh="-e SC1091,SC2034,SC2086,SC2154 $(grep -lE '^#!/bin/(ba)?sh' -r host rtl tests bench .ci .githooks --include='*.sh' --include=run --include=commit-msg | tr '\n' ' ')"
fi
exec make -s B="$(realpath "${B:-build}")" LINT_C="$c" LINT_SH="$sh" lint
