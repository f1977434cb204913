#!/bin/bash
# map.sh : prints every folder with its files and the first sentence of each.
# usage: map.sh [FOLDER] (default: all folders); or `make map IN=FOLDER`
set -eu
cd "${TREE:-$(dirname "$0")/..}"
in=${1-}
refuse() { echo "map.sh: there is no folder '$in' in this tree" >&2 && exit 2; }
case $in in
'') ;;
/* | build* | *[!A-Za-z0-9_/-]*) refuse ;;
*) [ -n "$(ls "$in" 2>/dev/null)" ] || refuse ;;
esac
# shellcheck disable=SC2086,SC2016 # folders are words; an awk program
find ${in:-bench device hls host rtl sim tests} -type f -printf '%h\t%f\n' 2>/dev/null | LC_ALL=C sort |
    while IFS=$'\t' read -r folder name; do
        case $name in
        README.md | *.c | *.h | *.cu | *.cuh | *.cpp | *.def | *.sv | *.sv.in | *.lua.in | *.py.in | *.sh | *.py | *.gp | *.list) echo "$folder/$name" ;;
        esac
    done | xargs -d '\n' awk '
    function idea(text) {
        if (!match(text, / ?: /)) return ""
        text = substr(text, RSTART + RLENGTH)
        gsub(/Fig\. /, "figure ", text)
        text = match(text, /[.:;] |\.$|\*\/| *"""/) ? substr(text, 1, RSTART - 1) : text
        sub(/ *\([^)]*$/, "", text) # a parenthesis that the cut left open
        return text
    }
    function show() {
        if (file) printf "  %-30s %s\n", name, idea(text)
    }
    FNR == 1 {
        show(); file = FILENAME; text = ""; name = file; sub(".*/", "", name)
        folder = file; sub("/[^/]*$", "", folder)
        if (folder != last) { printf "%s%s/", last ? "\n" : "", folder; last = folder; if (file !~ /README.md$/) print "" }
        if (file ~ /README.md$/) { title = $0; sub(/^# *[^:]*:? */, "", title); if (title) print "   " title; file = "" }
    }
    FNR > 8 { nextfile }
    FILENAME ~ /README.md$/ && FNR == 3 && !title { print "   " substr($0, 1, match($0 " ", /[.:;] /) - 1) }
    file { line = $0; sub("^[ \t]*(/\\*|//|#|\\*) *", "", line); text = text " " line }
    END { show() }'
