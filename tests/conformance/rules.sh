#!/bin/bash
# rules.sh : writes the vectors, their digests and the table of rules at the end of FORMAT.md.
# usage: rules.sh          write all (after `make build/tests/test_vectors`)
#        rules.sh table    print the table of the stored vectors
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/conformance
table() {
    echo '| rule | vectors |'
    echo '|---|---|'
    sed 's/^{"id":"\([^"]*\)".*"rules":"\([^"]*\)".*/\2 \1/' $here/vectors/*.jsonl /dev/null | awk '
        { for (i = 1; i < NF; i++) { n[$i]++; if (n[$i] <= 4) ids[$i] = ids[$i] (n[$i] > 1 ? ", " : "") $NF } }
        END { for (rule in n) print substr(rule, 2) "\t| " rule " | " ids[rule] (n[rule] > 4 ? " and " n[rule] - 4 " more" : "") " |" }
        ' | sort -n | cut -f 2
}
case "$*" in
'') ;;
table) table && exit ;;
*) echo "rules.sh: '$*': give table or nothing" >&2 && exit 2 ;;
esac
trap 'rm -f $here/FORMAT.new' EXIT
"${B:-build}/tests/test_vectors" write
(cd $here/vectors && sha256sum ./*.jsonl | sed 's, \./, ,' >SHA256SUMS)
text=$(sed '/^| rule | vectors |$/,$d' $here/FORMAT.md)
{ echo "$text"; echo; table; } >$here/FORMAT.new
mv $here/FORMAT.new $here/FORMAT.md
