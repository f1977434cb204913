#!/bin/bash
# test_blas_core.sh : narrowcast selects the kernels of an OpenBLAS that does not know this CPU,
# unless the user has.
set -eu
B=${B:-build}
n=$(realpath "$B")/narrowcast
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "test_blas_core.sh: $*" >&2; exit 1; }
core() { sed -n 's/^CBLAS .* \([^ ]*\) MAX_THREADS.*/\1/p' out; }

unset OPENBLAS_CORETYPE
"$n" info >out
[ -n "$(core)" ] || { echo "skip: this CBLAS has no choice of kernels: $(sed -n 's/^CBLAS *//p' out)"; exit 77; }
features=$(sed -n 's/^CPU features *//p' out)
case " $features " in
*' avx512f '*' avx512dq avx512vl '*) best=SkylakeX ;;
*' avx2 fma '*) best=Haswell ;;
*) best=Prescott ;;
esac
[ "$best" = Prescott ] || [ "$(core)" != Prescott ] || fail "kernels for SSE3 on a CPU with $features"

cat >shim.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char *openblas_get_corename(void) { return "Prescott"; }
__attribute__((constructor)) static void begins(void)
{
    FILE *f = strcmp(program_invocation_short_name, "narrowcast") ? NULL : fopen(getenv("BEGINS"), "a");
    if (f) {
        fprintf(f, "%s\n", getenv("OPENBLAS_CORETYPE") ? getenv("OPENBLAS_CORETYPE") : "none");
        fclose(f);
    }
}
END
"${CC:-cc}" -shared -fPIC -o shim.so shim.c
export BEGINS=$dir/begins ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"

begun() {
    : >"$BEGINS"
    timeout 60 env LD_PRELOAD="$dir/shim.so" "${@:2}" >out 2>err || fail "exit $?: ${*:2}: $(cat err)"
    [ "$(paste -sd ' ' "$BEGINS")" = "$1" ] || fail "told '$(paste -sd ' ' "$BEGINS")', not '$1': ${*:2}"
}
anew="none $best"
[ "$best" != Prescott ] || anew=none
begun "$anew" "$n" info
[ "$(core)" = "$best" ] || fail "told to take $best, took $(core)"
begun "$anew" "$n" train --help
begun none "$n" cast --help
OPENBLAS_CORETYPE=Haswell begun Haswell "$n" info
