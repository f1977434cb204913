# shellcheck shell=bash disable=SC2034 # B is for those who source this
# usage.sh : prints the sourcing script's head comment for --help, moves it to the top folder, sets
# B (the build), and rejects invalid arguments.
case ${1-} in
-h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" | grep -v '^shellcheck '
    exit
    ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
B=${B:-build}

# refuse WORDS...: print an error and exit before any work
refuse() {
    echo "${0##*/}: $*" >&2
    exit 2
}
# whole NAME WORD [WHAT]: reject a WORD that is not a number of up to nine digits from 1 on; bash
# arithmetic would run the command in 'a[$(command)]'
whole() {
    case $2 in '' | 0* | *[!0-9]* | ??????????*) refuse "$1 '$2': must be ${3:-a whole number}, from 1 to 999999999" ;; esac
}
# trim_torn FILE: remove a last line that a killed script left without its end
trim_torn() { [ ! -s "$1" ] || [ -z "$(tail -c 1 "$1")" ] || sed -i '$d' "$1"; }
# need_data WHAT: exit if NARROWCAST_DATA is not set
need_data() {
    [ -n "${NARROWCAST_DATA-}" ] || refuse "NARROWCAST_DATA is not set: must be the folder that holds $1"
}
