#!/bin/bash
# words.sh : counts words and sentence forms that this project's prose avoids; fails above a limit.
#
# usage: tests/words.sh [--list RULE] [PATH...]
#   PATH         files or folders, as git knows them [all]; limits hold only for the whole tree
#   --list RULE  print the places of one rule
#
# Searched: Markdown outside code blocks, comments, and the string literals of host/,
# sim/ and hls/ (help and messages). The rule `names` searches identifiers of C.
#
# Glossary, one word for one thing: card (an FPGA or SmartNIC, true or simulated), engine (rtl or c, of
# a simulated card), peer (another rank or GPU that this one exchanges with), card path (sums by cards
# instead of MPI), spec (an option's text), reduce op (how an all-reduce adds codes), phase (rounds of
# an algorithm that wait for each other), buffers (registered with peers), batch of requests, in-flight,
# upload and download (to and from a backend), group wire (multicast receiver), abandon (the card path
# of a step), fail (a job), liveness check, owner (the rank whose network others use), model (a network),
# predict (the performance predictor), mutant (a planted bug), activation gradient.
set -euo pipefail
cd "$(dirname "$0")/.."
list=''
die() { echo "words.sh: $*" >&2 && exit 2; }
if [ "${1-}" = --list ]; then
    [ -n "${2-}" ] || die '--list needs a rule'
    list=$2
    shift 2
fi

# rule | limit | extended regular expression | replacement
rules='behind|10|[Bb]ehind\>|after
nobody|5|[Nn]obody\>|no process, no caller: name it
pronoun|5|(What|Who|Of|That|Those) [a-z]|begin with a noun or a verb
stands|5|stands\>|is, holds
alone|20|alone\>|only
line|10|(in|by|with) a line\>|in one line of output
but-for|0|but for\>|except
in-place-of|0|in place of\>|instead of
code-lines|0||code of at most 100 columns
text-lines|0||Markdown of at most 100 columns outside tables, 140 in code and links
names|0|(mates|parcel|deaf|peep|lots?|legs?|fold|MOST|(gave|give|given)_(up|in)|(job|codec|collnet|round|scale|source)_words)|the glossary above'

literal='behind (LiteEth|PCIe|AXI|links|a NAT|a proxy|that of|a card.s PCIe|$)|falls behind|file behind|ahead of behind'

prose() {
    awk '
    FNR == 1 { block = fence = 0; md = FILENAME ~ /\.md$/
        c = FILENAME ~ /\.(c|h|cu|cuh|cpp|def|sv|v|rs)$/; says = FILENAME ~ /^(host|sim|hls)\// }
    md { if (/^ *```/) { fence = !fence; next } if (!fence) print FILENAME ":" FNR ":" $0; next }
    !c { if (match($0, /(^|[ \t])#[ !]/)) print FILENAME ":" FNR ":" substr($0, RSTART + RLENGTH); next }
    {
        rest = $0; text = ""
        while (rest != "") {
            if (block) {
                if ((at = index(rest, "*/"))) { text = text " " substr(rest, 1, at - 1); rest = substr(rest, at + 2); block = 0 }
                else { text = text " " rest; rest = "" }
            } else if (match(rest, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)\047|\/\/|\/\*/)) {
                found = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
                if (found == "//") { text = text " " rest; rest = "" }
                else if (found == "/*") block = 1
                else if (found ~ /^"/ && says) text = text " " substr(found, 2, length(found) - 2)
            } else rest = ""
        }
        sub(/^[ *]+/, "", text)
        if (text != "") print FILENAME ":" FNR ":" text
    }' "$@" </dev/null
}

names=$(cut -d '|' -f 1 <<<"$rules" | tr '\n' ' ')
[ -z "$list" ] || grep -qx "$list" <<<"${names// /$'\n'}" || die "there is no rule '$list': need one of ${names% }"
for path in "$@"; do git ls-files --error-unmatch -- "$path" >/dev/null 2>&1 || die "git knows no file at '$path'"; done
mapfile -t files < <(git ls-files -- "$@" | grep -vE '^bench/data/|\.(svg|tsv|jsonl|json|txt|lpf|list|patch)$|^LICENSE|^tests/words\.sh')
[ ${#files[@]} -gt 0 ] || die "no file to read at ${*:-.}"
all=$(mktemp) && trap 'rm -f "$all"' EXIT
prose "${files[@]}" >"$all"

# shellcheck disable=SC2016 # awk
places() {
    case $1 in
    code-lines) printf '%s\n' "${files[@]}" | grep -E '\.(c|h|cu|cuh|cpp|def|sv)$' | xargs awk 'length($0) > 100 { print FILENAME ":" FNR ":" $0 }' /dev/null || true ;;
    text-lines) printf '%s\n' "${files[@]}" | grep '\.md$' | xargs awk 'FNR == 1 { fence = 0 } /^ *```/ { fence = !fence }
        !fence && !/^ *\|/ && length($0) > (/^    |^!\[|\]\(http/ ? 140 : 100) { print FILENAME ":" FNR ":" $0 }' /dev/null || true ;;
    # components of identifiers outside comments and strings, except register names (the
    # protocol's)
    names) local id="([[:alnum:]]+_)*$2(_[[:alnum:]_]+)?([^[:alnum:]_]|$)"
        printf '%s\n' "${files[@]}" | grep -E '\.(c|h|cu|cuh|cpp)$' | xargs grep -nE "(^|[^[:alnum:]_])$id" /dev/null | grep -vE '^[^:]*:[0-9]*: \*' |
            sed -E 's/"([^"\\]|\\.)*"//g; s|//.*||; s|/\*.*||' | grep -E ":[0-9]+:(|.*[^[:alnum:]_])$id" |
            grep -vE 'REG_JOB_COMMIT_TAKE_MOST|NORM_FOLD|norm_fold|fold_(block|grid|lines)|k_(moments|layer_norm|gemm)_fold|HIGHEST|[ (]fold\(' || true ;;
    *) grep -E "^[^:]+:[0-9]+:(|.*[^[:alnum:]_])$2" "$all" | grep -vE "$literal" || true ;;
    esac
}

bad=0
while IFS='|' read -r rule limit rest; do
    regex=${rest%|*} instead=${rest##*|}
    if [ -n "$list" ]; then
        [ "$list" != "$rule" ] || places "$rule" "$regex"
        continue
    fi
    n=$(places "$rule" "$regex" | wc -l)
    printf '%-12s %5d of %d   (%s)\n' "$rule" "$n" "$limit" "$instead"
    if [ $# = 0 ] && [ "$n" -gt "$limit" ]; then bad=1; fi
done <<<"$rules"
[ -n "$list" ] || echo "words of prose: $(cut -d: -f3- "$all" | wc -w)"
exit $bad
