#!/bin/bash
# test_python.sh : the implementation in python/, written from FORMAT.md, agrees with all vectors.
# usage: test_python.sh [long]    long: also plants mutants, each of which a vector must catch
set -u
cd "$(dirname "$0")/python" || exit 1
export PYTHONDONTWRITEBYTECODE=1
python=
for each in python3 /usr/bin/python3; do
    "$each" -c 'import numpy' 2>/dev/null && python=$each && break
done
[ -n "$python" ] || { echo 'skip: no python3 with numpy'; exit 77; }
bad=0
"$python" check_vectors.py -v || { echo 'FAIL a vector differs' && bad=1; }
"$python" self_checks.py || { echo "FAIL an example of FORMAT.md or a property differs" && bad=1; }
if [ "${1-}" = long ]; then
    "$python" mutants.py || bad=1
fi
exit $bad
