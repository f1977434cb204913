#!/bin/bash
# build.sh : compiles files of device/ for the emulator; run it in the root of the tree.
# usage: build.sh LIBRARY.so FILE.cu...     links these files and the emulator; objects stay in
#                                           LIBRARY.so.d/
#        build.sh check FILE.cu...          only looks for warnings in these files and the emulator;
#                                           what has none is remembered in OBJECTS
# Environment: CXX, SAN=address,undefined (sanitizers), JOBS (parallel compilers, 1), LEVEL (of
# optimisation: 1, of the emulator itself and of gemm_low.cu 3), V=1 (shows the commands), OBJECTS (a folder instead of LIBRARY.so.d/),
# RACES=1 (the library finds races between threads of a kernel, emu_races.cpp; g++).
set -euo pipefail
CXX=${CXX:-g++}
flags=(-DHAVE_NCCL -DHAVE_NN -std=c++17 -g1 -fPIC -ffp-contract=off -fno-math-errno -Wall -Werror -Wno-unknown-pragmas -Wno-unused-label -Wno-sign-compare -Wno-parentheses
    -Wno-format-truncation -Wno-unused-function -Wno-unused-variable -D_GNU_SOURCE -DNARROWCAST_EMULATED)
[[ $CXX != *clang* ]] || flags+=(-Wno-unknown-warning-option -Wno-pass-failed)
# Unaligned addresses trap and emu_chip.cpp reports them.
if [ -n "${RACES-}" ]; then
    flags+=(-DEMU_RACES)
elif [ -z "${SAN-}" ]; then
    flags+=(-fsanitize=alignment -fsanitize-undefined-trap-on-error)
else
    flags+=("-fsanitize=$SAN" -fno-sanitize-recover=all -fno-omit-frame-pointer)
fi
run() { [ -z "${V-}" ] || echo "$*" >&2; "$@"; }

rewrite() {
    mkdir -p "$(dirname "$2")"
    { echo "#line 1 \"$1\""; sed -f tests/emu/launch.sed "$1"; } >"$2.new.$$"
    if cmp -s "$2.new.$$" "$2"; then rm "$2.new.$$"; else mv "$2.new.$$" "$2"; fi
}

compile() {
    local source=$2 level=${LEVEL-1} kernel=() how=(-o "$1.new" -c)
    [ "$out" != check ] || how=(-fsyntax-only)
    case $2 in
    *gemm_low.cu) source=$1.cpp level=${LEVEL-3} ;; # takes longer to run than to compile
    *.cu) source=$1.cpp kernel=(-include "$head") ;;
    *.cpp) level=${LEVEL-3} ;;
    *.h) how+=(-x c++-header) ;;
    esac
    [[ -z ${RACES-} || $2 == *.cpp ]] || kernel+=(-fsanitize=thread -Wno-tsan --param tsan-distinguish-volatile=1)
    run "$CXX" "${flags[@]}" "-O$level" ${kernel[@]+"${kernel[@]}"} "-I$copies" -Itests/emu -I. "-I$(dirname "$2")" -MMD -MP -MT "$1" -MF "$1.d" "${how[@]}" "$source"
    if [ "$out" = check ]; then touch "$1"; else mv "$1.new" "$1"; fi
}

fresh() {
    [ -f "$1.d" ] && [ "$1" -nt tests/emu/build.sh ] || return 1
    local f
    # shellcheck disable=SC2013  # words, not lines
    for f in $(sed 's/^[^ ]*: *//; s/\\$//; /:$/d' "$1.d"); do
        [ -e "$f" ] && [ ! "$f" -nt "$1" ] || return 1
    done
}

out=$1
shift
folder=${OBJECTS:-$out.d}
copies=$folder/copies head=$folder/head.h
mkdir -p "$copies"
for f in device/*/*.cuh; do rewrite "$f" "$copies/$f"; done
if [ "$(cat "$folder/flags" 2>/dev/null)" != "$CXX -O${LEVEL-} ${flags[*]}" ]; then
    rm -f "$folder"/*.o "$head".*
    echo "$CXX -O${LEVEL-} ${flags[*]}" >"$folder/flags"
fi
# g++ compiles what kernels include only once: two fifths of their time.
printf '#include "%s"\n' cuda_runtime.h cuda_fp16.h >"$head.new"
if cmp -s "$head.new" "$head"; then rm "$head.new"; else mv "$head.new" "$head"; fi
if [[ $out != check && $CXX != *clang* ]] && ! fresh "$head.gch"; then
    rm -f "$folder"/*.cu.o # their lists of headers lack these
    compile "$head.gch" "$head"
fi
set -- "$@" tests/emu/*.cpp
objects=()
for f in "$@"; do
    o=$folder/$(basename "$f").o
    [[ $f != *.cu ]] || rewrite "$f" "$o.cpp"
    objects+=("$o")
    fresh "$o" && continue
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do wait -n || exit 1; done
    compile "$o" "$f" &
done
while [ -n "$(jobs -p)" ]; do wait -n || exit 1; done
[ "$out" = check ] || { run "$CXX" "${flags[@]}" -shared "${objects[@]}" -o "$out.new" -lpthread && mv "$out.new" "$out"; }
