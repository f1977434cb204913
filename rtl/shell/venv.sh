#!/bin/sh
# venv.sh : installs the packages of a list, by default LiteEth, in the virtual environment
# FOLDER/venv; FOLDER/venv/done marks it complete. On failure, prints the reason in one line and
# exits with 1.
# usage: venv.sh FOLDER [REQUIREMENTS TARGET]    TARGET: of make, which tries again
set -eu
list=${2:-$(dirname "$0")/requirements.txt}
target=${3:-shell}
if cmp -s "$list" "$1/venv/done"; then
    touch "$1/venv/done"
    exit 0
fi
mkdir -p "$1"
first=$(sed -n 's/==.*//p' "$list" | head -n 1)
no() {
    echo "no $first: $* (make $target tries again)" >&2
    exit 1
}
command -v python3 >/dev/null || no 'python3 is missing'
rm -rf "$1/venv"
python3 -m venv "$1/venv" >"$1/log" 2>&1 || no "python3 -m venv fails (Debian: python3-venv), see $1/log"
echo "installing $first into $1/venv: $(sed -n 's/^# On disk: //p' "$list")"
"$1/venv/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 20 \
    --require-hashes --only-binary :all: --no-deps -r "$list" >"$1/log" 2>&1 ||
    no "pip cannot load it, see $1/log"
cp "$list" "$1/venv/done"
