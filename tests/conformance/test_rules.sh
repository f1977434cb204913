#!/bin/bash
# test_rules.sh : FORMAT.md and the vectors fit: digests, each rule has an example and a vector, the
# table of rules is that of the vectors.
set -u
cd "$(dirname "$0")" || exit 1
bad=0
say() { echo "FAIL $*" && bad=1; }
(cd vectors && sha256sum --quiet -c SHA256SUMS) || say 'a digest differs: run tests/conformance/rules.sh'
[ "$(wc -l <vectors/SHA256SUMS)" = "$(find vectors -name '*.jsonl' | wc -l)" ] || say 'SHA256SUMS lacks a file'

said=$(grep -oE '^\*\*R[0-9]+\.' FORMAT.md | tr -dc 'R0-9\n' | sort -V) # new rules are in older chapters
[ "$said" = "$(seq -f 'R%g' 1 "$(wc -l <<<"$said")")" ] || say "the rules of FORMAT.md are not R1, R2, ..., each once: $(tr '\n' ' ' <<<"$said")"
diff <(sed -n '/^| rule | vectors |$/,$p' FORMAT.md) <(./rules.sh table) || say 'the table of FORMAT.md is another one: run tests/conformance/rules.sh'
diff <(echo "$said") <(./rules.sh table | sed -n 's/^| \(R[0-9]*\) .*/\1/p') || say 'a rule without a vector, or a vector without a rule'
# a rule ends before the next one or a heading; its example has the word "Example", or is a block
# of code
awk '/^\*\*R[0-9]+\./ { check(); rule = $1; has = 0 } /^#/ { check(); rule = "" } /Example|^```/ { has = 1 }
    function check() { if (rule && !has) print "no example: " rule }
    END { check() }' FORMAT.md | grep . && bad=1
twice=$(sed 's/^{"id":"\([^"]*\)".*/\1/' vectors/*.jsonl | sort | uniq -d)
[ -z "$twice" ] || say "two vectors have the id $twice"
exit $bad
