# shellcheck shell=bash
# trainings.sh : runs each training once and prints the accuracies, for scripts that source it.
#
# Ranks are emulated (the same bits), so a training takes one core; $JOBS run at a time [one per
# core]. A finished training is a line of $tsv and is not repeated: name, seed, accuracy (or
# "diverged"), bytes per step and rank, and $keys of the log's last epoch. Concurrent scripts share
# the work. A failed training ends the script. Variables:
#   LOGS      prefix of files with a training's output [after the table]; with TABLES they are in
#             $TABLES/logs, so that a table never continues or keeps another table's trainings
#   look_at   a seed whose trainings compare the applied means with the fp64 means every
#             $look_every steps, into $steps, next to the table
#   save      steps between checkpoints of a training; a script that was stopped continues from them
#   figure    the figure in the program's last lines (CER, bits) that replaces the accuracy;
#             $figure_is describes it, $figure_times scales it for display
#   history   a key of the log's epochs: the last field has its value of each epoch, with commas
#   another   environment variables that change the trainings, accepted only with TABLES
. bench/json.sh
: "${B:?the build folder}" "${tsv:?the file of what has ended}"
# seeds_of WORD...: reject other words
seeds_of() {
    local seed
    for seed; do
        case $seed in '' | *[!0-9]* | 0?*) refuse "seed '$seed': must be a whole number; several are one word, as \"1 2 3\"" ;; esac
    done
}
[ -z "${seeds-}" ] || [[ $seeds == *[![:space:]]* ]] || seeds_of '' # only blanks
# shellcheck disable=SC2086
seeds_of ${seeds-}
whole EPOCHS "${EPOCHS:-1}" 'a number of passes'
whole SAMPLES "${SAMPLES:-1}" 'a number of images'
case ${RATE:-1} in *[!0-9.]* | *.*.* | .) refuse "RATE '$RATE': must be a rate, as 0.05" ;; esac
for word in ${another-}; do
    [ -z "${!word-}" ] || [ -n "${TABLES-}" ] || refuse "$word makes a table of its own: say where it is kept (TABLES=FOLDER)"
done
logs=${LOGS:-${tsv%.tsv}}
[ -z "${TABLES-}" ] || logs=$TABLES/logs/${logs##*/}
JOBS=${JOBS:-$(nproc)}
whole JOBS "$JOBS" 'a number of trainings at once'
[ -n "${only-}" ] || [ -x "$B/narrowcast" ] || refuse "there is no $B/narrowcast: build it (make), or say where it is (B=DIR)"
# With $only, create nothing.
if [ -z "${only-}" ]; then
    mkdir -p "$(dirname "$tsv")" "$(dirname "$logs")"
    touch "$tsv"
elif [ ! -f "$tsv" ]; then
    tsv=/dev/null # no results yet
fi
running=()
steps=${tsv%.tsv}-steps.tsv
look_at=${look_at-} look_every=${look_every-}
figure=${figure:-accuracy} figure_is=${figure_is:-test accuracy} figure_unit=${figure_unit-%} figure_times=${figure_times:-100}
keys=${keys-} history=${history-} save=${save-}

stop() {
    local pid
    for pid in $(jobs -p); do kill -- "-$pid" 2>/dev/null || true; done
}
trap stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

trim_torn "$tsv"

# of_epochs KEY LOG: print the key's value of each epoch
of_epochs() { sed -n "s/.*\"kind\": *\"epoch\".*\"$1\": *\([0-9.e+-]*\).*/\1/p" "$2"; }

# train_once NAME SEED RANKS OPTION...: run a training unless it is in the table
train_once() {
    local name=$1 seed=$2 ranks=$3 log accuracy='' bytes='' more='' key lock extra=()
    log=$logs-${name// /-}-$seed
    grep -q "^$name	$seed	" "$tsv" && return
    exec {lock}>>"$log.out" # another script may be running it
    flock "$lock"
    grep -q "^$name	$seed	" "$tsv" && return
    [ "$seed" != "$look_at" ] || extra=(--stats "$log.stats" --stats-every "$look_every")
    [ -z "$save" ] || extra+=(--save "$log.ckpt" --save-every "$save")
    [ -z "$save" ] || [ ! -s "$log.ckpt" ] || extra+=(--resume "$log.ckpt")
    if "$B/narrowcast" emulate --ranks "$ranks" "${@:4}" ${extra[@]+"${extra[@]}"} --seed "$seed" --log "$log.jsonl" </dev/null >"$log.out" 2>&1; then
        accuracy=$(sed -n "s/^$figure \([0-9.]*\)$/\1/p" "$log.out")
    fi
    grep -q 'training has diverged' "$log.out" && accuracy=diverged # its last steps were skipped
    if [ -z "$accuracy" ]; then
        tail -n 5 "$log.out" >&2
        echo "${0##*/}: \"$name\", seed $seed failed, see $log.out; the trainings that ended are in $tsv" >&2
        return 1
    fi
    [ "$accuracy" = diverged ] || bytes=$(sed -n 's/.*"kind": *"step".*"sent_bytes": *\([0-9]*\).*/\1/p' "$log.jsonl" | tail -n 1)
    for key in $keys; do more+=$'\t'$(of_epochs "$key" "$log.jsonl" | tail -n 1); done
    [ -z "$history" ] || more+=$'\t'$(of_epochs "$history" "$log.jsonl" | paste -s -d ,)
    printf '%s\t%s\t%s\t%s%s\n' "$name" "$seed" "$accuracy" "${bytes:--}" "$more" | tee -a "$tsv"
    rm -f "$log.ckpt"
    [ "$seed" != "$look_at" ] || step_of "$name" "$log.stats" >>"$steps"
}

# step_of NAME FILE: print name and a --stats FILE's means: L2 error, cosine, share of elements cast
# to 0, slope
step_of() {
    awk -v name="$1" "$json"'
        /"kind":"stats",/ { n += value("n"); lost += value("n") * value("underflow_all") }
        /"kind":"stats_network"/ && value("l2") != "null" { looks++; l2 += value("l2"); cosine += value("cosine"); slope += value("slope") }
        END { if (looks) printf "%s\t%.4f\t%.4f\t%.4f\t%.4f\n", name, l2 / looks, cosine / looks, lost / n, slope / looks }' "$2"
}

# keep_curve NAME: keep the epochs of seed 1's log as ${curves}NAME.jsonl, if it was trained here,
# unless it diverged at once
keep_curve() {
    local log=$logs-${1// /-}-1.jsonl to=${curves:?the prefix of curves}${1// /-}.jsonl
    if [ ! -e "$to" ] && [ -f "$log" ] && grep -q "^$1	1	" "$tsv" && grep -q '"kind":"epoch"' "$log"; then
        mkdir -p "$(dirname "$to")"
        grep '"kind":"epoch"' "$log" >"$to.new"
        mv "$to.new" "$to"
    fi
}

# launch NAME SEED RANKS OPTION...: run train_once in the background
launch() {
    seeds_of "$2"
    settle "$JOBS"
    set -m
    train_once "$@" &
    set +m
    running+=($!)
}

# launch_rows RANKS OPTION...: run each line of $rows (name, options) with each of $seeds, and wait
launch_rows() {
    local seed name options
    for seed in ${seeds:?the seeds}; do
        while read -r name options; do
            # shellcheck disable=SC2086
            launch "$name" "$seed" "$@" $options
        done <<<"${rows:?the rows}"
    done
    settle 1
}

# settle N: wait until fewer than N trainings run; after a failure, for all, and exit
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

# row_of NAME BASE: print NAME's row, if any. The difference to BASE is the mean over common seeds,
# with their number if NAME has more. Diverged trainings are counted, but in no mean.
row_of() {
    awk -F '\t' -v name="$1" -v base="$2" -v times="$figure_times" '
        $1 == name { n++; bytes = $4 }
        $3 == "diverged" { bad += $1 == name; next }
        $1 == base { of_base[$2] = $3 }
        $1 == name { good++; sum += $3; of_name[$2] = $3
                     if (good == 1 || $3 < low) low = $3
                     if (good == 1 || $3 > high) high = $3 }
        END { if (!n) exit
              printf "| %s | %d%s |", name, n, bad ? ", " bad " diverged" : ""
              if (good) printf " %.2f | %.2f .. %.2f |", times * sum / good, times * low, times * high
              else printf " - | - |"
              for (seed in of_name) if (seed in of_base) { pairs++; apart += of_name[seed] - of_base[seed] }
              if (pairs && name != base) printf " %+.2f%s", times * apart / pairs, pairs < good ? " (of " pairs ")" : ""
              printf " | %s |\n", bytes }' "$tsv"
}

# table_of WHAT BASE: print a row for each name on standard input
table_of() {
    local points=', points'
    [ "$figure_times" = 100 ] || points=''
    echo "| $1 | runs | $figure_is, mean${figure_unit:+ $figure_unit} | lowest .. highest | to fp32$points | bytes a step and rank |"
    echo "|---|---|---|---|---|---|"
    while read -r name; do
        row_of "$name" "$2"
    done
}

# steps_of WHAT: print a row for each name on standard input that $steps has (its last line)
steps_of() {
    [ -s "$steps" ] || return 0
    awk -F '\t' -v what="$1" '
        NR == FNR { l2[$1] = $2; cosine[$1] = $3; lost[$1] = $4; slope[$1] = $5; next }
        $0 in l2 { names[++n] = $0; with_slope = with_slope || slope[$0] != "" }
        END { if (!n) exit
              print "\n| " what " | L2 error of a step, % | cosine | " (with_slope ? "slope | " : "") "cast to 0, % |"
              print "|---|---|---|---|" (with_slope ? "---|" : "")
              for (i = 1; i <= n; i++) {
                  name = names[i]
                  printf "| %s | %.1f | %.4f | ", name, 100 * l2[name], cosine[name]
                  if (with_slope) printf slope[name] == "" ? "- | " : "%.3f | ", slope[name]
                  printf "%.2f |\n", 100 * lost[name]
              } }' "$steps" -
}
