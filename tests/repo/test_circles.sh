#!/bin/bash
# test_circles.sh : no two .c files of host/ depend on each other, even indirectly.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# circles FOLDER: prints "A needs B" for each pair in a circle
circles() {
    find "$1" -name '*.o' -print0 | xargs -0 nm -gA | awk -v folder="$1/" '
        { split($0, part, ":"); file = substr(part[1], length(folder) + 1); sub(/\.o$/, ".c", file) }
        $(NF - 1) == "U" { lacks[file, $NF] = 1; next }
        { where[$NF] = file }
        END { for (pair in lacks) { split(pair, p, SUBSEP); if (p[2] in where && where[p[2]] != p[1]) print p[1], where[p[2]] } }' |
        sort -u >"$dir/edges"
    [ -s "$dir/edges" ] || { echo "test_circles.sh: no calls between objects of $1"; return 1; }
    tsort <"$dir/edges" 2>&1 >/dev/null | sed 's/^tsort: //' || true
}

# skip objects whose source is gone; optional files may have no object
mkdir -p "$dir/host"
for file in host/*/*.c host/*/*/*.c; do
    case $file in host/pmpi/*) continue ;; esac # it defines MPI's names
    if [ -f "$B/o/${file%.c}.o" ]; then
        install -D "$B/o/${file%.c}.o" "$dir/${file%.c}.o"
    else
        [[ $file =~ ^host/offload/wire/wire_(fabric|xdp|filter|hop)\.c$ || $file =~ ^host/(offload/xrt/fpga_xrt|nn/cpu/gemm_dnnl)\.c$ ]] || { echo "FAIL $file has no object in $B/o: build first"; exit 1; }
    fi
done
found=$(circles "$dir/host")
[ -z "$found" ] || { echo "FAIL circles of calls in host/:"; echo "$found"; exit 1; }
echo "$(wc -l <"$dir/edges") needs between files of host/, no circle"

mkdir -p "$dir/planted"
echo 'int b(void); int a(void); int a(void) { return b(); }' >"$dir/a.c"
echo 'int c(void); int b(void); int b(void) { return c(); }' >"$dir/b.c"
echo 'extern int (*const table[])(void); int c(void); int c(void) { return table[0](); }' >"$dir/c.c"
echo 'int a(void); int (*const table[])(void) = {a};' >"$dir/d.c"
for file in a b c; do ${CC:-cc} -c "$dir/$file.c" -o "$dir/planted/$file.o"; done
[ -z "$(circles "$dir/planted")" ] || { echo "FAIL a circle where there is none"; exit 1; }
${CC:-cc} -c "$dir/d.c" -o "$dir/planted/d.o"
[ "$(circles "$dir/planted" | grep -c '\.c$')" = 4 ] || { echo "FAIL missed a circle of four"; exit 1; }
