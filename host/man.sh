#!/bin/bash
# man.sh : makes manual pages and bash's completion from the program's --help and the public header.
# usage: man.sh PROGRAM HEADER FOLDER     writes narrowcast.1, narrowcast-COMMAND.1, narrowcast.3
# and narrowcast.bash
# shellcheck disable=SC2016 # what completion expands
set -eu
[ $# = 3 ] || { echo "usage: man.sh PROGRAM HEADER FOLDER" >&2; exit 2; }
program=$1 header=$2 to=$3
version=$("$program" --version)
mkdir -p "$to"

# Shared by all pages: escaped text for troff, and examples as typed on an installed system.
roff='
function plain(s) {
    gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s)
    if (s ~ /^[.\047]/) s = "\\&" s
    return s
}
function typed(s) { gsub(/build\//, "", s); gsub(/host\/ranks\.sh/, "mpirun -np", s); return s }
function title(name, section) { printf ".TH \"%s\" %s \"\" \"%s\"\n.SH NAME\n", toupper(name), section, version }'

# page COMMAND ABOUT: a page from --help. A headline is between an empty and an indented line.
page() {
    "$program" "$1" --help | awk -v name="narrowcast-$1" -v about="$2" -v version="$version" "$roff"'
    { line[NR] = $0 }
    END {
        title(name, 1)
        printf "%s \\- %s\n.SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n", plain(name), plain(about), plain(substr(line[1], 8))
        for (i = 3; i <= NR; i++) {
            s = line[i]
            headline = line[i - 1] == "" && line[i + 1] ~ /^  / && s !~ /^ /
            if (headline && s == "examples") { examples = 1; print ".SH EXAMPLES\n.nf" }
            else if (s ~ /build\/bench_/) continue # benches are not installed
            else if (examples) print plain(typed(substr(s, 3)))
            else if (headline) { if (!options++) print ".SH OPTIONS"; printf ".SS %s\n", plain(s) }
            else if (s ~ /^  [^ ]/) {
                s = substr(s, 3)
                if (match(s, /   */)) { word = substr(s, 1, RSTART - 1); help = substr(s, RSTART + RLENGTH) }
                else { word = s; help = "" }
                printf ".TP\n.B %s\n", plain(word)
                if (help != "") print plain(help)
            } else if (s == "") { if (line[i + 1] !~ /^  / && i < NR && line[i + 2] !~ /^  /) print ".PP" }
            else { sub(/^ */, "", s); print plain(typed(s)) }
        }
        if (examples) print ".fi"
        print ".SH SEE ALSO\n.BR narrowcast (1)"
    }' >"$to/narrowcast-$1.1"
}

commands=$("$program" --help | awk '/^  [a-z]+ +[^ ]/ && !/narrowcast/ { print $1 }')
for command in $commands; do
    page "$command" "$("$program" --help | sed -n "s/^  $command  *//p")"
done

"$program" --help | awk -v version="$version" "$roff"'
    NR == 1 {
        title("narrowcast", 1)
        sub(/^narrowcast: /, "")
        printf "narrowcast \\- %s\n.SH SYNOPSIS\n.B narrowcast\n.I COMMAND\n[options]\n.SH COMMANDS\n", plain($0)
        next
    }
    /^narrowcast .*--/ || /^narrowcast help / { use = use plain($0) "\n"; next }
    /^environment$/ { environment = 1; printf ".SH OPTIONS\n.nf\n%s.fi\n.SH ENVIRONMENT\n.nf\n", use; next }
    environment && /^ / { print plain(substr($0, 3)); next }
    environment { environment = 0; print ".fi" }
    /^  [a-z]+ +[^ ]/ && !/narrowcast/ { name = $1; sub(/^  [a-z]+ +/, ""); printf ".TP\n.BR narrowcast\\-%s (1)\n%s\n", name, plain($0) }
    END { print ".SH SEE ALSO\n.BR narrowcast (3)" }' >"$to/narrowcast.1"

# The header: its first comment, then each comment with the code after it. Indented lines are kept.
awk -v version="$version" "$roff"'
    function show(set_in) { if (set_in != shown) print set_in ? ".nf" : ".fi"; shown = set_in }
    function text(s) {
        sub(/^ ?\/?\*+ ?/, "", s); sub(/ *\*\/$/, "", s)
        if (s ~ /^ *$/) { if (shown) print ""; else print ".PP"; return }
        if (s ~ /^  /) { show(1); print plain(s) } else { show(0); print plain(s) }
    }
    NR == 1 {
        title("narrowcast", 3)
        sub(/^\/\* narrowcast\.h : /, "")
        printf "narrowcast \\- %s\n.SH SYNOPSIS\n.B #include <narrowcast.h>\n.br\ncc ... $(pkg\\-config \\-\\-cflags \\-\\-libs narrowcast)\n.SH DESCRIPTION\n", plain($0)
        first = 1
        next
    }
    first { text($0); if (/\*\/$/) { first = 0; show(0); print ".SH INTERFACE" } next }
    /^#|^extern "C"|^}$|^$/ { if (code) { code = 0; show(0); print ".PP" } next }
    /^\/\*/ { comment = 1 }
    comment { text($0); if (/\*\/$/) { comment = 0; show(0) } next }
    { if (!code) print ".PP"; code = 1; show(1); sub(/^NC_API /, ""); print plain($0) }
    END { show(0); print ".SH SEE ALSO\n.BR narrowcast (1)" }' "$header" >"$to/narrowcast.3"

# Completion: commands, their options and the options' values: from the metavar (a|b), the start of
# the help ("a, b or c", "One of a b c."), and the rows of a list below ("kinds of --codec").
values='
function add(name, word) {
    sub(/[[].*/, "", word)
    if (word !~ /^[a-z0-9_-]+(:[^ ]*)?$/ || word == "or") return 0
    sub(/:.*/, ":", word)
    if (!((name, word) in known)) { known[name, word] = 1; words[name] = words[name] " " word }
    return 1
}
function read_option(    n, i, part, one_of, last) {
    if (option == "") return
    n = split(metavar ~ /\|/ ? metavar : "", part, "|")
    for (i = 1; i <= n; i++) add(option, part[i])
    while (gsub(/\([^()]*\)|\[[^]]*\]/, "", help)) continue
    one_of = sub(/^One of /, "", help)
    if (n || !(one_of || help ~ /^[a-z0-9-]+ *, /)) { option = ""; return }
    n = split(help, part, /[ ,]+/)
    for (i = 1; i <= n && !last; i++) {
        last = sub(/[.;:]$/, "", part[i])
        if (part[i] ~ /^(any|each|after|the)$/ || (part[i] != "or" && !add(option, part[i]))) break
    }
    option = ""
}
/^  --[a-z]/ { read_option(); options = options " " $1; option = $1; metavar = $2; help = $0; sub(/^  --[^ ]+( [^ ]+)?  +/, "", help); if (help == $0) help = ""; next }
option != "" && /^      / { sub(/^ +/, ""); help = help (help == "" ? "" : " ") $0; next }
{ read_option() }
/^[a-z].* of --/ { list = $NF; next }
/^kinds$/ { list = "KIND"; next }
/^$/ { list = "" }
list != "" && /^  [a-z]/ { add(list, $1) }
END {
    read_option()
    topics = options; gsub(/--/, "", topics)
    printf "    %s)\n        options=\047%s --help\047\n        case $before in\n", command, substr(options, 2)
    n = split(options, order, " ")
    for (i = 1; i <= n; i++) if (words[order[i]] != "") printf "        %s) words=\047%s\047 ;;\n", order[i], substr(words[order[i]], 2)
    printf "        --help) words=\047%s\047 ;;\n        esac\n", substr(topics, 2)
    if (words["KIND"] != "") printf "        [ \"$COMP_CWORD\" != 2 ] || words=\047%s\047\n", substr(words["KIND"], 2)
    print "        ;;"
}'
{
    names=$(echo "$commands" | tr '\n' ' ')
    echo "# narrowcast.bash : completion for $version"
    echo '_narrowcast()'
    echo '{'
    echo '    local at=$COMP_CWORD word=${COMP_WORDS[COMP_CWORD]} before options= words='
    echo '    [ "$word" != = ] || word='
    echo '    before=${COMP_WORDS[at-1]}'
    echo '    [ "$before" != = ] || before=${COMP_WORDS[at-2]} # --option=value'
    echo '    if [ "$COMP_CWORD" = 1 ]; then'
    echo "        COMPREPLY=(\$(compgen -W '${names}help --help --version' -- \"\$word\"))"
    echo '        return'
    echo '    fi'
    echo '    case ${COMP_WORDS[1]} in'
    echo "    help) words='${names% }' ;;"
    for command in $commands; do
        { [ "$command" != emulate ] || "$program" train --help; "$program" "$command" --help; } | awk -v command="$command" "$values"
    done
    cat <<'END'
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        [[ ${COMPREPLY[0]-} != *: ]] || compopt -o nospace 2>/dev/null
    elif [ "${word:0:1}" = - ]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}
complete -o filenames -F _narrowcast narrowcast
END
} >"$to/narrowcast.bash"
