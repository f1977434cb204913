# shellcheck shell=bash
# usage.sh : prints the comment at the head of the script that sources it, when its first argument is --help or -h.
case ${1-} in
-h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" | grep -v '^shellcheck '
    exit
    ;;
esac
