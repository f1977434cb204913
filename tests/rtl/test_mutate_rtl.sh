#!/bin/bash
# test_mutate_rtl.sh : plants the mutants of rtl/check/mutants.list one at a time; the test program
# or proof on its line must fail.
# usage: test_mutate_rtl.sh [long | MODULE...]   all, or MODULEs' mutants; default: `quick` ones
# Works in a copy of the tree, $B/mutate_rtl/tree. Survivors are also lines that change nothing,
# mutants that do not build, and mutants whose test fails without them. A test that hangs (300 s)
# has caught its mutant.
# Exit 0: all caught, 1: one survived, 77: neither Verilator nor Yosys is installed.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
dir=$B/mutate_rtl tree=$B/mutate_rtl/tree
have_v=${VERILATOR-$(command -v verilator)} have_y=$(command -v yosys)
[ -n "$have_v" ] || echo "skip: no verilator"
[ -n "$have_y" ] || echo "skip: no yosys"
[ -n "$have_v$have_y" ] || exit 77

# Reuses objects of the C side.
rm -rf "$dir" && mkdir -p "$tree" "$dir/build/rtl" || exit 1
for entry in *; do
    case $entry in rtl | build) ;; *) ln -s "$PWD/$entry" "$tree/$entry" ;; esac
done
cp -a rtl "$tree/rtl" && cp -a rtl "$dir/sound" || exit 1
mkdir "$tree/proofs" && cp tests/formal.sh "$tree/proofs/"
for built in o flags installed libnarrowcast.a libsim.a rtl/nc_pkg.sv rtl/verilated.o; do
    [ -e "$B/$built" ] && cp -a "$B/$built" "$dir/build/$built"
done

# look CATCHER MODULE: 0 passes, 1 fails, 2 cannot run
look() {
    case $1 in
    proof:*)
        # The solver must refute the mutant; an error of Yosys does not count. formal.sh changes to
        # its folder's parent, so proofs/ has a copy.
        quick=$(sed -n "/ long\$/d; s/^${1#proof:} .*/quick/p" "$tree/rtl/check/formal.list" | head -1) all=''
        [ "$which" = quick ] || ! grep -q "^${1#proof:} .* long\$" "$tree/rtl/check/formal.list" || all=all
        for lines in $quick $all; do # all lines, if the quick ones are proven
            [ "$lines" = quick ] || quick=''
            rm -f "$dir"/build/formal/*.log
            # shellcheck disable=SC2086  # a word or none
            B=$dir/build "$tree/proofs/formal.sh" $quick "${1#proof:}" >"$dir/log" 2>&1 </dev/null && continue
            grep -qs 'proof did fail' "$dir"/build/formal/*.log && return 1
            return 2
        done
        return 0
        ;;
    *)
        # CATCHER/BYTES: modules of so many bytes a clock
        name=${1%/*} lanes=''
        [ "$name" = "$1" ] || lanes=-GLaneBytes=${1#*/}
        rm -f "$dir/build/tests/$name"
        # Warnings about a mutant do not count.
        make -s -C "$tree" B="$dir/build" VFLAGS='--cc --build -O3 --x-assign fast --x-initial fast -Wno-fatal '"$lanes" \
            "$dir/build/tests/$name" >"$dir/log" 2>&1 </dev/null || return 2
        timeout 300 "$dir/build/tests/$name" >>"$dir/log" 2>&1 </dev/null || return 1
        return 0
        ;;
    esac
}

n_caught=0 n_survived=0 sound=' '
verdict_is() {
    if [ "$1" = caught ]; then n_caught=$((n_caught + 1)); else n_survived=$((n_survived + 1)) && cp "$dir/log" "$dir/survivor.$n_survived"; fi
    printf '%-9s %-14s %-20s %3d s  %s\n' "$1" "$module" "$catcher" $((SECONDS - start)) "$edit"
}

which=${1-quick}
while read -r module catcher edit; do
    mark=long
    [ "$module" = quick ] && mark=quick module=$catcher catcher=${edit%% *} edit=${edit#* }
    edit=${edit#"${edit%%[! ]*}"}
    case $which in
    long) ;;
    quick) [ "$mark" = quick ] || continue ;;
    *) case " $* " in *" $module "*) ;; *) continue ;; esac ;;
    esac
    case $catcher in
    proof:*) [ -n "$have_y" ] || continue ;;
    *) [ -n "$have_v" ] || continue ;;
    esac
    start=$SECONDS
    case $sound in
    *" $catcher "*) ;;
    *)
        if ! look "$catcher"; then
            verdict_is "UNSOUND" # fails without any mutant
            continue
        fi
        sound="$sound$catcher "
        start=$SECONDS
        ;;
    esac
    for file in "$module.sv" "memory/$module.sv" "shell/$module.sv"; do [ ! -e "$dir/sound/$file" ] || break; done
    sed "$edit" "$dir/sound/$file" >"$tree/rtl/$file"
    if cmp -s "$dir/sound/$file" "$tree/rtl/$file"; then
        verdict_is "NO CHANGE"
        continue
    fi
    look "$catcher"
    case $? in
    0) verdict_is "SURVIVED" ;;
    1) verdict_is "caught" ;;
    *) verdict_is "NO BUILD" ;;
    esac
    cp "$dir/sound/$file" "$tree/rtl/$file"
done < <(sed 's/^#.*//; /^$/d' rtl/check/mutants.list)
echo "$n_caught caught, $n_survived survived"
[ "$n_survived" -eq 0 ] && [ "$n_caught" -gt 0 ]
