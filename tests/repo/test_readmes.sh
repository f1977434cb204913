#!/bin/bash
# test_readmes.sh : every folder has a README, every file a first sentence (map.sh), and linked or
# named files exist.
# shellcheck disable=SC2016 # backticks of a README
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
tree=
[ "${1-}" != in ] || tree=$2
cd "${tree:-$here/..}" || exit 1
bad=0
say() { echo "$*" && bad=1; }
readmes=$(find . -name README.md -not -path './build*' | sed 's,^\./,,' | sort)
all=$(find . -type f -not -path './build*' -not -path './.git/*' -printf '%f\n')

for folder in $(find hls device host rtl sim tests bench -type f -printf '%h\n' 2>/dev/null | sort -u); do
    case $folder in
    host/include | bench/data/curves) ;; # documented by narrowcast.h; data of the folder above
    *) [ -f "$folder/README.md" ] || say "$folder: has no README.md" ;;
    esac
done
while read -r name; do
    [ -z "$name" ] || say "$name: its first sentence must be 'name : idea'"
done < <(TREE=$PWD "$here/map.sh" | sed -n 's/^  \([^ ]*\) *$/\1/p')
for readme in $readmes; do
    while read -r link; do
        [ -e "$(dirname "$readme")/$link" ] || say "$readme: leads to no '$link'"
    done < <(grep -oE '\]\([^():# ]+\)' "$readme" | sed 's/^](//; s/)$//')
    while read -r name; do
        grep -qxF -- "${name##*/}" <<<"$all" || say "$readme: there is no '$name'"
    done < <(grep -oE '`[a-z0-9_./-]*[a-z]\.(c|h|cu|cuh|cpp|def|sv|sh)`' "$readme" | tr -d '`' | grep -vE '^(build/|\.)')
done
# commands in the map of the papers' tables and figures
if [ -f bench/papers/README.md ]; then
    n=0
    while read -r script what _; do
        n=$((n + 1))
        [ "$script" != papers.sh ] || grep -qE "^[a-z0-9 |]*\\b$what\\b[a-z0-9 |]*\\) part=" bench/papers/papers.sh || say "bench/papers/README.md: papers.sh takes no '$what'"
        [ -x "bench/papers/$script" ] || [ -x "bench/$script" ] || say "bench/papers/README.md: there is no bench/$script"
    done < <(grep -E '^\| (Table|Fig)' bench/papers/README.md | grep -oE '`[^`]*\.sh[^`]*`' | tr -d '`' | sed -E 's/^ROWS="[^"]*" //')
    [ $n -ge 20 ] || say "bench/papers/README.md: its map has only $n commands"
fi
# paths in scripts, comments and the Makefile; the build makes rtl/nc_pkg.sv
while IFS=: read -r file name; do
    [ -e "$name" ] || say "$file: there is no '$name'"
done < <(find Makefile host hls device rtl sim tests bench -type f \( -name Makefile -o -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \
    -o -name '*.def' -o -name '*.sv' -o -name '*.sh' -o -name '*.py' -o -name '*.list' \) ! -name 'test_run.sh' ! -name 'test_deps.sh' ! -name 'test_readmes.sh' \
    -exec grep -HoE '(^|[^A-Za-z0-9_./])(host|hls|device|rtl|sim|tests|bench)(/[a-z0-9_]+)+\.(c|h|cu|cuh|cpp|def|sv|sh|py|gp|list)\b' {} + 2>/dev/null |
    sed -E 's/:[^a-z]*(-)?/:/' | grep -v 'rtl/nc_pkg.sv$' | sort -u)
[ -n "$tree" ] && exit $bad

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{host/base,sim}
echo '/* a.c : an idea. */' >"$tree/host/base/a.c"
echo '// d: another idea' >"$tree/sim/d.sv"
echo '`a.c` `base/a.c` [d.sv](../../sim/d.sv)' >"$tree/host/base/README.md"
touch "$tree/host/README.md" "$tree/sim/README.md"
"$here/repo/test_readmes.sh" in "$tree" || say 'FAIL a tree in which all is right'
refused() {
    out=$("$here/repo/test_readmes.sh" in "$tree") && say "FAIL missed: $1"
    [ "$out" = "$1" ] || say "FAIL said '$out' for '$1'"
}
echo 'int x;' >"$tree/sim/e.h" && refused "e.h: its first sentence must be 'name : idea'"
rm "$tree/sim/e.h"
echo '/* e.h : as sim/gone.c. */' >"$tree/sim/e.h" && refused "sim/e.h: there is no 'sim/gone.c'"
rm "$tree/sim/e.h"
echo '`gone.c`' >>"$tree/sim/README.md" && refused "sim/README.md: there is no 'gone.c'"
echo '[a](../host/a.c)' >"$tree/sim/README.md" && refused "sim/README.md: leads to no '../host/a.c'"
rm "$tree/sim/README.md" && refused 'sim: has no README.md'
exit $bad
