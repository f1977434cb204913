# shellcheck shell=bash
# refused.sh : defines `refused` for scripts that have fail().

files_here() { find . -type f ! -name 'refused.*' ! -name '*.lock' -printf '%p %s %T@\n' 2>/dev/null | sort; }

# sed: deletes mpirun's own lines
mpiruns_lines='/^-----/,/^-----/d; /^\[[^]]*:[0-9]*\] /d; /^ *Process name: /d'

# refused TEXT COMMAND...: COMMAND must fail, print one line with TEXT to stderr, besides
# mpirun's, and nothing to stdout, and leave the current folder unchanged. busy=1: other processes
# may change files.
refused() {
    local words=$1 code=0 before
    shift
    before=$([ -n "${busy-}" ] || files_here)
    "$@" >refused.out 2>refused.raw </dev/null || code=$?
    tr -d '\0' <refused.raw | sed "$mpiruns_lines" >refused.err
    [ $code -ne 0 ] || fail "was taken: $*"
    { [ $code -ne 124 ] && [ $code -lt 128 ]; } || fail "ended with $code: $*: $(cat refused.err)"
    [ "$(wc -l <refused.err)" = 1 ] || fail "did not say one line: $*: $(cat refused.err)"
    grep -qF -- "$words" refused.err || fail "did not say '$words': $*: $(cat refused.err)"
    [ ! -s refused.out ] || fail "wrote to stdout: $*: $(head -n 3 refused.out)"
    [ -n "${busy-}" ] || [ "$(files_here)" = "$before" ] || fail "changed files: $*: $(files_here | diff - <(printf '%s\n' "$before"))"
}
