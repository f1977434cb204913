# shellcheck shell=bash
# trainings.sh : trainings that are run once each, and the table of their accuracies; accuracy.sh and its like source it.
# Ranks are emulated (the same bits as on so many machines), so that a training takes one core; $JOBS of them run at once (one a core).
# A training that ended is a line of the file $tsv: name, seed, accuracy, bytes a step and rank. It is not run again.
# What a training says goes to files named after $LOGS, or after the table where that is not set.
# One that diverged (the program's own word) has "diverged" for an accuracy. Any other failure is not a result: it ends the script.
: "${B:?the build folder}" "${tsv:?the file of what has ended}"
JOBS=${JOBS:-$(nproc)}
running=()

# A line that was not finished is no training.
[ ! -s "$tsv" ] || [ -z "$(tail -c 1 "$tsv")" ] || sed -i '$d' "$tsv"

# train_once NAME SEED RANKS OPTION...
train_once() {
    local name=$1 seed=$2 ranks=$3 log accuracy='' bytes
    grep -q "^$name	$seed	" "$tsv" && return
    log=${LOGS:-${tsv%.tsv}}-${name// /-}-$seed
    if "$B/narrowcast" emulate --ranks "$ranks" "${@:4}" --seed "$seed" --log "$log.jsonl" </dev/null >"$log.out" 2>&1; then
        accuracy=$(sed -n 's/^accuracy \([0-9.]*\)$/\1/p' "$log.out")
    fi
    grep -q 'training has diverged' "$log.out" && accuracy=diverged
    if [ -z "$accuracy" ]; then
        tail -n 5 "$log.out" >&2
        echo "${0##*/}: \"$name\", seed $seed failed, see $log.out; the trainings that ended are in $tsv" >&2
        return 1
    fi
    bytes=$(sed -n 's/.*"kind": *"step".*"sent_bytes": *\([0-9]*\).*/\1/p' "$log.jsonl" | tail -n 1)
    printf '%s\t%s\t%s\t%s\n' "$name" "$seed" "$accuracy" "${bytes:--}" | tee -a "$tsv"
}

# launch NAME SEED RANKS OPTION...: train_once beside those that run already
launch() {
    settle "$JOBS"
    train_once "$@" &
    running+=($!)
}

# settle N: returns when fewer than N trainings run. One that failed ends the script, behind those that run beside it.
settle() {
    local left pid failed=''
    while [ ${#running[@]} -ge "$1" ] || [ "$failed" ] && [ ${#running[@]} -gt 0 ]; do
        left=()
        for pid in "${running[@]}"; do
            if kill -0 "$pid" 2>/dev/null; then left+=("$pid"); else wait "$pid" || failed=1; fi
        done
        running=(${left[@]+"${left[@]}"})
        sleep 0.1
    done
    [ -z "$failed" ] || exit 1
}

# row_of NAME BASE: a row of the table, against the mean of the trainings named BASE; nothing where none was run. Means leave out
# what diverged, and the row says how many did.
row_of() {
    awk -F '\t' -v name="$1" -v base="$2" '
        $1 == name { n++; bytes = $4 }
        $3 == "diverged" { bad += $1 == name; next }
        $1 == base { base_sum += $3; n_base++ }
        $1 == name { good++; sum += $3
                     if (good == 1 || $3 < low) low = $3
                     if (good == 1 || $3 > high) high = $3 }
        END { if (!n) exit
              printf "| %s | %d%s |", name, n, bad ? ", " bad " diverged" : ""
              if (good) printf " %.2f | %.2f .. %.2f |", 100 * sum / good, 100 * low, 100 * high
              else printf " - | - |"
              if (good && n_base && name != base) printf " %+.2f", 100 * (sum / good - base_sum / n_base)
              printf " | %s |\n", bytes }' "$tsv"
}

# table_of WHAT BASE: a row for each of the names on standard input, a line each; WHAT they are stands above them.
table_of() {
    echo "| $1 | runs | test accuracy, mean % | lowest .. highest | to fp32, points | bytes a step and rank |"
    echo "|---|---|---|---|---|---|"
    while read -r name; do
        row_of "$name" "$2"
    done
}
