#!/bin/bash
# abi.sh : prints the ABI of narrowcast.h: symbol names with versions, functions, offsets of
# fields and constants. usage: abi.sh LIBRARY HEADER. test_install.sh compares it with
# tests/repo/abi.txt. Lines may be added. A changed or missing line breaks built programs, and
# needs a new number after libnarrowcast.so.
set -eu
[ $# = 2 ] || { echo "usage: abi.sh LIBRARY HEADER" >&2; exit 2; }
cc=${CC:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/soname \1/p'
nm -D --defined-only "$1" | awk '{ print "name " $NF }' | LC_ALL=C sort

"$cc" -E -P -DNC_API=extern -include stddef.h -include stdint.h -x c "$2" >"$dir/all"
sed -n '/^extern const char \*nc_version/,$p' "$dir/all" | tr -s ' \t\n' ' ' | sed 's/[;{}]/&\n/g' >"$dir/own"
awk '/^ ?extern / { sub(/^ ?extern /, ""); sub(/;$/, ""); print "function " $0 }' "$dir/own" | LC_ALL=C sort

{
    printf '#include <stdio.h>\n#include "%s"\n' "$(realpath "$2")"
    echo 'int main(void) {'
    awk '
        /struct nc_[a-z]+ \{$/ { name = $(NF - 1); printf "printf(\"struct %s size %%zu\\n\", sizeof(struct %s));\n", name, name; next }
        /\}/ { name = "" }
        name != "" {
            sub(/;$/, "")
            if (match($0, /\(\*[a-z_]+\)/)) fields = substr($0, RSTART + 2, RLENGTH - 3)
            else { fields = $0; sub(/\[.*/, "", fields) }
            n = split(fields, part, ",")
            for (i = 1; i <= n; i++) {
                m = split(part[i], word, /[ *]+/); field = word[m]
                printf "printf(\"struct %s %s at %%zu, %%zu bytes\\n\", offsetof(struct %s, %s), sizeof ((struct %s *)0)->%s);\n",
                    name, field, name, field, name, field
            }
        }
        /^ ?enum/ { constants = 1; next }
        constants { n = split($0, part, ","); for (i = 1; i <= n; i++) if (match(part[i], /NC_[A-Z_]+/)) {
            c = substr(part[i], RSTART, RLENGTH); printf "printf(\"constant %s %%d\\n\", (int)%s);\n", c, c } constants = 0 }
    ' "$dir/own"
    echo 'return 0; }'
} >"$dir/fields.c"
"$cc" -DNC_API=extern -c "$dir/fields.c" -o "$dir/fields.o"
"$cc" "$dir/fields.o" "$1" -o "$dir/fields" -Wl,--unresolved-symbols=ignore-all 2>/dev/null
LD_LIBRARY_PATH=$(dirname "$(realpath "$1")") "$dir/fields"
