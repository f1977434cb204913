# shellcheck shell=bash
# usage.sh : prints the comment at the head of the script that sources it, when its first argument is --help or -h;
# and refuses words of the user that the script cannot use.
case ${1-} in
-h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" | grep -v '^shellcheck '
    exit
    ;;
esac

# refuse WORDS...: one line, before anything is made or run
refuse() {
    echo "${0##*/}: $*" >&2
    exit 2
}
# whole NAME WORD [WHAT]: refuses a WORD that is not a number from 1 on. Arithmetic needs this, as bash runs the command in 'a[$(command)]'.
whole() {
    case $2 in '' | 0* | *[!0-9]* | ??????????*) refuse "$1 '$2': must be ${3:-a whole number}, from 1 on" ;; esac
}
# need_data WHAT: refuses to go on without NARROWCAST_DATA
need_data() {
    [ -n "${NARROWCAST_DATA-}" ] || refuse "NARROWCAST_DATA is not set: must be the folder that holds $1"
}
