#!/bin/bash
# stuck.sh : runs a command with a time limit, as timeout does. On expiry prints the state, kernel
# wait channel and (with gdb) stacks of the command's processes to stderr, then kills them.
# usage: stuck.sh SECONDS COMMAND ARG...   exit: the command's, or 124
[ $# -ge 2 ] || { echo 'usage: stuck.sh SECONDS COMMAND ARG...' >&2; exit 2; }

tree() {
    local child
    echo "$1"
    for child in $(pgrep -P "$1"); do tree "$child"; done
}

sleep "$1" & sleeper=$!
"${@:2}" & pid=$!
trap 'kill "$sleeper" "$pid" 2>/dev/null' TERM INT HUP
wait -n "$pid" "$sleeper"
if kill "$sleeper" 2>/dev/null; then
    wait "$pid"
    exit
fi
mapfile -t all < <(tree "$pid")
echo "stuck.sh: still there after $1 s: ${*:2}" >&2
for one in "${all[@]}"; do
    echo "--- $one: $(tr '\0' ' ' <"/proc/$one/cmdline" | cut -c 1-100): $(sed -n 's/^State:\t//p' "/proc/$one/status"), $(cat "/proc/$one/wchan")"
    ! command -v gdb >/dev/null || timeout 20 gdb -batch -nx -ex 'thread apply all bt 12' -p "$one" 2>/dev/null | grep -E '^(Thread|#)' | cut -c 1-140
done >&2 2>/dev/null
kill -KILL "${all[@]}" 2>/dev/null
exit 124
