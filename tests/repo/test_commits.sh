#!/bin/bash
# test_commits.sh : checks the commit-msg hook and the last 100 commits, with `long` every commit since
# the hook exists.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"

tree=$here/..
hook=$tree/.githooks/commit-msg
says() { printf '%b' "$1" >message; }
for good in 'host: Add a thing\n' 'host, rtl: Add a thing\n\nWhy.\n' '# a remark\nbase: Mend it\n' 'Merge branch x\n' 'host: Add\r\n\r\nWhy.\r\n' \
    'host: Add\n# ------------------------ >8 ------------------------\ndiff\n' 'amend! x\n'; do
    says "$good"
    "$hook" message 2>said || fail "refused '$good': $(cat said)"
done
long=$(printf 'host: A%066d' 0)
for wrong in 'Add a thing\n' 'host: add a thing\n' 'host:Add\n' 'Host: Add\n' "$long\n" 'host: Add\nno empty line\n' '\n' ; do
    says "$wrong"
    if "$hook" message 2>said; then fail "took '$wrong'"; fi
    [ "$(wc -l <said)" = 2 ] || fail "did not say two lines: $(cat said)"
done

if ! git -C "$tree" rev-parse HEAD >/dev/null 2>&1; then echo 'skip  commits: no git history here' && exit "$bad"; fi
first=$(git -C "$tree" log --format=%H --diff-filter=A -- .githooks/commit-msg | tail -n 1)
[ -n "$first" ] || { echo 'skip  commits: the history here does not reach back to the hook' && exit "$bad"; }
count=(-n 100)
[ "${1-}" != long ] || count=()
for commit in $(git -C "$tree" log "${count[@]}" --no-merges --format=%H "$first..HEAD"); do
    git -C "$tree" log -1 --format=%B "$commit" >message
    "$hook" message 2>said || fail "commit $commit: $(cat said)"
done
exit "$bad"
