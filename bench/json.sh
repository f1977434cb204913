# shellcheck shell=bash
# json.sh : reads rows of JSON and computes medians with awk, for scripts that source it.
#
# $json are functions for an awk program: awk "$json"'{ print value("ratio") }'. They do not read
# nested objects.
#   has(KEY)      whether the row has the key
#   value(KEY)    its value, without quotes or brackets; without the key, ''
#   median(LIST)  of numbers with blanks between; the smallest and largest are in low and high
# shellcheck disable=SC2016 # of awk
json='
    function has(key) { return index($0, "\"" key "\":") }
    function value(key,    x) {
        if (!has(key)) return ""
        x = substr($0, has(key) + length(key) + 3)
        sub(/^ +/, "", x)
        if (sub(/^\[/, "", x)) sub(/\].*/, "", x)
        else if (sub(/^"/, "", x)) sub(/".*/, "", x)
        else sub(/[,}].*/, "", x)
        return x
    }
    function median(list,    n, i, k, x, t) {
        n = split(list, x, " ")
        for (i = 2; i <= n; i++) for (k = i; k > 1 && x[k] + 0 < x[k - 1] + 0; k--) { t = x[k]; x[k] = x[k - 1]; x[k - 1] = t }
        low = x[1]; high = x[n]
        return n % 2 ? x[(n + 1) / 2] : (x[n / 2] + x[n / 2 + 1]) / 2
    }'

# median FORMAT: print the median of the lines of standard input, if there are any
median() { awk -v format="$1" "$json"'{ all = all " " $1 } END { if (NR) printf format, median(all) }'; }
