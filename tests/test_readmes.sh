#!/bin/bash
# test_readmes.sh : each folder's README names every file in it, and no file that is nowhere. A name stands in backticks, alone: `mf.h`,
# which names mf.c as well (a module is a pair); `algo_*.c` and `{a,b}.sh`; `.c` behind a name is that module's; in rtl/ a module's name
# alone; a folder by a link, [emu/](emu), or by one of its files. And every link leads to something.
# shellcheck disable=SC2016 # backticks of a README
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=
[ "${1-}" != in ] || tree=$2
cd "${tree:-$here/..}" || exit 1
bad=0
all=$(find hls host device rtl sim tests bench -type f -printf '%f\n' 2>/dev/null)

# names README: the files it names, a line each, globs and braces as they stand
names() {
    grep -oE '`[^` ]*`|\[[a-z0-9_]+/\]' "$1" | tr -d '`[]' | awk '
        /^\.[a-z]+$/ { if (stem != "") print stem $0; next }
        /^[A-Za-z0-9_*{},.\/-]+\.(c|h|cu|cuh|cpp|def|sv|sv\.in|sh|py|gp|list|tsv)$/ { stem = $0; sub(/\.[a-z]+$/, "", stem); print; next }
        { stem = ""; print }'
}

# partner FILE: the other half of its pair
partner() {
    case $1 in
    *.h) echo "${1%.h}.c" ;;
    *.c) echo "${1%.c}.h" ;;
    *) echo none ;;
    esac
}

for readme in hls/README.md host/*/README.md device/README.md rtl/README.md sim/README.md tests/README.md bench/README.md; do
    [ -f "$readme" ] || continue
    folder=${readme%/*}
    declare -A named=()
    while read -r words; do
        [[ $words =~ ^[]A-Za-z0-9_*{},./-]+$ ]] || continue
        for word in $(eval "set -f; echo ${words//\*/\\*}"); do # braces alone
            word=${word%/} found=
            [ -n "$word" ] || continue
            for file in "$folder"/$word "$folder/$word.sv" "$folder/$(partner "$word")"; do
                [ -e "$file" ] || continue
                file=${file#"$folder"/} found=1
                named[${file%%/*}]=1 # of a folder the first that is named
            done
            case $word in
            build/* | *[*]*) ;;
            *[a-z].c | *[a-z].h | *.cu | *.cuh | *.cpp | *.def | *.sv | *.sh)
                [ -n "$found" ] || grep -qxF -- "${word##*/}" <<<"$all" || { echo "$readme: there is no '$word'"; bad=1; }
                ;;
            esac
        done
    done < <(names "$readme")
    for file in "$folder"/*; do
        name=${file##*/}
        [ "$name" = README.md ] || [ -n "${named[$name]+set}" ] || { echo "$readme: does not name '$name'"; bad=1; }
    done
    unset named
done
while IFS=: read -r readme link; do
    link=${link#*(} link=${link%)}
    [ -e "${readme%/*}/$link" ] || { echo "$readme: leads to no '$link'"; bad=1; }
done < <(find . -name README.md -not -path './build*' -exec grep -HoE '\]\([^():# ]+\)' {} + | sed "s,^\./,,; s,^README,./README,")
for folder in host/*/; do
    [ "$folder" = host/include/ ] || [ -f "$folder/README.md" ] || { echo "${folder%/}: has no README.md"; bad=1; }
done
[ -n "$tree" ] && exit $bad

# --- what is planted is found ---
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/host/{base,include} "$tree/sim/models"
touch "$tree"/host/base/{a.c,a.h,b_one.c,b_two.c,c.def} "$tree/sim/d.c" "$tree/sim/models/m"
echo '| `a.h` | `b_*.c`, `c.def` | `d.c`' >"$tree/host/base/README.md"
echo '`d.c` [models/](models)' >"$tree/sim/README.md"
"$here/test_readmes.sh" in "$tree" || { echo "FAIL a tree in which all is named"; bad=1; }
refused() { # refused WORDS
    out=$("$here/test_readmes.sh" in "$tree") && { echo "FAIL missed: $1"; bad=1; }
    [ "$out" = "$1" ] || { echo "FAIL said '$out' for '$1'"; bad=1; }
}
touch "$tree/sim/e.h" && refused "sim/README.md: does not name 'e.h'"
rm "$tree/sim/e.h"
echo '`gone.c`' >>"$tree/sim/README.md" && refused "sim/README.md: there is no 'gone.c'"
sed -i '$d' "$tree/sim/README.md"
echo '[e.h](../host/base/e.h)' >>"$tree/sim/README.md" && refused "sim/README.md: leads to no '../host/base/e.h'"
sed -i '$d' "$tree/sim/README.md"
mkdir "$tree/host/vec" && refused "host/vec: has no README.md"
exit $bad
