#!/bin/bash
# test_words.sh : prose stays within the limits of words.sh, which finds planted words.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
tree=$here/..
git -C "$tree" rev-parse HEAD >/dev/null 2>&1 || { echo 'skip: no git history here' && exit 77; }
"$tree/tests/words.sh" >"$dir/out" || fail "$(cat "$dir/out")"

# Every rule finds its words in prose, and only there.
mkdir -p "$dir/tiny/tests" "$dir/tiny/host"
source=host/"x.c" script=tests/"x.sh"
cd "$dir/tiny"
cp "$tree/tests/words.sh" tests/
wide=$(printf '%0110d' 0)
# shellcheck disable=SC2016 # a code block
printf 'It is behind. Nobody stands alone in a line, but for one in place of two. What it is.\n```\nbehind\n```\n' >a.md
printf '%0141d\n' 0 >>a.md
printf '/* behind */ int behind; // behind\nchar *s = "behind /* nobody */";\n/* %s */\n' "$wide" >"$source"
printf 'behind=1 # behind\necho behind\n' >"$script"
git init -q . && git add -A
count() { tests/words.sh --list "$1" | wc -l; }
for want in behind:4 nobody:2 pronoun:1 stands:1 alone:1 line:1 but-for:1 in-place-of:1 code-lines:1 text-lines:1; do
    [ "$(count "${want%:*}")" = "${want#*:}" ] || fail "rule ${want%:*}: finds $(tests/words.sh --list "${want%:*}"), not ${want#*:} places"
done
for wrong in '--list nope' 'nowhere' '--help'; do
    # shellcheck disable=SC2086 # words
    if tests/words.sh $wrong >out 2>&1 || [ "$(wc -l <out)" != 1 ]; then fail "$wrong: $(cat out)"; fi
done
if tests/words.sh >out; then fail "takes what is above its limits: $(cat out)"; fi
exit $bad
