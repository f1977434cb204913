# shellcheck shell=bash disable=SC2034 # names for those who source this
# in_folder.sh : moves a script into a temporary folder until it ends. Provides mpirun's settings,
# the names of script.sh and refused.sh, and functions that compare and change checkpoints.
. "$(dirname "${BASH_SOURCE[0]}")/script.sh"
. "$here/../host/ranks.sh"
cd "$dir" || exit 1
. "$here/lib/refused.sh"

# same_state CHECKPOINT OTHER: equal, except the run's id (bytes 24 to 39) and the checksum (last 4)
same_state() {
    cmp -n 24 "$1" "$2" && cmp -i 40 -n $(($(wc -c <"$1") - 44)) "$1" "$2" && [ "$(wc -c <"$1")" -eq "$(wc -c <"$2")" ]
}

# word FILE AT: prints 32 bits; part FILE FIRST END: prints bytes
word() { od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '; }
part() { tail -c +$(($2 + 1)) "$1" | head -c $(($3 - $2)); }
# signed FILE: writes stdin and its CRC, from gzip's trailer
signed() { cat >unsigned; { cat unsigned; gzip -c unsigned | tail -c 8 | head -c 4; } >"$1"; }
# at_layers CHECKPOINT: prints where its list of layers begins and ends
at_layers() {
    list=$((40 + $(word "$1" 12) + 32 * $(word "$1" 20)))
    echo $list $((list + 4 + 64 * $(word "$1" $list)))
}
# at_last CHECKPOINT SECTION: prints where a section's last number begins
at_last() {
    at=$((40 + $(word "$1" 12))) left=$(word "$1" 20)
    to=$(at_layers "$1")
    to=${to#* }
    while [ "$left" -gt 0 ]; do
        to=$((to + $(word "$1" $((at + 20))) * $(word "$1" $((at + 24)))))
        [ "$(tail -c +$((at + 1)) "$1" | head -c 20 | tr -d '\0')" != "$2" ] || echo $((to - 4))
        at=$((at + 32)) left=$((left - 1))
    done
}
# timeless LOG: its steps and epochs
timeless() { grep -E '"kind":"(step|epoch)"' "$1" | sed -E 's/,"([a-z_]*_s|offload|redone|sent_bytes|train_bytes|samples_per_s|peak_rss_bytes)":[^,}]*//g'; }
